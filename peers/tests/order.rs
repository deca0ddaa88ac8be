//! The order of a `join` on the runtimes in C++.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

/// Eight leaves of a tree of joins, printed in the order in which one thread comes to them.
const LEAVES: &str = r#"
#include <cstdio>
#include <string>
#include RUNTIME_HEADER

static void tree(std::string& seen, char from, char n)
{
    if (n == 1) return seen.push_back(from);
    const char half = n / 2, middle = from + half;
    Runtime::join([&, from, half] { tree(seen, from, half); },
                  [&, middle, half] { tree(seen, middle, half); });
}

int main()
{
    Runtime runtime(1);
    std::string seen;
    runtime.install([&] { tree(seen, '0', 8); });
    std::puts(seen.c_str());
}
"#;

/// Compiles `source`, from a file, to `program`; true if that succeeds.
fn compiles(source: &str, program: &Path, flags: &[&str]) -> bool {
    let file = program.with_extension("cpp");
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/cpp"), "-o"]);
    compiler.arg(program).arg(file).args(flags);
    compiler.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// With a compiler and the library; else there is nothing to see.
#[test]
fn regression_one_thread_runs_the_first_half_of_a_join_first_on_runtimes_in_cpp() {
    let folder = tempfile::tempdir().unwrap();
    for (name, library, flags) in [
        ("serial", "", &[][..]),
        ("tbb", "#include <tbb/global_control.h>", &["-ltbb"]),
        ("openmp", "#include <omp.h>", &["-fopenmp"]),
    ] {
        let probe = format!("{library}\nint main() {{}}\n");
        if !compiles(&probe, &folder.path().join("probe"), flags) {
            assert!(env::var_os("PEERS_NEED_CPP").is_none(), "{name} is missing");
            continue;
        }
        let header = format!("-DRUNTIME_HEADER=\"runtime/{name}.hpp\"");
        let program = folder.path().join(name);
        let flags = [&[&*header], flags].concat();
        assert!(compiles(LEAVES, &program, &flags), "{name}");
        let output = Command::new(&program).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "01234567\n", "{name}");
    }
}
