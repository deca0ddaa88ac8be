//! Has cargo build a program with instrumentation.

use std::{
    env,
    io::{self, Write},
    path::{self, Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use serde_json::Value;

use super::{
    choice::Choice,
    overlay::{Overlay, Workspace, rayon_cores},
    target::Target,
    tool::output_of,
};

/// The flags that make LLVM call the recorder, and switch `befit` to the forms of `join`, `scope`
/// and `spawn` that are recorded. All of them are stable in rustc.
const FLAGS: [&str; 16] = [
    // Both passes run when all else is optimised. The second is there for what the first does not
    // see: atomic read-modify-writes, and copies and fills, which the code generator would expand
    // in place where it knows their length.
    "-Cpasses=sancov-module function(memprof)",
    // A call before each load and each store, and one in each basic block.
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-trace-loads",
    "-Cllvm-args=-sanitizer-coverage-trace-stores",
    "-Cllvm-args=-sanitizer-coverage-trace-pc",
    "-Cllvm-args=-memprof-use-callbacks",
    "-Cllvm-args=-memprof-instrument-reads=false",
    "-Cllvm-args=-memprof-instrument-writes=false",
    "-Cllvm-args=-memprof-instrument-atomics=true",
    "-Cllvm-args=-memprof-instrument-stack=true",
    // An access is one element, and a loop's iteration at least one block: counts mean the same for
    // every loop.
    "-Cno-vectorize-loops",
    "-Cno-vectorize-slp",
    "-Cllvm-args=-unroll-runtime=false",
    "-Cllvm-args=-unroll-allow-partial=false",
    "--cfg",
    "befit_record",
];

/// Those that switch `befit` to the serial forms and nothing else: see [`Build::work`].
const WORK_FLAGS: [&str; 4] = ["--cfg", "befit_record", "--cfg", "befit_work"];

/// A binary of a cargo package to be built in the release profile, with instrumentation unless
/// [`Build::plain`] is set.
///
/// Instrumented, it goes to a folder `befit-record` of its own in the package's target folder, so
/// that it does not disturb other builds; cargo builds again only what has changed. The user's own
/// flags from `RUSTFLAGS` or `CARGO_ENCODED_RUSTFLAGS` stay in force. Those from cargo's
/// configuration files do not: cargo looks there only when neither variable is set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Build {
    /// The binary.
    pub target: Target,
    /// Settings for cargo, as `--config` takes them.
    pub config: Vec<String>,
    /// Without instrumentation: what `cargo build --release` makes, and where it puts it. To be
    /// run, not recorded.
    pub plain: bool,
    /// Serial, but without instrumentation, and optimised as a plain build: to be timed. In a
    /// folder `befit-work` of its own.
    pub work: bool,
    /// The folder of befit's form of rayon-core. With it, instrumented programs may use rayon
    /// instead of befit: cargo puts it in the place of rayon's, without a change to the user's
    /// files.
    pub rayon_core: Option<PathBuf>,
}

/// Why there is no instrumented binary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool did not start.
    #[error("cannot run {0}: {1}; the program is built with it, so it must be installed")]
    Tool(String, io::Error),
    /// Cargo failed.
    #[error("cargo could not build the program ({status}):\n{stderr}")]
    Cargo {
        /// Its exit status.
        status: ExitStatus,
        /// The end of what it wrote to stderr, 128 KiB at most.
        stderr: String,
    },
    /// Cargo cannot tell what the manifest has: this is what it wrote to stderr.
    #[error("cargo cannot read the program's manifest: {0}")]
    Manifest(String),
    /// The instrumented code misses the recorder.
    #[error("the program uses neither befit nor rayon, so it has no forks that could be recorded")]
    WithoutBefit,
    /// The instrumented code misses the recorder, because cargo has kept the program's rayon-core.
    #[error(
        "cargo did not take befit's rayon-core in the place of the program's, which is {0}; to be \
         recorded, the program must take rayon-core 1 from crates.io, without a patch"
    )]
    NotReplaced(
        /// Its version and where it comes from.
        String,
    ),
    /// The target names no crate of its package's that could be recorded.
    #[error(
        "{} names neither befit nor rayon in its source, so {flag} {name} has no forks that could \
         be recorded; if a macro brings one of them, write `use befit as _;` or `use rayon as _;`",
        .file.display()
    )]
    NotNamed {
        /// `--bin` or `--example`.
        flag: &'static str,
        /// The target.
        name: String,
        /// Its first file.
        file: PathBuf,
    },
    /// Befit's form of rayon-core is not where it should be.
    #[error(
        "the program uses rayon, and befit's rayon-core is gone from {folder}, where this befit \
         was built; run befit from a checkout",
        folder = .0.display()
    )]
    NoRayonCore(PathBuf),
    /// The links through which a program that uses rayon is built cannot be made.
    #[error("cannot make links to the program's files in {folder}: {1}", folder = .0.display())]
    Overlay(PathBuf, io::Error),
    /// Something is missing in the output of `cargo metadata` or `rustc -vV`.
    #[error("cannot understand {0}: {1}")]
    Answer(&'static str, &'static str),
    /// No package of that name.
    #[error("there is no package {name}; there are: {known}", known = or_none(.known))]
    NoSuchPackage {
        /// The name that was asked for.
        name: String,
        /// Those that there are, comma-separated.
        known: String,
    },
    /// No binary.
    #[error("the package has no binary to record")]
    NoBinary,
    /// No binary or example of that name.
    #[error("the package has no {flag} {name}; there are: {known}", known = or_none(.known))]
    NoSuchTarget {
        /// `--bin` or `--example`.
        flag: &'static str,
        /// The name that was asked for.
        name: String,
        /// Those that there are, comma-separated.
        known: String,
    },
    /// Several binaries, and no word on which.
    #[error("the package has several binaries: {}; name one of them with --bin", .0.join(", "))]
    WhichBinary(Vec<String>),
    /// Several packages with a binary or example of that name, and no word on which.
    #[error(
        "several packages have a {flag} {name}: {}; name one of them with --package",
        .packages.join(", ")
    )]
    WhichPackage {
        /// `--bin` or `--example`.
        flag: &'static str,
        /// Its name.
        name: String,
        /// The packages.
        packages: Vec<String>,
    },
}

