//! How long a program's operations take: from a build without instrumentation, run serially.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use befit_machine::Machine;
use befit_program::Program;
use befit_record::{Build, Watch};
use befit_sim::work::{Timed, fit};

use super::{RecordingJob, THREADS, built::Built, store};
use crate::{Measuring, Progress, quiet::Quiet};

/// The build that is timed instead of recorded: optimised as the program's profile says.
pub(super) fn build(job: &RecordingJob) -> Build {
    Build { work: true, config: job.work_config.clone(), ..job.build.clone() }
}

/// A recording after its operations were timed.
pub(super) struct Worked {
    /// With their work, or without, where that cannot be.
    pub(super) program: Program,
    /// Other programs disturbed the runs that were timed.
    pub(super) disturbed: bool,
}

impl Worked {
    fn without(program: Program) -> Self {
        Self { program, disturbed: false }
    }
}

/// The files that a recording with work may be kept in. Only one of them is there.
pub(super) struct Files {
    undisturbed: PathBuf,
    disturbed: PathBuf,
}

impl Files {
    /// Those in `folder` of a recording of `what` that depends on `parts`.
    pub(super) fn new(folder: &Path, what: &str, parts: &[&[u8]]) -> Self {
        let file = |parts: &[&[u8]]| store::file(folder, what, &store::key(parts));
        Self { undisturbed: file(parts), disturbed: file(&[parts, &[b"disturbed"]].concat()) }
    }

    /// The recording of `what`. That its times are not to be trusted is noted each time.
    pub(super) fn load(
        &self,
        what: &str,
        host: &Machine,
        progress: &dyn Progress,
    ) -> Option<Program> {
        store::load(&self.undisturbed, what, progress).or_else(|| {
            let program = store::load(&self.disturbed, what, progress)?;
            progress.note(&format!("{what}: {}", untrusted("", host)));
            Some(program)
        })
    }

    /// Keeps a recording, in the place of the one before.
    pub(super) fn keep(&self, worked: &Worked, progress: &dyn Progress) {
        let (file, other) = match worked.disturbed {
            true => (&self.disturbed, &self.undisturbed),
            false => (&self.undisturbed, &self.disturbed),
        };
        // Also one that was not disturbed: who has it recorded again may have changed what befit
        // does not know of.
        let _ = fs::remove_file(other);
        store::keep(file, &worked.program, progress);
    }
}

/// `program` with the work that runs of `binary`, its build for that, show. Without, and with a
/// note, where that cannot be.
pub(super) fn add(
    program: Program,
    binary: &Built,
    job: &RecordingJob,
    host: &Machine,
    progress: &dyn Progress,
) -> Worked {
    let measuring = Measuring::if_there();
    let quiet = measuring.as_ref().and_then(|measuring| Quiet::new(measuring, host));
    let command = || {
        let mut command = Command::new(binary.path());
        if let Some(quiet) = &quiet {
            quiet.place(&mut command);
        }
        command
            .args(&job.arguments)
            // It could be opened when the program was recorded.
            .stdin(job.stdin().unwrap_or_else(|_| Stdio::null()))
            .envs(job.threads.iter().map(|n| (THREADS.0, n)));
        command
    };
    let name = &program.meta().name;
    let timing = |whole, number, of| progress.timing(name, whole, number, of);
    let is_quiet = |before| {
        quiet.as_ref().is_none_or(|quiet| if before { quiet.before(1) } else { quiet.after(1) })
    };
    let watch = Watch { progress: &timing, is_quiet: &is_quiet };
    let timed = befit_record::time(&command, &program, true, watch);
    if binary.is_replaced() {
        // Also where it failed: that may be the reason.
        uncalibrated(progress, "its build was replaced while it was timed");
        return Worked::without(program);
    }
    let timed = match timed {
        Ok(timed) => timed,
        Err(why) => {
            uncalibrated(progress, &format!("its work run failed: {why}"));
            return Worked::without(program);
        }
    };
    let how = disturbed(&timed);
    let disturbed = how.is_some();
    if let Some(how) = how {
        progress.note(&format!("{name}: {}", untrusted(&format!(": {how}"), host)));
    }
    let timed = Timed {
        strands: timed.strands,
        total: timed.total_ps,
        faults: timed.faults_total,
        regions: timed.regions_ps,
        process: timed.process_ps,
    };
    match fit(&program, &timed, host, host.prices.fault) {
        Ok(work) => Worked { program: program.with_work(work), disturbed },
        Err(why) => {
            uncalibrated(progress, &why.to_string());
            Worked::without(program)
        }
    }
}

/// Runs that are to agree may differ by so much.
const AGREE: f64 = 0.1;

