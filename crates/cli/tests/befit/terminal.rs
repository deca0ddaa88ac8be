//! What people see on a terminal: widths, colours, how much is said. util-linux's `script` is the
//! terminal.

use std::{path::Path, process::Command};

use crate::{befit, command, printed, recording, stderr, words};

/// What `befit line` writes on a terminal of so many columns, without carriage returns.
fn on_terminal(columns: usize, line: &str) -> String {
    let befit = env!("CARGO_BIN_EXE_befit");
    let shell = format!("stty rows 24 cols {columns}; exec {befit} {line}");
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &shell, "/dev/null"]);
    let output = script.env("TERM", "xterm").output().expect("util-linux is installed");
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

#[test]
fn a_table_fits_the_terminal_and_names_what_it_leaves_out() {
    let (_folder, path) = recording();
    let line = format!("-q sim {path} --seeds 2");
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    let narrow = on_terminal(80, &line);
    assert!(widest(&narrow) <= 80, "{narrow}");
    assert!(narrow.contains("not shown without --wide: of them near"), "{narrow}");
    let wide = on_terminal(80, &format!("{line} --wide"));
    assert!(widest(&wide) > 80 && !wide.contains("--wide"), "{wide}");
    // What goes through a pipe has all columns.
    assert_eq!(printed(&befit(&words(&line, &[]))), wide);
}

#[test]
fn the_list_fits_the_terminal() {
    let text = on_terminal(80, "list");
    let long: Vec<_> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty() && text.lines().count() > 20, "{long:#?}");
}

#[test]
fn help_fits_the_terminal() {
    for command in ["", "compare", "run", "doctor"] {
        let text = on_terminal(80, &format!("{command} --help"));
        let plain = without_colours(&text);
        let long: Vec<_> = plain.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{command}: {long:#?}");
    }
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|part| Some(part.split_once('m')?.1)).collect::<String>()
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let coloured = |output: &str| output.contains('\x1b');
    assert!(coloured(&on_terminal(80, "compare")));
    assert!(!coloured(&on_terminal(80, "compare --color never")));
    assert!(!coloured(&stderr(&befit(&["compare"]))));
    assert!(coloured(&stderr(&befit(&["compare", "--color", "always"]))));
    let mut without = command(&["--color", "auto", "compare"]);
    assert!(!coloured(&stderr(&without.env("NO_COLOR", "1").output().unwrap())));
}

#[test]
fn quiet_says_nothing_but_the_results() {
    let (_folder, path) = recording();
    let loud = befit(&["sim", &path, "--seeds", "1"]);
    let quiet = befit(&["sim", &path, "--seeds", "1", "--quiet"]);
    assert_eq!(printed(&loud), printed(&quiet));
    assert!(stderr(&loud).contains("simulating") && stderr(&quiet).is_empty());
}

#[test]
fn shells_man_and_doctor_know_the_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(printed(&befit(&["completions", shell])).contains("compare"), "{shell}");
    }
    assert!(printed(&befit(&["man"])).contains(".TH befit"));
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    printed(&befit(&["man", "--output", pages.to_str().unwrap()]));
    assert!(pages.join("befit-compare.1").is_file());
    let found = printed(&befit(&["doctor"]));
    assert!(found.contains("good     instrumentation"), "{found}");
    assert!(!found.contains("missing"), "{found}");
}

/// The sources that the command carries hold together without the checkout.
#[test]
fn the_carried_sources_are_a_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let archive = include_bytes!(concat!(env!("OUT_DIR"), "/sources"));
    let mut rest = &archive[..];
    let mut part = || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (part, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        rest = after;
        Some(part)
    };
    while let Some(path) = part() {
        let file = folder.path().join(std::str::from_utf8(path).unwrap());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, part().unwrap()).unwrap();
    }
    for manifest in ["kernels", "crates/page", "compat/rayon-core", "compat/programs"] {
        let mut cargo = Command::new(env!("CARGO"));
        let path = folder.path().join(manifest).join("Cargo.toml");
        cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1", "--manifest-path"]);
        let output = cargo.arg(&path).output().unwrap();
        assert!(output.status.success(), "{manifest}: {}", stderr(&output));
        assert!(Path::new(&path).is_file());
    }
}
