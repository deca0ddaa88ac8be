//! From the name of a program to its recording: build with instrumentation, run once, keep for the
//! next time.

mod built;
mod kernels;
mod source;
mod store;
mod work;

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{self, Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use befit_machine::Machine;
use befit_program::Program;
use befit_record::{Build, BuildError, RecordOptions};

use crate::{LabError, Progress, sources::checkout};

use built::Built;

pub(crate) use source::program_name;

pub use kernels::{
    KernelSource, kernel_settings, kernels, learning_n, names_file, usual_shrink, verified_n,
};
pub use source::{CrateSource, Source, Target};

/// The build and the arguments of a kernel, without instrumentation.
pub(crate) fn native_kernel(kernel: &KernelSource) -> Result<(Build, Vec<String>), LabError> {
    kernels::find(kernel)?.native()
}

/// Part of every key: to be raised when the same instrumented run is to give another recording than
/// before.
const GENERATION: u32 = 2;

/// The variable that sets the number of threads of a recorded program that uses rayon, and its
/// value unless the environment has another. rayon's iterators divide their work by the number of
/// threads, and the recorded run has to leave enough parts for every simulated machine; the largest
/// preset has 192 workers.
const THREADS: (&str, &str) = ("RAYON_NUM_THREADS", "256");

/// A program to build and run, in the words of `befit-record`.
#[derive(Default)]
struct RecordingJob {
    build: Build,
    /// The settings for cargo of the build that is timed, in place of those of `build`.
    work_config: Vec<String>,
    arguments: Vec<String>,
    /// The name of a kernel's recording: the command, for people.
    kernel: Option<String>,
    /// The folder that the run depends on, besides binary and arguments.
    folder: Option<PathBuf>,
    /// The file that it reads as standard input.
    stdin: Option<PathBuf>,
    /// A hash of the files that it is known to read.
    inputs: Option<String>,
    /// The number of threads that rayon believes it has ([`THREADS`]).
    threads: Option<String>,
}

/// Records a program, or finds the recording of an earlier time.
///
/// Recordings are kept in the folder `befit-record/cache` under the target folder that the program
/// is built in, or in the folder that the environment variable `BEFIT_CACHE` names, under a hash of
/// the instrumented binary, its arguments, the recorder's settings and, for a crate of the user's,
/// the current folder, `RAYON_NUM_THREADS`, and the content of the files that it reads, as far as
/// these are known: those that arguments name, [`CrateSource::stdin`] and [`CrateSource::inputs`].
/// Other inputs of the program (other files, the clock, the environment) are not in the hash:
/// `fresh` records in any case.
///
/// The program is built a second time, without instrumentation, and run up to six times: the
/// recording holds how long its operations take. Where that fails, it does not, and `progress` gets
/// a note. Such a recording is kept under the second binary and the machine at hand, too. Where
/// other programs disturbed these runs, `progress` gets a note, then and whenever the recording is
/// found.
///
/// Where another process puts another build in the place of either meanwhile, what its runs show is
/// not kept, and `progress` gets a note.
///
/// Takes as long as cargo does, then about ten times as long as the program on one thread; the
/// second time next to nothing.
///
/// # Errors
/// As [`Source::check`]; when the program cannot be built or run, or has nothing to record.
pub fn record(source: &Source, fresh: bool, progress: &dyn Progress) -> Result<Program, LabError> {
    record_with(source, RecordOptions::default(), true, fresh, progress)
}

/// As [`record`], without the work of the operations.
///
/// # Errors
/// As [`record`].
pub fn record_uncalibrated(
    source: &Source,
    fresh: bool,
    progress: &dyn Progress,
) -> Result<Program, LabError> {
    record_with(source, RecordOptions::default(), false, fresh, progress)
}

/// As [`record_uncalibrated`], of accesses to all lines but the one touched last: for caches of few
/// ways, where an access to one of the last eight lines may miss. Longer recordings.
///
/// # Errors
/// As [`record`].
pub fn record_all_lines(
    source: &Source,
    fresh: bool,
    progress: &dyn Progress,
) -> Result<Program, LabError> {
    let mut options = RecordOptions::default();
    options.filter = 1;
    record_with(source, options, false, fresh, progress)
}

/// As [`record`], or [`record_uncalibrated`], with the line of the source that makes each touch and
/// each large block of memory. Longer recordings.
///
/// # Errors
/// As [`record`].
pub fn record_spots(
    source: &Source,
    with_work: bool,
    fresh: bool,
    progress: &dyn Progress,
) -> Result<Program, LabError> {
    let mut options = RecordOptions::default();
    options.spots = true;
    record_with(source, options, with_work, fresh, progress)
}

fn record_with(
    source: &Source,
    mut options: RecordOptions,
    with_work: bool,
    fresh: bool,
    progress: &dyn Progress,
) -> Result<Program, LabError> {
    source.check()?;
    let job = job(source)?;
    // The output of a user's program is for the user to see.
    let shown = job.kernel.is_none();
    let what = if shown { job.build.target.to_string() } else { "befit's kernels".to_owned() };
    progress.building(&what, true);
    thread::scope(|scope| {
        // Beside the other build, and the recording: a build is mostly a chain of crates, and
        // leaves cores idle.
        let work_build = with_work.then(|| {
            scope.spawn(|| {
                let built = work::build(&job).run(&|_| {}).map_err(|error| error.to_string())?;
                Built::read(built).map_err(|error| error.to_string())
            })
        });
        let path = build(&job.build, progress)?;
        let name = job.kernel.clone().unwrap_or_else(|| command_line(&path, &job.arguments));
        options.quiet = !shown;
        let folder = cache_folder(&path);
        let binary =
            Built::read(path.clone()).map_err(|error| LabError::cannot_read(&path, error))?;
        let key = key(&binary, &job, &options);
        let raw = store::file(&folder, &name, &key);
        let Some(work_build) = work_build else {
            return recorded(&raw, &binary, &job, &options, &name, fresh, progress)
                .map(|recorded| recorded.program);
        };
        let found = raw.exists() && !fresh;
        let early = (!found)
            .then(|| recorded(&raw, &binary, &job, &options, &name, fresh, progress))
            .transpose()?;
        let built = work_build.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let host = Machine::find("host").map_err(|error| error.to_string());
        let host = host.and_then(|host| Ok((host, built?)));
        let recording = |early: Option<Recorded>| match early {
            Some(recorded) => Ok(recorded),
            None => recorded(&raw, &binary, &job, &options, &name, false, progress),
        };
        let (host, built) = match host {
            Ok(host) => host,
            Err(why) => {
                work::uncalibrated(progress, &why);
                return recording(early).map(|recorded| recorded.program);
            }
        };
        let fit = befit_sim::work::GENERATION.to_le_bytes();
        let host_text = format!("{host:?}");
        let files = work::Files::new(
            &folder,
            &name,
            &[key.as_bytes(), built.bytes(), host_text.as_bytes(), &fit],
        );
        if found && let Some(program) = files.load(&name, &host, progress) {
            // Without the recording that it was made of it would not be looked for.
            crate::kept::used(&raw);
            return Ok(program);
        }
        let Recorded { program, replaced } = recording(early)?;
        if replaced {
            work::uncalibrated(progress, "its build was replaced while it was recorded");
            return Ok(program);
        }
        let worked = work::add(program, &built, &job, &host, progress);
        if worked.program.work_run().is_some() {
            files.keep(&worked, progress);
        }
        Ok(worked.program)
    })
}

/// The binary of `build`, whose progress `progress` is told.
pub(crate) fn build(build: &Build, progress: &dyn Progress) -> Result<PathBuf, LabError> {
    build.run(&|line| progress.built(line)).map_err(|error| {
        if let BuildError::Cargo { stderr, .. } = &error {
            progress.build_failed(stderr);
        }
        LabError::Build(error)
    })
}

/// A recording without work.
struct Recorded {
    program: Program,
    /// The binary was replaced meanwhile, so the recording may be of another.
    replaced: bool,
}

/// The recording in `file`, or a new one, without work.
fn recorded(
    file: &Path,
    binary: &Built,
    job: &RecordingJob,
    options: &RecordOptions,
    name: &str,
    fresh: bool,
    progress: &dyn Progress,
) -> Result<Recorded, LabError> {
    if !fresh && let Some(program) = store::load(file, name, progress) {
        return Ok(Recorded { program, replaced: false });
    }
    let shown = job.kernel.is_none();
    progress.recording(name, shown);
    let mut command = Command::new(binary.path());
    // Its output goes to stderr: stdout is for results.
    command
        .args(&job.arguments)
        .stdin(job.stdin()?)
        .stdout(Stdio::from(io::stderr()))
        .envs(job.threads.iter().map(|n| (THREADS.0, n)));
    let recording =
        befit_record::record(command, name, options, &|touches| progress.advance(touches))
            .map_err(|why| LabError::Failed(format!("cannot record {name}: {why}")))?;
    if recording.skipped_regions > 0 {
        return Err(LabError::Usage(format!(
            "{name} cannot be recorded: {} of its calls of install, join, scope or spawn ran while \
             another of its threads was in one, and at once they have no serial order; a program \
             is recorded whose parallel part is called by one thread at a time",
            recording.skipped_regions
        )));
    }
    let replaced = binary.is_replaced();
    if replaced {
        progress.note(&format!(
            "{name}: its build was replaced while it was recorded, so the recording, which may be \
             of another build, is not kept"
        ));
    }
    if recording.other_threads {
        // Not kept: it may differ from run to run.
        progress.note(&format!(
            "{name} calls install, join, scope or spawn on several threads: they are recorded in \
             the order in which they ran, which may be another the next time"
        ));
    } else if !replaced {
        store::keep(file, &recording.program, progress);
    }
    Ok(Recorded { program: recording.program, replaced })
}

fn job(source: &Source) -> Result<RecordingJob, LabError> {
    match source {
        Source::Kernel(kernel) => kernels::find(kernel)?.job(),
        Source::Crate(own) => {
            let mut build = source.crate_build();
            if !build.is_built() {
                build.rayon_core = Some(checkout("compat/rayon-core")?);
            }
            let threads = env::var(THREADS.0)
                .ok()
                .filter(|n| !n.is_empty())
                .unwrap_or_else(|| THREADS.1.to_owned());
            Ok(RecordingJob {
                build,
                work_config: Vec::new(),
                arguments: own.arguments.clone(),
                kernel: None,
                folder: env::current_dir().ok(),
                stdin: own.stdin.clone(),
                inputs: Some(own.content()?),
                threads: Some(threads),
            })
        }
    }
}

impl RecordingJob {
    /// What the program reads: nothing that nobody has named, else a run would depend on what the
    /// next one does not see.
    fn stdin(&self) -> Result<Stdio, LabError> {
        let Some(file) = &self.stdin else { return Ok(Stdio::null()) };
        let opened = fs::File::open(file).map(Stdio::from);
        opened.map_err(|error| LabError::cannot_read(file, error))
    }
}

/// As one would type it: the binary's name and its arguments.
pub(crate) fn command_line(binary: &Path, arguments: &[String]) -> String {
    let binary = binary.file_stem().unwrap_or_default().to_string_lossy();
    std::iter::once(&*binary)
        .chain(arguments.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ")
}

fn key(binary: &Built, job: &RecordingJob, options: &RecordOptions) -> String {
    let generation = GENERATION.to_le_bytes();
    let recorder = [options.filter, options.spots.into()];
    let mut parts: Vec<&[u8]> =
        vec![&generation, env!("CARGO_PKG_VERSION").as_bytes(), &recorder, binary.bytes()];
    parts.extend(job.folder.iter().map(|folder| folder.as_os_str().as_encoded_bytes()));
    let texts = job.threads.iter().chain(&job.inputs).chain(&job.arguments);
    parts.extend(texts.map(|text| text.as_bytes()));
    store::key(&parts)
}

/// The folder that `BEFIT_CACHE` names.
fn chosen_folder() -> Option<PathBuf> {
    env::var_os("BEFIT_CACHE").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The folder of what is kept of recordings of several programs: that of befit's own kernels.
pub(crate) fn kept_folder() -> Result<PathBuf, LabError> {
    match chosen_folder() {
        Some(folder) => Ok(folder),
        None => Ok(own_target(|name| env::var_os(name))?.join("befit-record/cache")),
    }
}

/// The folder that cargo builds befit's own kernels in: the one that a `variable` names, from the
/// current folder, or else that of the sources. As cargo has it, but for its configuration files:
/// to have cargo itself say so takes longer than to find what is kept.
fn own_target(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, LabError> {
    let named = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"].into_iter().find_map(variable);
    match named.filter(|folder| !folder.is_empty()).map(PathBuf::from) {
        Some(folder) => {
            path::absolute(&folder).map_err(|error| LabError::cannot_read(&folder, error))
        }
        None => checkout("target"),
    }
}

/// The same, for programs that are built in the folder `target`.
pub(crate) fn kept_folder_in(target: &Path) -> PathBuf {
    chosen_folder().unwrap_or_else(|| target.join("befit-record/cache"))
}

/// The folder of recordings: beside the instrumented build, so that `cargo clean` removes both.
fn cache_folder(binary: &Path) -> PathBuf {
    if let Some(folder) = chosen_folder() {
        return folder;
    }
    let build = binary
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "befit-record"));
    build.or(binary.parent()).unwrap_or(Path::new(".")).join("cache")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::testing::Notes;

    #[test]
    fn recordings_are_kept_beside_the_instrumented_build() {
        let binary = Path::new("/home/a/target/befit-record/x86_64-unknown-linux-gnu/release/rrm");
        if env::var_os("BEFIT_CACHE").is_none() {
            assert_eq!(cache_folder(binary), Path::new("/home/a/target/befit-record/cache"));
        }
    }

    #[test]
    fn what_is_kept_of_kernels_is_looked_for_where_cargo_builds_them() {
        let here = env::current_dir().unwrap();
        let of = |named: &[(&str, &str)]| {
            let value = |name: &str| named.iter().find(|(known, _)| *known == name);
            own_target(|name| value(name).map(|(_, value)| value.into())).unwrap()
        };
        let (one, two) = ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR");
        assert_eq!(of(&[]), checkout("target").unwrap());
        assert_eq!(of(&[(one, "")]), checkout("target").unwrap());
        assert_eq!(of(&[(one, "/elsewhere"), (two, "/not/there")]), Path::new("/elsewhere"));
        assert_eq!(of(&[(one, "builds")]), here.join("builds"));
        assert_eq!(of(&[(two, "builds")]), here.join("builds"));
    }

    #[test]
    fn a_command_is_named_as_one_would_type_it() {
        let arguments = ["--n".to_owned(), "5".to_owned()];
        assert_eq!(command_line(Path::new("/target/release/mine"), &arguments), "mine --n 5");
    }

    #[test]
    fn a_recording_of_a_build_that_is_replaced_meanwhile_is_not_kept() {
        let (folder, built) = built::tests::shell();
        let event = built::tests::event;
        let hello = u64::from(befit_record::STREAM_VERSION) | 8 << 8 | 6 << 16;
        let magic = u64::from_ne_bytes(*b"befitrec");
        let task = [event(1, 1), 4096 << 2, event(4, 1), 1, 1, 1, event(2, 0), event(3, 1)];
        let site = [event(7, 1 << 16), 8, u64::from_ne_bytes(*b"x\0\0\0\0\0\0\0")];
        let words = [&[event(0, hello), magic][..], &site, &task].concat();
        fs::write(folder.path().join("words"), built::tests::stream(&words)).unwrap();
        let script = "cat words > /proc/self/fd/$BEFIT_RECORD_FD";
        for (arguments, is) in
            built::tests::arguments(folder.path(), script).into_iter().zip([false, true])
        {
            let file = folder.path().join(format!("{is}.befit"));
            let job = RecordingJob { arguments, ..RecordingJob::default() };
            let mut options = RecordOptions::default();
            options.quiet = true;
            let notes = Notes::default();
            let Recorded { program, replaced } =
                recorded(&file, &built, &job, &options, "by hand", false, &notes).unwrap();
            assert_eq!((program.total_touches(), replaced, file.exists()), (1, is, !is));
            let noted = notes.all().iter().any(|note| note.contains("was replaced while"));
            assert_eq!(noted, is);
        }
    }

    #[test]
    fn a_recording_depends_on_binary_arguments_filter_folder_and_threads() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("binary");
        let of = |content: &str, argument: &str, filter: u8, at: &str, threads: &str| {
            std::fs::write(&binary, content).unwrap();
            let job = RecordingJob {
                arguments: vec![argument.to_owned()],
                folder: Some(at.into()),
                threads: Some(threads.to_owned()),
                ..RecordingJob::default()
            };
            let mut options = RecordOptions::default();
            options.filter = filter;
            key(&Built::read(binary.clone()).unwrap(), &job, &options)
        };
        let base = of("binary", "5", 8, "/a", "2");
        assert_eq!(of("binary", "5", 8, "/a", "2"), base);
        for other in [
            of("other", "5", 8, "/a", "2"),
            of("binary", "6", 8, "/a", "2"),
            of("binary", "5", 4, "/a", "2"),
            of("binary", "5", 8, "/b", "2"),
            of("binary", "5", 8, "/a", "4"),
        ] {
            assert_ne!(other, base);
        }
    }
}
