//! Crates as users have them, outside of this workspace: one that uses befit, and one that uses
//! rayon and knows nothing of befit.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::{MACHINE, assert_ends, command, report, words};

const USES_BEFIT: &str = r#"
fn sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 1000 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = befit::join(
        befit::fit(size_of_val(left), || sum(left)),
        befit::fit(size_of_val(right), || sum(right)),
    );
    a + b
}

fn main() {
    let n = std::env::args().nth(1).expect("how many numbers").parse().expect("a number");
    let numbers: Vec<u64> = (0..n).collect();
    println!("the sum is {}", sum(&numbers));
}
"#;

pub(crate) const USES_RAYON: &str = r#"
use rayon::prelude::*;

fn quicksort(v: &mut [u64]) {
    if v.len() <= 1000 {
        return v.sort_unstable();
    }
    let (left, _, right) = v.select_nth_unstable(v.len() / 2);
    rayon::join(|| quicksort(left), || quicksort(right));
}

fn main() {
    let n: u64 = std::env::args().nth(1).expect("how many numbers").parse().expect("a number");
    let builder = rayon::ThreadPoolBuilder::new().num_threads(4);
    let pool = builder.thread_name(|i| i.to_string()).build().unwrap();
    let mut numbers: Vec<u64> = (0..n).map(|i| i.wrapping_mul(0x9e3779b97f4a7c15)).collect();
    pool.install(|| quicksort(&mut numbers));
    assert!(numbers.is_sorted());
    let odd: u64 = numbers.par_iter().map(|x| x % 2).sum();
    let mut seen = vec![false; pool.current_num_threads()];
    pool.scope(|s| seen.iter_mut().for_each(|seen| s.spawn(move |_| *seen = true)));
    println!("odd: {odd}, seen: {seen:?}");
}
"#;

/// What follows the dependencies of a package that is a workspace of its own. A test runs its
/// programs for a moment, so to optimise them would take longer than it gains.
pub(crate) const WORKSPACE: &str = "\n\n[profile.release]\nopt-level = 0\n\n[workspace]";

/// A package's manifest.
pub(crate) fn package(name: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependencies}\n"
    )
}

/// This checkout.
fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Writes a user's files into `folder`, with the versions of dependencies that are there already.
pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    let lock = fs::read_to_string(checkout().join("Cargo.lock")).unwrap();
    // rayon's own among them.
    assert!(lock.contains("name = \"rayon-core\""));
    for (path, text) in files.iter().copied().chain([("Cargo.lock", lock.as_str())]) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// How many schedulers are compared where none are named.
const SCHEDULERS: usize = 5;

/// Keeps the name of a package to its caller for as long as it lives. Packages share a target
/// folder, where another run of the tests would put its binary in the place of this one's.
pub(crate) fn alone(package: &str) -> File {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{package}.lock"));
    let lock = File::create(file).unwrap();
    lock.lock().unwrap();
    lock
}

/// `befit compare line…` of the crate whose manifest is `manifest` in `folder`. The target folder
/// is `target` and stays, so that befit is not built again for each run of a test.
fn comparison(folder: &Path, manifest: &str, target: &str, line: &str) -> Command {
    let manifest = folder.join(manifest);
    let named = ["--manifest-path", manifest.to_str().unwrap(), "--machine", MACHINE];
    let mut command = command(&words("compare --seeds 1 --format json", &named));
    command
        .args(line.split_whitespace())
        .env("BEFIT_CACHE", folder.with_extension("cache"))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(target));
    command
}

/// What it says.
fn compare(folder: &Path, manifest: &str, target: &str, line: &str) -> Output {
    comparison(folder, manifest, target, line).output().expect("the binary starts")
}

/// A cargo in `folder` that notes its subcommands in the file `calls` there.
fn noting_cargo(folder: &Path) -> PathBuf {
    let cargo = folder.join("cargo");
    let calls = folder.join("calls");
    let script =
        format!("#!/bin/sh\necho \"$1\" >>{}\nexec {} \"$@\"\n", calls.display(), env!("CARGO"));
    fs::write(&cargo, script).unwrap();
    fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).unwrap();
    cargo
}

#[test]
fn a_users_own_crate_is_compared() {
    let _alone = alone("sum");
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    let befit = format!("befit = {{ path = {:?} }}{WORKSPACE}", checkout().join("crates/runtime"));
    let manifest = package("sum", &befit);
    write(
        &users,
        &[
            ("Cargo.toml", &manifest),
            ("src/main.rs", USES_BEFIT),
            ("examples/add.rs", USES_BEFIT),
            ("examples/alone.rs", "fn main() {}"),
        ],
    );
    let run = |line: &str| compare(&users, "Cargo.toml", "users-crate", line);
    let commands = |output: &Output| -> Vec<String> {
        report(output).1.iter().map(|r| r["command"].as_str().unwrap().to_owned()).collect()
    };
    let output = run("-- 20000");
    assert_eq!(commands(&output), ["sum 20000"; SCHEDULERS]);
    // What the program prints is shown, but not among the results.
    assert_ends(&output, 0, &["the sum is 199990000"]);
    assert_eq!(commands(&run("--bin sum -- 20000")), ["sum 20000"; SCHEDULERS]);
    assert_eq!(commands(&run("--example add -- 30000")), ["add 30000"; SCHEDULERS]);
    assert_ends(&run(""), 1, &["how many numbers"]);
    // Known before anything is built.
    let cargo = noting_cargo(folder.path());
    for (line, said) in [
        ("--bin product -- 5", "no --bin product; there are: sum"),
        ("--example product -- 5", "no --example product; there are: add"),
        ("--package other -- 5", "there is no package other; there are: sum"),
        ("--stdin nowhere -- 5", "the input nowhere is no file"),
        ("--example alone", "alone.rs names neither befit nor rayon in its source, so --example"),
    ] {
        let mut comparison = comparison(&users, "Cargo.toml", "users-crate", line);
        assert_ends(&comparison.env("CARGO", &cargo).output().unwrap(), 2, &[said]);
    }
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    assert!(calls.lines().all(|subcommand| subcommand == "metadata"), "{calls}");
    fs::write(users.join("Cargo.toml"), "[package\n").unwrap();
    let refused = ["cargo cannot read the program's manifest", "unclosed table"];
    assert_ends(&run("-- 20000"), 2, &refused);
}

