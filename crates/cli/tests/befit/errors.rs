//! Bad input gives one line on stderr, and exit code 2 when what was asked for cannot be, 1 for
//! everything else.

use crate::{assert_ends, assert_fails, befit, recording, words};

/// Asserts that `befit line…` is refused in one line that has all of `named`.
fn assert_refused(line: &str, named: &[&str]) {
    assert_fails(&befit(&words(line, &[])), 2, named);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_built() {
    let huge = "18446744073709551615";
    for (line, named) in [
        // What is unknown is refused with what is known.
        ("compare rmm", &["'rmm'", "rrm", "rgm", "rgm-leaf"][..]),
        ("record rmm -o /dev/null", &["'rmm'", "rrm", "rgm", "rgm-leaf"]),
        ("run rmm", &["'rmm'", "rrm", "rgm", "rgm-leaf"]),
        ("compare rrm --machine xeon", &["`xeon`", "xeon-7560", "epyc-7742", "host"]),
        ("topo --machine xeon", &["`xeon`", "xeon-7560", "epyc-7742", "host"]),
        ("run rrm --machine xeon", &["`xeon`", "xeon-7560", "host"]),
        ("compare rrm --sched ws,sbd", &["'sbd'", "ws, pws, sb, sb-d", "cilk-a", "mts"]),
        ("run rrm --sched ws,cilk", &["'cilk'", "ws, pws, sb, sb-d"]),
        ("footprint array-abc:tasks=d", &["'tasks=d'", "tasks=abc|ab|ac|bc", "schedule=1|2"]),
        ("run rrm --pin yes", &["'yes'", "auto", "always", "never"]),
        ("compare --manifest-path /nowhere/Cargo.toml", &["/nowhere/Cargo.toml"]),
        // A number is refused with its range.
        ("compare rrm --n=0", &["--n", "0"]),
        ("compare rrm --n=many", &["--n", "many"]),
        ("compare rrm --n=-5", &["--n", "-5"]),
        ("compare rrm --n=1e7", &["--n", "1e7"]),
        ("compare rrm --n=18446744073709551616", &["--n", "18446744073709551616"]),
        (&format!("compare rrm --n {huge}"), &["rrm", huge]),
        ("run rrm --n 0", &["--n", "from 1 up"]),
        ("compare rrm --seeds=0", &["--seeds", "from 1 up"]),
        ("compare rrm --seeds=-1", &["--seeds", "from 1 up"]),
        ("compare rrm --seeds=some", &["--seeds", "from 1 up"]),
        ("run rrm --repeats 0", &["--repeats", "from 1 up"]),
        ("run rrm --threads none", &["--threads", "from 1 up"]),
        ("footprint array-abc --level 3", &["gems-sparc", "no L3", "L1, L2"]),
        ("footprint array-abc --level 0", &["--level"]),
        ("learn rmm", &["'rmm'", "rrm", "rgm", "rgm-leaf"]),
        ("learn rrm --with /nowhere/large.befit", &["/nowhere/large.befit"]),
        ("learn /nowhere/rrm.befit", &["/nowhere/rrm.befit"]),
        ("sizes rrm --learned /nowhere/rrm.sizes", &["sizes /nowhere/rrm.sizes: cannot be read"]),
        ("compare rrm --sizes guessed", &["'guessed'", "none, declared, measured, learned"]),
        ("sizes rrm --sigma=2", &["--sigma", "above 0 and at most 1"]),
        // Nothing to do is a usage error.
        ("", &["--help"]),
        ("compare", &["KERNEL"]),
        ("run", &["KERNEL"]),
        ("sim", &["FILE"]),
        ("compile", &["'compile'"]),
        ("compare rrm --formats json", &["--formats"]),
        // A kernel, a manifest and a command exclude one another.
        ("compare rrm --manifest-path Cargo.toml", &["--manifest-path"]),
        ("compare --n 5 --manifest-path Cargo.toml", &["--n"]),
        ("compare rrm -- 5", &["ARGS"]),
        ("compare rrm --bin rrm", &["--bin"]),
        ("run rrm -- true", &["KERNEL"]),
    ] {
        assert_refused(line, named);
    }
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
}

#[test]
fn a_bad_file_of_sizes_is_refused_with_the_line() {
    let (folder, recording) = recording();
    let path = folder.path().join("mine.sizes");
    for (text, named) in [
        ("befit.sizes/2\n", "line 1: should be `befit.sizes/1`, is `befit.sizes/2`"),
        ("befit.sizes/1\nsite 12\n", "line 2: a site is named by 16 hexadecimal digits"),
        ("befit.sizes/1\n", "line 1: the file is cut off"),
    ] {
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        assert_refused(&format!("sizes rrm --learned {path}"), &["mine.sizes: ", named]);
    }
    // Its tasks tell no sites.
    assert_ends(&befit(&["learn", &recording]), 1, &["nothing was learned", "record"]);
}

#[test]
fn a_missing_recording_is_named() {
    assert_fails(&befit(&["sim", "/nowhere/rrm.befit"]), 1, &["/nowhere/rrm.befit"]);
}

#[test]
fn a_damaged_recording_is_an_error_that_names_the_file() {
    let (_folder, path) = recording();
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
    let (_folder, path) = recording();
    for (command, file) in [
        (format!("sim {path}"), "/nowhere/results"),
        ("compare rrm".to_owned(), "/nowhere/results"),
        ("record rrm".to_owned(), "/nowhere/rrm.befit"),
        ("run rrm".to_owned(), "/nowhere/results"),
    ] {
        assert_fails(&befit(&words(&command, &["--output", file])), 1, &[file]);
    }
}