/// What says that other programs disturbed the runs by which operations were timed.
fn disturbed(timed: &befit_record::Timed) -> Option<String> {
    // A region that waits for nothing uses as much processor time as it takes.
    let waited = match timed.regions_ps {
        0 => 0.0,
        used => 1.0 - used as f64 / timed.total_ps.max(1) as f64,
    };
    let worst = timed.apart.max(waited);
    (worst > AGREE || !timed.undisturbed).then(|| {
        if worst <= AGREE {
            "cores were slower than befit calibrate found them, as they are beside other guests of \
             a virtual machine's host"
                .to_owned()
        } else if timed.apart >= waited {
            format!("they differ by {:.0} %", 100.0 * worst)
        } else {
            format!("for {:.0} % of their time they waited for a processor", 100.0 * worst)
        }
    })
}

/// What there is to say of times from runs that were disturbed, `how` they were included.
fn untrusted(how: &str, host: &Machine) -> String {
    let calibrate = if host.calibration().is_none() {
        "; nor is this machine calibrated (befit calibrate), so what is taken off for waits is \
         assumed"
    } else {
        ""
    };
    format!(
        "the times of its operations are not to be trusted, as the runs that were timed were \
         disturbed{how}; --fresh times them again{calibrate}"
    )
}

/// Notes why the times of operations stay the machine's own.
pub(super) fn uncalibrated(progress: &dyn Progress, why: &str) {
    progress.note(&format!(
        "the recording is uncalibrated, so each operation takes what the machine says: {why}"
    ));
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;
    use befit_program::{Declared, Meta, ProgramBuilder, ScopeId};
    use tempfile::TempDir;

    use super::*;
    use crate::{
        progress::testing::Notes,
        recording::built::tests::{arguments, event, shell, stream},
        testing,
    };

    /// Says what [`say`] has written.
    const SCRIPT: &str = "[ $BEFIT_RECORD_TOTAL ] && words=total || words=strands; \
                          cat $words > /proc/self/fd/$BEFIT_RECORD_FD";

    /// One fork.
    fn program() -> Program {
        let meta = Meta { name: "by hand".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        builder.fork(ScopeId(1), Declared::default()).unwrap();
        builder.touch(4096, false, false);
        builder.work(1, 1, 1);
        builder.end().unwrap();
        builder.sync(ScopeId(1)).unwrap();
        builder.finish().unwrap()
    }

    /// Has the program say that its region took 3,000 ns, of which it used so many of a processor.
    fn say(folder: &TempDir, used: u64) {
        let hello =
            [event(0, befit_record::STREAM_VERSION.into()), u64::from_ne_bytes(*b"befitwrk")];
        let task = [event(1, 0), event(2, 100), event(3, 0)];
        let region = [event(9, 20), 3000, 6000, 0, used];
        for (name, words) in [
            ("strands", [&hello[..], &task, &region].concat()),
            ("total", [&hello[..], &region].concat()),
        ] {
            fs::write(folder.path().join(name), stream(&words)).unwrap();
        }
    }

    #[test]
    fn a_build_that_is_replaced_while_it_is_timed_gives_no_work() {
        let (folder, built) = shell();
        say(&folder, 3000);
        let host = testing::machine(1);
        for (arguments, is) in arguments(folder.path(), SCRIPT).into_iter().zip([false, true]) {
            let job = RecordingJob { arguments, ..RecordingJob::default() };
            let notes = Notes::default();
            let program = add(program(), &built, &job, &host, &notes).program;
            assert_eq!(program.work_run().is_none(), is, "{:?}", notes.all());
            let noted = notes.all().iter().any(|note| note.contains("replaced while it was timed"));
            assert_eq!(noted, is, "{:?}", notes.all());
        }
    }

    #[test]
    fn times_that_are_not_to_be_trusted_are_noted_whenever_they_are_used() {
        let (folder, built) = shell();
        let [arguments, _] = arguments(folder.path(), SCRIPT);
        let job = RecordingJob { arguments, ..RecordingJob::default() };
        let host = testing::machine(1);
        let files = Files::new(&folder.path().join("cache"), "by hand", &[b"all", b"parts"]);
        let is_noted = |notes: Notes| notes.all().iter().any(|note| note.contains("be trusted"));
        // A processor for a third of the run, or for all of it. What was timed last is found.
        for (used, disturbed) in [(1000, true), (3000, false), (1000, true)] {
            say(&folder, used);
            let notes = Notes::default();
            let worked = add(program(), &built, &job, &host, &notes);
            assert_eq!((worked.disturbed, is_noted(notes)), (disturbed, disturbed));
            files.keep(&worked, &crate::Silent);
            for _ in 0..2 {
                let notes = Notes::default();
                assert!(files.load("by hand", &host, &notes).unwrap().work_run().is_some());
                assert_eq!(is_noted(notes), disturbed);
            }
        }
    }
}
