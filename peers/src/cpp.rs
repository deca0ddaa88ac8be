//! The runtimes in C++: a CMake project in `cpp/` beside this crate's sources, built when it is
//! first asked for.
//!
//! The rest needs none of it: without CMake, a compiler or a library, its rows name what is
//! missing.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::runtime::RuntimeKind;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cpp");

/// So many lines of what a step said are shown where it failed.
const LINES: usize = 6;

/// A runtime in C++, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CppRuntime {
    /// Plain calls, which compare the compilers apart from any runtime.
    Serial,
    /// oneTBB: `parallel_invoke`, and a `task_group` where more are forked at once.
    Tbb,
    /// OpenMP tasks.
    Openmp,
}

impl CppRuntime {
    pub(crate) const ALL: [Self; 3] = [Self::Serial, Self::Tbb, Self::Openmp];

    /// Its name as users type it, its target in the CMake project, and its needs beside CMake.
    fn facts(self) -> [&'static str; 3] {
        match self {
            Self::Serial => ["serial-c++", "peers-serial", "a C++ compiler"],
            Self::Tbb => ["tbb", "peers-tbb", "oneTBB (Debian: libtbb-dev)"],
            Self::Openmp => ["openmp", "peers-openmp", "a C++ compiler with OpenMP"],
        }
    }

    /// As users type it.
    pub(crate) fn name(self) -> &'static str {
        self.facts()[0]
    }
}

/// For each of `runtimes` the program to start, or the reason why there is none. `own` is this
/// process's program.
///
/// Builds those in C++ beside `own`, all at once; that takes some seconds the first time.
pub(crate) fn prepare(runtimes: &[RuntimeKind], own: &Path) -> Vec<Result<PathBuf, String>> {
    let folder = build_folder(SOURCES, own);
    let mut built = None;
    let mut program = |runtime: &RuntimeKind| match runtime {
        RuntimeKind::Cpp(runtime) => {
            let built = built.get_or_insert_with(|| build(&folder)).as_deref();
            executable(*runtime, &folder, built.map_err(String::clone)?)
        }
        _ => Ok(own.to_owned()),
    };
    runtimes.iter().map(&mut program).collect()
}

/// The folder beside `own` in which the project in `sources` is built. CMake refuses one that it
/// has used for other sources, or that lay elsewhere then: a checkout that has moved has a new one.
fn build_folder(sources: &str, own: &Path) -> PathBuf {
    let mut hash = DefaultHasher::new();
    (sources, own.parent()).hash(&mut hash);
    own.with_file_name(format!("peers-cpp-{:016x}", hash.finish()))
}

/// The executable of `runtime` in `folder`, if its target is one of those that were `built`, a line
/// each. One may be there that was not: from before its library went.
fn executable(runtime: CppRuntime, folder: &Path, built: &str) -> Result<PathBuf, String> {
    let [_, target, needs] = runtime.facts();
    let is_built = built.lines().any(|line| line == target);
    if is_built { Ok(folder.join(target)) } else { Err(format!("{needs} was not found")) }
}

/// Builds the project in `folder`, without the runtimes whose libraries are missing. Returns the
/// targets that it has built, a line each.
fn build(folder: &Path) -> Result<String, String> {
    // Another process may build them at the same time.
    let _alone = lock(folder).map_err(|e| format!("{} cannot be used: {e}", folder.display()))?;
    let configure = ["-S", SOURCES, "-B"].map(Path::new).into_iter().chain([folder]);
    step("cmake", Command::new("cmake").args(configure).arg("-DCMAKE_BUILD_TYPE=Release"))?;
    step("the C++ compiler", Command::new("cmake").arg("--build").arg(folder).arg("--parallel"))?;
    let list = folder.join("built");
    fs::read_to_string(&list).map_err(|e| format!("{} cannot be read: {e}", list.display()))
}

/// Waits until no other process builds in `folder`. Until the file is dropped none does.
fn lock(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let file = File::create(folder.join("lock"))?;
    file.lock()?;
    Ok(file)
}

fn step(what: &str, command: &mut Command) -> Result<(), String> {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(e) => return Err(format!("{what} cannot be started: {e}")),
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // The first line seldom says why: CMake's has the place only, a compiler's the function.
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.take(LINES).collect::<Vec<_>>().join(" ");
    let message = if message.is_empty() { "no message" } else { &message };
    Err(format!("{what} failed: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_an_executable_whose_library_has_gone_is_not_timed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let leftover = folder.join("peers-tbb");
        fs::write(&leftover, "").unwrap();
        let found = |built| executable(CppRuntime::Tbb, folder, built);
        let missing = "oneTBB (Debian: libtbb-dev) was not found".to_owned();
        assert_eq!(found("peers-serial\npeers-openmp\n"), Err(missing));
        assert_eq!(found("peers-serial\npeers-tbb\n"), Ok(leftover));
    }

    #[test]
    fn regression_each_checkout_and_each_place_has_a_folder_for_builds() {
        let folder = |sources, own| build_folder(sources, Path::new(own));
        let of_one = folder("/one/peers/cpp", "/target/release/peers");
        assert_eq!(of_one, folder("/one/peers/cpp", "/target/release/peers"));
        assert_ne!(of_one, folder("/two/peers/cpp", "/target/release/peers"));
        let moved = folder("/one/peers/cpp", "/elsewhere/release/peers");
        assert_eq!(of_one.parent(), Some(Path::new("/target/release")));
        assert_ne!(of_one.file_name(), moved.file_name());
    }

    #[test]
    fn why_a_runtime_is_not_built_is_said_on_one_line() {
        let sh = |script| step("cmake", Command::new("sh").args(["-c", script]));
        let script = "printf 'CMake Error at x:4:\\n\\n  no compiler\\n' >&2; exit 1";
        let said = "cmake failed: CMake Error at x:4: no compiler";
        assert_eq!(sh(script), Err(said.to_owned()));
        assert_eq!(sh("exit 1"), Err("cmake failed: no message".to_owned()));
        assert_eq!(sh("echo said >&2"), Ok(()));
    }
}
