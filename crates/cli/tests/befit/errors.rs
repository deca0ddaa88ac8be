//! Bad input gives one line on stderr, and exit code 2 when what was asked for cannot be, 1 for
//! everything else.

use crate::common::{assert_fails, befit, recording};

#[test]
fn an_unknown_kernel_is_answered_with_the_known_ones() {
    assert_fails(&befit(&["compare", "rmm"]), 2, &["'rmm'", "rrm", "rgm", "rgm-leaf"]);
    assert_fails(
        &befit(&["record", "rmm", "-o", "/dev/null"]),
        2,
        &["'rmm'", "rrm", "rgm", "rgm-leaf"],
    );
}

#[test]
fn an_unknown_machine_is_answered_with_the_known_ones() {
    assert_fails(
        &befit(&["compare", "rrm", "--machine", "xeon"]),
        2,
        &["`xeon`", "xeon-7560", "epyc-7742", "host"],
    );
    assert_fails(&befit(&["topo", "--machine", "xeon"]), 2, &["`xeon`", "xeon-7560"]);
}

#[test]
fn an_unknown_scheduler_is_answered_with_the_known_ones() {
    assert_fails(
        &befit(&["compare", "rrm", "--sched", "ws,sbd"]),
        2,
        &["'sbd'", "ws, pws, sb, sb-d"],
    );
}

#[test]
fn a_bad_size_is_refused() {
    for n in ["0", "many", "-5", "1e7", "18446744073709551616"] {
        assert_fails(&befit(&["compare", "rrm", &format!("--n={n}")]), 2, &["--n", n]);
    }
}

#[test]
fn a_size_that_a_kernel_cannot_have_is_refused_before_anything_is_built() {
    assert_fails(
        &befit(&["compare", "rrm", "--n", "18446744073709551615"]),
        2,
        &["rrm", "18446744073709551615"],
    );
}

#[test]
fn sigma_and_mu_outside_of_0_to_1_are_refused() {
    for value in ["0", "1.5", "-0.5", "NaN", "half"] {
        assert_fails(
            &befit(&["compare", "rrm", &format!("--sigma={value}")]),
            2,
            &["--sigma", "above 0 and up to 1"],
        );
        assert_fails(
            &befit(&["compare", "rrm", &format!("--mu={value}")]),
            2,
            &["--mu", "above 0 and up to 1"],
        );
    }
}

#[test]
fn no_seeds_are_refused() {
    for seeds in ["0", "-1", "some"] {
        assert_fails(
            &befit(&["compare", "rrm", &format!("--seeds={seeds}")]),
            2,
            &["--seeds", "from 1 up"],
        );
    }
}

#[test]
fn nothing_to_do_is_a_usage_error() {
    assert_fails(&befit(&[]), 2, &["--help"]);
    assert_fails(&befit(&["compare"]), 2, &["KERNEL"]);
    assert_fails(&befit(&["sim"]), 2, &["FILE"]);
    assert_fails(&befit(&["compile"]), 2, &["'compile'"]);
    assert_fails(&befit(&["compare", "rrm", "--formats", "json"]), 2, &["--formats"]);
}

#[test]
fn a_kernel_and_a_manifest_exclude_each_other() {
    assert_fails(
        &befit(&["compare", "rrm", "--manifest-path", "Cargo.toml"]),
        2,
        &["--manifest-path"],
    );
    assert_fails(&befit(&["compare", "--n", "5", "--manifest-path", "Cargo.toml"]), 2, &["--n"]);
    assert_fails(&befit(&["compare", "rrm", "--", "5"]), 2, &["ARGS"]);
    assert_fails(&befit(&["compare", "rrm", "--bin", "rrm"]), 2, &["--bin"]);
}

#[test]
fn a_missing_manifest_is_named() {
    assert_fails(
        &befit(&["compare", "--manifest-path", "/nowhere/Cargo.toml"]),
        2,
        &["/nowhere/Cargo.toml"],
    );
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
    assert_fails(&befit(&["sim", &path, "--output", "/nowhere/results"]), 1, &["/nowhere/results"]);
    assert_fails(
        &befit(&["compare", "rrm", "--output", "/nowhere/results"]),
        1,
        &["/nowhere/results"],
    );
    assert_fails(
        &befit(&["record", "rrm", "--output", "/nowhere/rrm.befit"]),
        1,
        &["/nowhere/rrm.befit"],
    );
}
