//! Commands that build nothing but a kernel: `befit sim` on a recording that the test makes, with
//! formats, files and repeatability; `befit footprint`; and what people find without reading
//! anything else.

use std::{io::Read, process::Stdio};

use serde_json::Value;

use crate::{MACHINE, assert_ends, befit, command, printed, recording, report, words};

#[test]
fn json_has_one_result_per_machine_and_scheduler() {
    let (_folder, path) = recording();
    let machines = ["--machine", MACHINE, "--machine", "xeon-7560"];
    let line = format!("sim {path} --sched sb,ws --format json");
    let output = befit(&words(&line, &machines));
    let (report, results) = report(&output);
    assert_eq!(report["schema"], "befit.compare/2");
    let schedulers: Vec<_> = results.iter().map(|r| r["scheduler"].as_str().unwrap()).collect();
    assert_eq!(schedulers, ["sb", "ws", "sb", "ws"]);
    assert_eq!(results[3]["machine"], "xeon-7560");
    for result in results {
        assert_eq!(result["program"], "walks");
        assert_eq!(result["command"], "walks --n 8");
        assert!((3..=20).contains(&result["seeds"].as_u64().unwrap()));
        let number = |of: &str, key: &str| result[of][key].as_f64().unwrap();
        let ratio = |key| number("ratio", key);
        assert!(ratio("low") <= ratio("estimate") && ratio("estimate") <= ratio("high"));
        assert_eq!(result["tasks"], 17);
        assert!(number("time_cycles", "min") <= number("time_cycles", "max"));
        // Each of its 8 × 256 lines is touched at least once.
        assert!(result["misses"]["L3"]["min"].as_u64().unwrap() >= 8 * 256);
    }
}

#[test]
fn results_say_which_sizes_the_schedulers_saw() {
    let (_folder, path) = recording();
    for (sizes, heading, sized) in [
        ("declared", None, 17),
        ("none", Some("no sizes"), 0),
        ("measured", Some("sizes: each task's footprint"), 16),
        // Its tasks do not tell where they were forked.
        ("learned", Some("sizes learned from this recording, which 100.0% of the tasks have"), 17),
    ] {
        let line = format!("sim {path} --sched sb --seeds 1 --sizes {sizes}");
        let (_, results) = report(&befit(&words(&line, &["--format", "json"])));
        let name = if sizes == "learned" { "learned-here" } else { sizes };
        assert_eq!(
            (&results[0]["sizes"], &results[0]["sized_tasks"]),
            (&name.into(), &sized.into())
        );
        let text = printed(&befit(&words(&line, &[])));
        let told = text.lines().find(|line| line.contains("sizes"));
        assert!(
            heading.map_or(told.is_none(), |h| told.is_some_and(|t| t.starts_with(h))),
            "{text}"
        );
    }
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let (_folder, path) = recording();
    let run = || {
        printed(&befit(&["sim", &path, "--machine", MACHINE, "--seeds", "4", "--format", "json"]))
    };
    assert_eq!(run(), run());
}

#[test]
fn a_file_gets_what_stdout_would_get() {
    let (folder, path) = recording();
    let file = folder.path().join("results.csv");
    let arguments = ["sim", &path, "--machine", MACHINE, "--seeds", "1", "--format", "csv"];
    let stdout = printed(&befit(&arguments));
    assert_eq!(
        printed(&befit(&[&arguments[..], &["--output", file.to_str().unwrap()]].concat())),
        ""
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), stdout);
    assert_eq!(stdout.lines().count(), 6);
}

#[test]
fn the_table_names_the_program_the_machine_and_every_scheduler() {
    let (_folder, path) = recording();
    let text = printed(&befit(&["sim", &path, "--seeds", "1"]));
    for word in ["walks --n 8", "xeon-7560", " ws ", " pws ", " sb ", " cats-s ", " auto "] {
        assert!(text.contains(word), "'{word}' is not in:\n{text}");
    }
    assert!(!text.contains('\x1b'));
}

#[test]
fn a_trace_of_each_scheduler_stands_beside_the_results() {
    let (folder, path) = recording();
    let file = folder.path().join("trace.json");
    let line = format!("sim {path} --seeds 1 --sched ws,sb --no-tries --trace");
    let beside = befit(&words(&line, &[file.to_str().unwrap()]));
    assert!(printed(&beside).contains(" sb "));
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let slices = || events.iter().filter(|event| event["ph"] == "X");
    let processes: std::collections::BTreeSet<_> =
        slices().map(|slice| slice["pid"].as_u64().unwrap()).collect();
    // Four caches under each scheduler; sb needs one of them.
    assert!(processes.iter().any(|pid| *pid < 4) && processes.iter().any(|pid| *pid >= 4));
    assert!(slices().all(|slice| slice["dur"].as_f64().unwrap() >= 0.0));
}

#[test]
fn results_are_there_though_a_file_beside_them_cannot_be_written() {
    let (_folder, path) = recording();
    let line = ["sim", &path, "--machine", MACHINE, "--sched", "ws", "--trace", "/dev/full"];
    let output = befit(&line);
    assert!(String::from_utf8_lossy(&output.stdout).contains(" ws "));
    assert_ends(&output, 1, &["cannot write /dev/full: No space left on device"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (_folder, path) = recording();
    let mut child = command(&["sim", &path, "--seeds", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn something_that_is_missing_counts_though_nobody_reads_of_it() {
    for full in [true, false] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let gone = Stdio::from(writer);
        let full = if full { std::fs::File::create("/dev/full").unwrap().into() } else { gone };
        let mut doctor = command(&["doctor"]);
        let output = doctor.env("PATH", "").env_remove("CARGO").stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.lines().last().unwrap().ends_with("of these are missing"), "{said}");
    }
}

#[test]
fn the_tasks_of_the_arrays_have_the_overlap_that_the_kernel_gives_them() {
    let text =
        printed(&befit(&["footprint", "array-abc", "--n", "1", "--tasks", "6", "--format", "csv"]));
    let cells = |previous: &str, current: &str| -> Vec<i64> {
        let row =
            text.lines().find(|line| line.starts_with(&format!("{previous},{current},"))).unwrap();
        row.split(',').map(|cell| cell.parse().unwrap()).collect()
    };
    // A after A, B after A, C after A; a line more or less for what else a task touches: its sum.
    for (pair, hits) in [(("0", "0"), 256), (("0", "1"), 128), (("0", "2"), 0)] {
        let row = cells(pair.0, pair.1);
        assert!((row[2] - hits).abs() <= 3, "{pair:?}: {row:?}");
        assert_eq!(row[2..8].iter().sum::<i64>(), 256, "{pair:?}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for command in ["compare", "run", "record", "sim", "footprint", "topo", "cache"] {
        let text = printed(&befit(&[command, "--help"]));
        assert!(text.contains("Examples:"), "{command}: {text}");
        assert!(text.contains(&format!("befit {command}")), "{command}: {text}");
    }
    assert!(printed(&befit(&["--help"])).contains("Examples:"));
}

#[test]
fn the_list_has_kernels_their_settings_machines_and_schedulers() {
    let text = printed(&befit(&["list"]));
    for word in ["rrm", "rgm-leaf", "node=20|24", "xeon-7560", "host", "ws", "sb-d"] {
        assert!(text.contains(word), "'{word}' is not in:\n{text}");
    }
}

#[test]
fn a_machine_is_drawn() {
    let text = printed(&befit(&["topo", "--machine", "xeon-7560"]));
    assert!(text.contains("24 MiB"), "{text}");
}
