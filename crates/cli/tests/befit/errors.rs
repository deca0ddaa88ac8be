//! Bad input gives one line on stderr, and exit code 2 when what was asked for cannot be, 1 for
//! everything else.

use crate::{assert_fails, befit, recording, words};

/// Asserts that `befit line…` is refused in one line that has all of `named`.
fn assert_refused(line: &str, named: &[&str]) {
    assert_fails(&befit(&words(line, &[])), 2, named);
}

#[test]
fn what_is_unknown_is_refused_with_what_is_known() {
    for (line, named) in [
        ("compare rmm", ["'rmm'", "rrm", "rgm", "rgm-leaf"]),
        ("record rmm -o /dev/null", ["'rmm'", "rrm", "rgm", "rgm-leaf"]),
        ("compare rrm --machine xeon", ["`xeon`", "xeon-7560", "epyc-7742", "host"]),
        ("topo --machine xeon", ["`xeon`", "xeon-7560", "epyc-7742", "host"]),
        ("compare rrm --sched ws,sbd", ["'sbd'", "ws, pws, sb, sb-d", "cilk-a", "mts"]),
        ("footprint array-abc:tasks=d", ["'tasks=d'", "tasks=abc|ab|ac|bc", "schedule=1|2", ""]),
    ] {
        assert_refused(line, &named);
    }
}

#[test]
fn a_bad_size_is_refused() {
    for n in ["0", "many", "-5", "1e7", "18446744073709551616"] {
        assert_refused(&format!("compare rrm --n={n}"), &["--n", n]);
    }
}

#[test]
fn a_size_that_a_kernel_cannot_have_is_refused_before_anything_is_built() {
    assert_refused("compare rrm --n 18446744073709551615", &["rrm", "18446744073709551615"]);
}

#[test]
fn a_cache_that_the_machine_does_not_have_is_refused_before_anything_is_built() {
    assert_refused("footprint array-abc --level 3", &["gems-sparc", "no L3", "L1, L2"]);
    assert_refused("footprint array-abc --level 0", &["--level"]);
}

#[test]
fn an_option_out_of_range_is_refused_with_its_range_wherever_it_can_be_given() {
    for command in ["compare rrm", "sim walks.befit", "run rrm"] {
        for option in ["sigma", "mu"] {
            for value in ["0", "1.5", "-0.5", "NaN", "half"] {
                let line = format!("{command} --{option}={value}");
                assert_refused(&line, &[&format!("--{option}"), value, "above 0 and at most 1"]);
            }
        }
        for (option, value, range) in [
            ("counting", "half", "capped or full"),
            ("nearness", "0", "a whole number from 1 up"),
            ("branching", "1", "a whole number from 2 up"),
            ("boundary", "-1", "a whole number from 0 up"),
        ] {
            let line = format!("befit: --{option}: '{value}' is not {range}; try '--help'\n");
            assert_refused(&format!("{command} --{option}={value}"), &[&line]);
        }
    }
    assert_refused("sizes rrm --sigma=2", &["--sigma", "above 0 and at most 1"]);
}

#[test]
fn no_seeds_are_refused() {
    for seeds in ["0", "-1", "some"] {
        assert_refused(&format!("compare rrm --seeds={seeds}"), &["--seeds", "from 1 up"]);
    }
}

#[test]
fn nothing_to_do_is_a_usage_error() {
    assert_refused("", &["--help"]);
    assert_refused("compare", &["KERNEL"]);
    assert_refused("sim", &["FILE"]);
    assert_refused("compile", &["'compile'"]);
    assert_refused("compare rrm --formats json", &["--formats"]);
}

#[test]
fn a_kernel_and_a_manifest_exclude_each_other() {
    assert_refused("compare rrm --manifest-path Cargo.toml", &["--manifest-path"]);
    assert_refused("compare --n 5 --manifest-path Cargo.toml", &["--n"]);
    assert_refused("compare rrm -- 5", &["ARGS"]);
    assert_refused("compare rrm --bin rrm", &["--bin"]);
}

#[test]
fn a_missing_manifest_is_named() {
    assert_refused("compare --manifest-path /nowhere/Cargo.toml", &["/nowhere/Cargo.toml"]);
}

#[test]
fn a_missing_recording_is_named() {
    assert_fails(&befit(&["sim", "/nowhere/rrm.befit"]), 1, &["/nowhere/rrm.befit"]);
}

#[test]
fn a_damaged_recording_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 2], b"", b"not a recording", &flipped] {
        std::fs::write(&path, damaged).unwrap();
        assert_fails(&befit(&["sim", &path, "--seeds", "1"]), 1, &["walks.befit"]);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    for (command, file) in [
        (format!("sim {path}"), "/nowhere/results"),
        ("compare rrm".to_owned(), "/nowhere/results"),
        ("record rrm".to_owned(), "/nowhere/rrm.befit"),
    ] {
        assert_fails(&befit(&words(&command, &["--output", file])), 1, &[file]);
    }
}