fn or_none(known: &str) -> &str {
    if known.is_empty() { "none" } else { known }
}

impl BuildError {
    /// True if the program cannot be recorded as it was named, which is known before the build.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::WithoutBefit
                | Self::NotReplaced(_)
                | Self::Manifest(_)
                | Self::NotNamed { .. }
                | Self::NoSuchPackage { .. }
                | Self::NoBinary
                | Self::NoSuchTarget { .. }
                | Self::WhichBinary(_)
                | Self::WhichPackage { .. }
        )
    }
}

impl Build {
    /// Looks whether there is such a program and whether it can be recorded, as far as that is
    /// known before a build.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn check(&self) -> Result<(), BuildError> {
        if self.is_built() {
            return Ok(());
        }
        self.workspace(self.target.manifest_path.as_deref())?.choose(self).map(drop)
    }

    /// True if the binary was built before: then it need not be built, nor its sources be there.
    pub fn is_built(&self) -> bool {
        self.built().is_some()
    }

    /// The binary, if it was built before and lies beside this program: a folder that is copied to
    /// a machine without a compiler has the programs in `built/plain`, `built/record` and
    /// `built/work`.
    fn built(&self) -> Option<PathBuf> {
        let kind = match self {
            Self { plain: true, .. } => "plain",
            Self { work: true, .. } => "work",
            _ => "record",
        };
        let name = self.target.example.as_ref().or(self.target.bin.as_ref())?;
        let binary = env::current_exe().ok()?.parent()?.join("built").join(kind).join(name);
        binary.is_file().then_some(binary)
    }

    /// Builds, and returns where the binary is. `said` gets the lines that cargo writes to stderr,
    /// as they come. Takes as long as cargo does: seconds to minutes, next to nothing when all is
    /// built.
    ///
    /// # Errors
    /// [`BuildError`], with cargo's own message where it is cargo's.
    pub fn run(&self, said: &(dyn Fn(&str) + Sync)) -> Result<PathBuf, BuildError> {
        if let Some(binary) = self.built() {
            return Ok(binary);
        }
        let target = &self.target;
        let manifest = target.manifest_path.as_deref();
        let workspace = self.workspace(manifest)?;
        let Choice { package, flag, name } = workspace.choose(self)?;
        let (mut cargo, lockfile) = if self.plain {
            let mut cargo = self.cargo("build", manifest);
            let folder = target.target_dir.iter();
            cargo.args(folder.flat_map(|folder| ["--target-dir".as_ref(), folder.as_os_str()]));
            (cargo, None)
        } else {
            self.instrumented(manifest, &workspace)?
        };
        cargo.args(["--profile", target.profile(), "--message-format=json-render-diagnostics"]);
        cargo.args([flag, &name]);
        cargo.args(package.iter().flat_map(|package| ["--package", package]));
        cargo.args(target.features.iter().flat_map(|features| ["--features", features]));
        if target.no_default_features {
            cargo.arg("--no-default-features");
        }
        cargo.args(self.config.iter().flat_map(|setting| ["--config", setting]));
        let is_unused = AtomicBool::new(false);
        let messages = output_of(cargo, &|line| {
            if is_unused_patch(line) {
                is_unused.store(true, Relaxed);
            }
            said(line);
        });
        let messages = messages.map_err(|error| match (error, lockfile) {
            (BuildError::WithoutBefit, Some(lockfile)) if is_unused.into_inner() => {
                // Cargo says so also of a program that uses none.
                let theirs = rayon_cores(&lockfile);
                theirs.map_or(BuildError::WithoutBefit, BuildError::NotReplaced)
            }
            (error, _) => error,
        })?;
        binary_in(&messages)
    }

    /// The cargo command that builds with instrumentation, in a folder of its own; with the
    /// lockfile, where that is the overlay's.
    fn instrumented(
        &self,
        manifest: Option<&Path>,
        workspace: &Workspace,
    ) -> Result<(Command, Option<PathBuf>), BuildError> {
        let host = host_triple()?;
        let target = match &self.target.target_dir {
            Some(folder) => {
                path::absolute(folder).map_err(|e| BuildError::Overlay(folder.clone(), e))?
            }
            None => workspace.target.clone(),
        };
        let folder = target.join(if self.work { "befit-work" } else { "befit-record" });
        let (mut cargo, lockfile) = match &self.rayon_core {
            Some(rayon_core) if workspace.may_use_rayon() => {
                let (cargo, lockfile) = self.with_rayon_core(rayon_core, workspace, &folder)?;
                (cargo, Some(lockfile))
            }
            _ => (self.cargo("build", manifest), None),
        };
        // With a target named, cargo keeps the flags from build scripts and procedural macros,
        // which could not be linked with them.
        cargo.args(["--target", &host]).arg("--target-dir").arg(folder);
        let ours = if self.work { &WORK_FLAGS[..] } else { &FLAGS };
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(ours));
        if self.work {
            return Ok((cargo, lockfile));
        }
        // With link-time optimisation, also the local kind that is the default, the pass would run
        // before most optimisations.
        self.set(&mut cargo, "LTO", "off");
        // From addresses to lines of the source. It changes nothing of the code.
        self.set(&mut cargo, "DEBUG", "line-tables-only");
        self.set(&mut cargo, "SPLIT_DEBUGINFO", "off");
        self.set(&mut cargo, "STRIP", "none");
        Ok((cargo, lockfile))
    }

    /// Sets `key` of the profile that is built in.
    fn set(&self, cargo: &mut Command, key: &str, value: &str) {
        let profile = self.target.profile().to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_PROFILE_{profile}_{key}"), value);
    }

    /// The cargo command that builds with befit's rayon-core in the place of rayon's: see
    /// [`super::overlay`]. With the overlay's lockfile.
    fn with_rayon_core(
        &self,
        rayon_core: &Path,
        workspace: &Workspace,
        folder: &Path,
    ) -> Result<(Command, PathBuf), BuildError> {
        if !rayon_core.join("Cargo.toml").is_file() {
            return Err(BuildError::NoRayonCore(rayon_core.to_owned()));
        }
        let failed = |error| BuildError::Overlay(folder.to_owned(), error);
        let overlay = Overlay::of(workspace, folder, rayon_core).map_err(failed)?;
        let manifest = overlay.path(&self.target.absolute_manifest().map_err(failed)?);
        // A build must have one befit, by one path. If the program has it by a relative path, that
        // leads through the links.
        let befit_is_linked = workspace.befit().is_some()
            && self.workspace(Some(&manifest))?.befit().is_some_and(|befit| overlay.has(befit));
        let rayon_core =
            if befit_is_linked { overlay.path(rayon_core) } else { rayon_core.to_owned() };
        let mut cargo = self.cargo("build", Some(&manifest));
        // JSON's strings are TOML's, too.
        let rayon_core = Value::from(rayon_core.to_string_lossy());
        cargo.arg("--config").arg(format!("patch.crates-io.rayon-core.path={rayon_core}"));
        Ok((cargo, overlay.lockfile(&workspace.root)))
    }

    /// The workspace of a manifest.
    fn workspace(&self, manifest: Option<&Path>) -> Result<Workspace, BuildError> {
        let mut cargo = self.cargo("metadata", manifest);
        cargo.args(["--no-deps", "--format-version=1"]);
        let output = output_of(cargo, &|_| {}).map_err(|error| match error {
            BuildError::Cargo { stderr, .. } => BuildError::Manifest(stderr),
            other => other,
        })?;
        Workspace::new(&output).map_err(|what| BuildError::Answer("cargo metadata", what))
    }

    /// The cargo that we were started by, if any.
    fn cargo(&self, subcommand: &str, manifest: Option<&Path>) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.arg(subcommand);
        if let Some(path) = manifest {
            cargo.arg("--manifest-path").arg(path);
        }
        cargo
    }
}