const READS: &str = r#"
use std::io::Read;

fn sum(numbers: &[u64]) -> u64 {
    let (left, right) = numbers.split_at(numbers.len() / 2);
    if numbers.len() < 2 { numbers.iter().sum() } else {
        let (a, b) = befit::join(|| sum(left), || sum(right));
        a + b
    }
}

fn at_once() {
    let go = |_| { let all = vec![1; 2_000]; (0..5).map(|_| sum(&all)).sum::<u64>() };
    std::thread::scope(|s| (0..4).for_each(|i| drop(s.spawn(move || go(i)))));
}

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let file = std::env::args().nth(1).unwrap_or_default();
    if file == "at-once" { return at_once() }
    let text = text + &std::fs::read_to_string(file).unwrap_or_default();
    let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert!(cfg!(feature = "extra") || numbers.len() < 10, "too many without extra");
    println!("the sum is {}", sum(&numbers));
}
"#;

/// Several binaries, of which one uses befit; features; input by a file and by standard input.
#[test]
fn what_a_program_reads_and_is_built_with_is_part_of_what_is_recorded() {
    let _alone = alone("reads");
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    let befit = format!(
        "befit = {{ path = {:?} }}\n\n[features]\nextra = []\n\n[profile.thin]\ninherits = \
         \"release\"{WORKSPACE}",
        checkout().join("crates/runtime")
    );
    let manifest = package("reads", &befit);
    let other = "fn main() { println!(\"nothing to record\") }";
    let files = [("Cargo.toml", &*manifest), ("src/main.rs", READS), ("src/bin/other.rs", other)];
    write(&users, &files);
    let numbers = users.join("numbers");
    let path = numbers.to_str().unwrap();
    let run = |line: &str| compare(&users, "Cargo.toml", "users-crate", line);
    let tasks = |line: &str| report(&run(line)).1[0]["tasks"].as_u64().unwrap();
    let mut found = Vec::new();
    for content in ["1 2", "1 2 3 4"] {
        fs::write(&numbers, content).unwrap();
        let stdin = tasks(&format!("--no-work --sched ws --stdin {path}"));
        let named = tasks(&format!("--no-work --sched ws -- {path}"));
        assert_eq!(stdin, named);
        found.push(named);
    }
    assert!(found[0] < found[1], "{found:?}");
    let again = run(&format!("--no-work --sched ws -- {path}"));
    assert_ends(&again, 0, &["recorded before"]);
    fs::write(&numbers, "1 ".repeat(20)).unwrap();
    let line = format!("--no-work --sched ws -- {path}");
    assert_ends(&run(&line), 1, &["too many without extra"]);
    let built = users.join("built");
    let more = format!("--features extra --profile thin --target-dir {} ", built.display());
    assert!(tasks(&(more + &line)) > found[1]);
    assert!(built.join("befit-record").is_dir());
    let refused = ["cannot be recorded", "at once they have no serial order"];
    assert_ends(&run("--no-work --sched ws -- at-once"), 2, &refused);
}

/// The content of every file in `folder`.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                BTreeMap::from([(path.clone(), fs::read(path).unwrap())])
            }
        })
        .collect()
}

/// A workspace, of the program `app` and a library of its own from which it gets rayon's name.
#[test]
fn a_program_that_uses_rayon_is_compared_and_its_files_stay_as_they_are() {
    let _alone = alone("app");
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    write(
        &users,
        &[
            (
                "Cargo.toml",
                &format!("{WORKSPACE}\nmembers = [\"app\", \"lib\"]\nresolver = \"3\"\n"),
            ),
            ("app/Cargo.toml", &package("app", "lib = { path = \"../lib\" }\nrayon = \"1\"")),
            ("app/src/main.rs", USES_RAYON),
            ("lib/Cargo.toml", &package("lib", "rayon = \"1\"")),
            ("lib/src/lib.rs", ""),
        ],
    );
    let before = files(&users);
    let output = compare(&users, "app/Cargo.toml", "users-rayon", "--sched ws,pws -- 30000");
    let (_, results) = report(&output);
    let schedulers: Vec<_> = results.iter().map(|r| r["scheduler"].as_str().unwrap()).collect();
    assert_eq!(schedulers, ["ws", "pws"]);
    for result in results {
        assert_eq!(result["command"], "app 30000");
        // 30,000 numbers are 3,750 lines, and more than an L2 and an L1.
        assert!(result["misses"]["L3"]["min"].as_u64().unwrap() >= 3_750, "{result}");
    }
    assert_ends(&output, 0, &["odd: 15000, seen: [true, true, true, true]"]);
    assert!(files(&users) == before, "the user's files have changed");
}
