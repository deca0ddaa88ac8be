//! Bad input gives one line on stderr, nothing on stdout, and the exit code of
//! docs/command-line.md: `errors.txt` has them all.

use std::{fs, path::Path, process::Command};

use crate::{befit, recording, words};

/// What people type, the line that they get, and the exit code. `…` stands for any text.
const TRANSCRIPT: &str = include_str!("errors.txt");

/// Files with mistakes, in a folder with a recording that has none.
fn spoil(folder: &Path) {
    let whole = fs::read(folder.join("walks.befit")).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for (name, content) in [
        ("cut.befit", &whole[..whole.len() / 2]),
        ("flipped.befit", &flipped),
        ("text.befit", b"not a recording"),
        ("bad.sizes", b"befit.sizes/2\nsite 12\n"),
        ("broken.xml", b"<topology><object type=\"Machine\">"),
    ] {
        fs::write(folder.join(name), content).unwrap();
    }
    fs::create_dir(folder.join("folder")).unwrap();
}

#[test]
fn every_mistake_gets_its_line_and_its_exit_code() {
    let (folder, _) = recording();
    spoil(folder.path());
    let befit = Path::new(env!("CARGO_BIN_EXE_befit")).parent().unwrap();
    let path = format!("{}:{}", befit.display(), std::env::var("PATH").unwrap());
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in TRANSCRIPT.split("\n\n").filter(|entry| !entry.trim().is_empty()) {
        let entry = entry.trim();
        let command = entry.lines().next().unwrap().strip_prefix("$ ").unwrap();
        let mut sh = Command::new("sh");
        sh.args(["-c", command]).current_dir(folder.path()).env("PATH", &path);
        let output = sh.output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let found = format!("$ {command}\n{said}[{}]", output.status.code().unwrap_or(-1));
        if !is_like(&found, entry) {
            wrong.push(found);
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(count >= 40, "{count}");
}

/// True if `text` is `pattern`, in which `…` stands for any text of a line.
fn is_like(text: &str, pattern: &str) -> bool {
    let same = |(text, pattern): (&str, &str)| {
        let mut parts = pattern.split('…');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let mut last = None;
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
            last = Some(part);
        }
        rest.is_empty() || last == Some("")
    };
    text.lines().count() == pattern.lines().count() && text.lines().zip(pattern.lines()).all(same)
}

#[test]
fn an_option_of_the_policies_is_refused_wherever_it_can_be_given() {
    for command in ["compare rrm", "sim walks.befit", "run rrm", "verify rrm"] {
        let output = befit(&words(&format!("{command} --sigma 2"), &[]));
        crate::assert_fails(&output, 2, &["--sigma", "'2'", "above 0 and at most 1"]);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_known_before_the_work() {
    let (_folder, path) = recording();
    for command in [format!("sim {path}"), "record rrm".to_owned(), "run rrm".to_owned()] {
        let output = befit(&words(&command, &["--output", "/nowhere/results"]));
        crate::assert_fails(&output, 1, &["cannot write /nowhere/results"]);
    }
}
