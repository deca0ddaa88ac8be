//! A program that uses rayon and knows nothing of befit is recorded and compared; its files stay as
//! they are.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{MACHINE, command, printed, words};

const MAIN: &str = r#"
use rayon::prelude::*;

fn quicksort(v: &mut [u64]) {
    if v.len() <= 1000 {
        return v.sort_unstable();
    }
    let pivot = v[v.len() / 2];
    let (mut next, mut end) = (0, v.len());
    for at in 0..v.len() {
        if v[at] < pivot {
            v.swap(next, at);
            next += 1;
        }
    }
    if next == 0 {
        v.sort_unstable();
        end = 0;
    }
    let (left, right) = v[..end].split_at_mut(next);
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

/// A workspace as a user would have it: the program `app` beside a library of its own, from which
/// it gets rayon's name.
fn users_workspace(folder: &Path, lock: &str) -> PathBuf {
    for at in ["app/src", "lib/src"] {
        fs::create_dir_all(folder.join(at)).unwrap();
    }
    let package = |name: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n"
        )
    };
    fs::write(
        folder.join("Cargo.toml"),
        "[workspace]\nmembers = [\"app\", \"lib\"]\nresolver = \"3\"\n",
    )
    .unwrap();
    fs::write(
        folder.join("app/Cargo.toml"),
        package("app") + "lib = { path = \"../lib\" }\nrayon = \"1\"\n",
    )
    .unwrap();
    fs::write(folder.join("lib/Cargo.toml"), package("lib") + "rayon = \"1\"\n").unwrap();
    fs::write(folder.join("app/src/main.rs"), MAIN).unwrap();
    fs::write(folder.join("lib/src/lib.rs"), "").unwrap();
    fs::write(folder.join("Cargo.lock"), lock).unwrap();
    folder.join("app/Cargo.toml")
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

#[test]
fn a_program_that_uses_rayon_is_compared_and_its_files_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let befits = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    // The versions that are there already, and rayon's own rayon-core among them.
    let lock = fs::read_to_string(befits.join("Cargo.lock")).unwrap();
    assert!(lock.contains("name = \"rayon-core\""));
    let manifest = users_workspace(&folder.path().join("users"), &lock);
    let before = files(&folder.path().join("users"));

    let manifest = manifest.to_str().unwrap();
    let named = ["--manifest-path", manifest, "--machine", MACHINE, "--", "30000"];
    let mut befit = command(&words("compare --sched ws,pws --seeds 1 --format json", &named));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("users-rayon");
    let output = befit
        .env("BEFIT_CACHE", folder.path().join("cache"))
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let report: Value = serde_json::from_str(&printed(&output)).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(
        results.iter().map(|r| r["scheduler"].as_str().unwrap()).collect::<Vec<_>>(),
        ["ws", "pws"]
    );
    for result in results {
        assert_eq!(result["command"], "app 30000");
        // 30,000 numbers are 3,750 lines, and more than an L2 and an L1.
        assert!(result["misses"]["L3"]["min"].as_u64().unwrap() >= 3_750, "{result}");
    }
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(shown.contains("odd: 15000, seen: [true, true, true, true]"), "{shown}");
    assert!(files(&folder.path().join("users")) == before, "the user's files have changed");
}