/// Whether cargo says in this line that it has not taken befit's rayon-core.
fn is_unused_patch(line: &str) -> bool {
    line.contains("atch `rayon-core ") && line.contains("was not used in the crate graph")
}

/// The user's flags, then ours, as `CARGO_ENCODED_RUSTFLAGS` wants them.
fn flags(ours: &[&str]) -> String {
    joined_flags(ours, env::var("CARGO_ENCODED_RUSTFLAGS").ok(), env::var("RUSTFLAGS").ok())
}

fn joined_flags(ours: &[&str], encoded: Option<String>, plain: Option<String>) -> String {
    const SEPARATOR: &str = "\x1f";
    let own = match (&encoded, &plain) {
        (Some(encoded), _) => encoded.split(SEPARATOR).collect(),
        (None, Some(plain)) => plain.split_whitespace().collect(),
        (None, None) => Vec::new(),
    };
    own.into_iter()
        .filter(|flag| !flag.is_empty())
        .chain(ours.iter().copied())
        .collect::<Vec<_>>()
        .join(SEPARATOR)
}

/// Looks whether the compiler instruments code: it may be another than LLVM's, or have been built
/// without the passes.
///
/// # Errors
/// When it cannot be started, or refuses the flags.
pub fn instruments() -> Result<(), BuildError> {
    const CODE: &str = "#[unsafe(no_mangle)] pub fn load(from: &u64) -> u64 { *from }";
    let name = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let failed = |error| BuildError::Tool(name.to_string_lossy().into_owned(), error);
    let mut rustc = Command::new(&name);
    rustc.args(FLAGS).args(["--edition=2024", "--crate-type=lib", "--emit=asm", "-o", "-", "-"]);
    rustc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = rustc.spawn().map_err(failed)?;
    // A compiler that does not read it says why on stderr.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(CODE.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !output.status.success() {
        return Err(BuildError::Cargo { status: output.status, stderr });
    }
    let instrumented = String::from_utf8_lossy(&output.stdout).contains("__sanitizer_cov_load8");
    let what = "it puts no call before a load";
    if instrumented { Ok(()) } else { Err(BuildError::Answer("rustc's output", what)) }
}

