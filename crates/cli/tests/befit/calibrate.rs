//! `befit calibrate`.

use std::{
    io::{Read, Write, pipe},
    process::{Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{assert_fails, befit, command, printed, stderr};

/// So many bytes a pipe holds.
const PIPE: usize = 1 << 16;

#[test]
fn calibrate_prints_figures_and_writes_the_file_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.machine");
    let name = file.to_str().unwrap();
    // A pipe that is full: the figures cannot be printed before the test reads.
    let (mut reader, mut writer) = pipe().unwrap();
    writer.write_all(&[b' '; PIPE]).unwrap();
    let mut calibrate = command(&["calibrate", "--quick", "--format", "json", "-o", name]);
    let child = calibrate.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    drop(calibrate);
    let start = Instant::now();
    while !file.exists() {
        // What measures may have to be built before.
        assert!(start.elapsed() < Duration::from_secs(600), "the file waits for a reader");
        thread::sleep(Duration::from_millis(5));
    }
    let mut stdout = Vec::new();
    reader.read_to_end(&mut stdout).unwrap();
    let output = Output { stdout, ..child.wait_with_output().unwrap() };
    let found: serde_json::Value = serde_json::from_str(&printed(&output)).unwrap();
    assert_eq!(found["schema"], "befit.calibrate/1");
    assert!(found["mhz"]["value"].as_f64().unwrap() > 100.0, "{found}");
    let of = |index: usize| found["mhz"]["halves"][index].as_f64().unwrap();
    let is_noisy = of(0).max(of(1)) > 1.1 * of(0).min(of(1));
    let noisy = found["noisy"].as_array().unwrap();
    assert_eq!(noisy.iter().any(|name| name == "clock, one core"), is_noisy, "{found}");
    assert!(stderr(&output).contains(name));
    let text = std::fs::read_to_string(&file).unwrap();
    let machine = text.lines().find(|l| !l.starts_with('#')).unwrap();
    assert!(machine.starts_with("(mhz="), "{text}");
    assert_eq!(found["machine"], machine);
    let machine = befit_machine::Machine::find(machine).unwrap();
    let caches = || machine.clusters().iter().filter_map(|cluster| cluster.cache);
    let last = caches().map(|cache| cache.level).max();
    let last = caches().filter(|cache| Some(cache.level) == last).collect::<Vec<_>>();
    // The link of a single one is memory's bandwidth.
    let several = last.len() > 1;
    assert!(last.iter().all(|cache| cache.link.is_some() == several));
}

#[test]
fn calibrate_says_before_it_measures_that_a_file_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing/host.machine");
    assert_fails(&befit(&["calibrate", "-o", file.to_str().unwrap()]), 1, &["cannot write"]);
}