/// The name that rustc has for this machine.
fn host_triple() -> Result<String, BuildError> {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.arg("-vV");
    let output = output_of(rustc, &|_| {})?;
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or(BuildError::Answer("rustc -vV", "it names no host"))
}

/// The one binary among cargo's messages, one JSON object a line.
fn binary_in(messages: &str) -> Result<PathBuf, BuildError> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let executable = message["executable"].as_str();
        let name = message["target"]["name"].as_str();
        if let (Some("compiler-artifact"), Some(executable), Some(name)) =
            (message["reason"].as_str(), executable, name)
        {
            found.push((name.into(), executable.into()));
        }
    }
    if found.len() > 1 {
        return Err(BuildError::WhichBinary(found.into_iter().map(|(name, _)| name).collect()));
    }
    found.pop().map(|(_, path)| path).ok_or(BuildError::NoBinary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_flags_stay_in_force() {
        let ours = FLAGS.join("\x1f");
        let joined_flags = |encoded, plain| joined_flags(&FLAGS, encoded, plain);
        assert_eq!(joined_flags(None, None), ours);
        let plain = joined_flags(None, Some(" -Ctarget-cpu=native  -g".into()));
        assert_eq!(plain, format!("-Ctarget-cpu=native\x1f-g\x1f{ours}"));
        let encoded = joined_flags(Some("-La b".into()), Some("-g".into()));
        assert_eq!(encoded, format!("-La b\x1f{ours}"));
    }

    #[test]
    fn one_binary_is_found_among_cargos_messages() {
        let artifact = |name: &str, executable: Value| {
            let target = serde_json::json!({"name": name});
            let reason = "compiler-artifact";
            serde_json::json!({"reason": reason, "target": target, "executable": executable})
                .to_string()
        };
        let library = &artifact("l", Value::Null);
        let one = &artifact("one", "/t/one".into());
        let two = &artifact("two", "/t/two".into());
        let end = r#"{"reason":"build-finished","success":true}"#;
        let of = |lines: &[&str]| binary_in(&lines.join("\n"));
        assert_eq!(of(&[library, one, end]).unwrap(), Path::new("/t/one"));
        assert!(matches!(of(&[library, end]), Err(BuildError::NoBinary)));
        let both = of(&[one, two, end]).unwrap_err();
        assert!(both.to_string().contains("one, two"), "{both}");
    }

    #[test]
    fn a_folder_without_a_package_is_cargos_error() {
        let manifest_path = Some("/nowhere/Cargo.toml".into());
        let target = Target { manifest_path, ..Target::default() };
        let build = Build { target, ..Build::default() };
        let error = build.run(&|_| {}).unwrap_err();
        assert!(matches!(error, BuildError::Manifest(_)), "{error}");
        assert!(error.to_string().contains("/nowhere/Cargo.toml"), "{error}");
    }
}
