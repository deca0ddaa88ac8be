//! `befit run`: kernels and commands on real threads, formats, failures, Ctrl-C.

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{MACHINE, assert_ends, befit, command, printed, report, stderr, words};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_kernel_runs_under_every_scheduler_and_all_time_is_accounted_for() {
    let line = "run rrm --n 200000 --threads 2 --repeats 1 --format json --machine";
    // Two threads share an L3: what befits it goes to the scheduler whatever the other does.
    let (report, results) = report(&befit(&words(line, &[MACHINE])));
    assert_eq!(report["schema"], "befit.run/2");
    let schedulers: Vec<_> = results.iter().map(|r| r["scheduler"].as_str().unwrap()).collect();
    assert_eq!(schedulers, ["ws", "pws", "sb", "cats-s", "auto"]);
    assert_eq!(number(&results[0]["ratio"]), 1.0);
    for result in &results {
        assert_eq!((&result["program"], &result["measured"]), (&"rrm".into(), &"pools".into()));
        assert_eq!(result["command"], "rrm --n 200000");
        let pools = number(&result["pools_seconds"]["median"]);
        assert_eq!(number(&result["seconds"]["median"]), pools);
        assert!(pools > 0.0 && pools < number(&result["process_seconds"]["median"]));
        let workers = result["workers"].as_array().unwrap();
        assert_eq!((workers.len(), &result["threads"]), (2, &2.into()));
        for worker in workers {
            let parts = worker["seconds"].as_object().unwrap();
            let total: f64 = parts.values().map(|part| number(&part["median"])).sum();
            assert!((total - pools).abs() <= 0.01 * pools, "{total} of {pools}: {worker}");
        }
        assert!(number(&result["total"]["forks"]["median"]) > 0.0);
        assert!(number(&result["total"]["executed"]["median"]) > 0.0);
        let anchors = result["anchors"].as_array().unwrap();
        let space_bounded = result["scheduler"] == "sb";
        assert_eq!(anchors.iter().any(|at| at["level"] == "L3"), space_bounded, "{result}");
    }
    // Either the kernel counts, or it is said why not.
    let counted = results.iter().all(|r| r["counters"]["page_faults"]["median"].as_u64() > Some(0));
    assert!(counted || !report["not_counted"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn a_trace_shows_what_each_worker_did_under_its_cache() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let two = "pack:2 l3:1(size=1MiB) core:1 pu:1";
    let line = "run rrm --n 200000 --threads 2 --sched ws,sb --repeats 1 --machine";
    let text = printed(&befit(&words(line, &[two, "--trace", file.to_str().unwrap()])));
    assert!(text.contains("one run of each"), "{text}");
    let trace: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let names = of("M").into_iter().filter(|event| event["name"] == "process_name");
    let names: Vec<_> = names.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    for (name, expected) in names.iter().zip(["ws", "ws", "sb", "sb"]) {
        assert!(name.starts_with(expected) && name.contains(": L3 "), "{names:?}");
    }
    assert_eq!(names.len(), 4);
    let active = |pid| of("X").iter().any(|e| e["name"] == "active" && e["pid"] == pid);
    // On a busy machine one of the two may do it all.
    assert!([0..2, 2..4].into_iter().all(|mut caches| caches.any(active)), "{events:?}");
    assert!(!of("C").is_empty());
}

#[test]
fn auto_says_what_it_takes_the_machine_for() {
    let line = "run rrm --n 50000 --sched auto --repeats 1 --machine";
    let two = "pack:2 l3:1(size=1MiB) core:1 pu:1";
    for (machine, switch, said) in [
        (two, "", "auto is homes: its 2 threads are under 2 last-level caches; "),
        (
            two,
            "off",
            "auto is ws: its 2 threads are under 2 last-level caches, but BEFIT_AUTO turns",
        ),
        (MACHINE, "", "auto is ws: its 2 threads are under one last-level cache"),
    ] {
        let more = [machine, "--threads", "2"];
        let output = command(&words(line, &more)).env("BEFIT_AUTO", switch).output().unwrap();
        let text = printed(&output);
        assert!(text.contains(said), "'{said}' is not in:\n{text}");
    }
}

#[test]
fn the_table_and_the_csv_name_every_scheduler_and_worker() {
    let line = "run rgm --n 100000 --threads 2 --sched sb,ws --repeats 2";
    let text = printed(&befit(&words(line, &[])));
    let title = ["rgm --n 100000 on host (2 threads", "medians of 2 runs"];
    for word in title.into_iter().chain([" sb ", " ws ", "idle", "published", "vs"]) {
        assert!(text.contains(word), "'{word}' is not in:\n{text}");
    }
    assert!(!text.contains('\x1b'));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.csv");
    let output = ["--format", "csv", "--output", file.to_str().unwrap()];
    assert_eq!(printed(&befit(&words(line, &output))), "");
    let csv = fs::read_to_string(&file).unwrap();
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.contains("workers.1.seconds.idle.median"), "{csv}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_machine_may_be_a_file_that_lstopo_wrote() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/src/xml/fixtures/hybrid.xml");
    let line = "run rrm --n 50000 --sched sb --repeats 1 --threads 2 --format json --machine";
    let (report, results) = report(&befit(&words(line, &[file.to_str().unwrap()])));
    assert!(results[0]["machine"].as_str().unwrap().contains("hybrid"), "{report}");
}

/// Where cargo puts the kernels' binary, built if need be.
fn kernels() -> String {
    printed(&befit(&words("run rrm --n 1 --sched ws --repeats 1", &[])));
    let target = Path::new(env!("CARGO_BIN_EXE_befit")).ancestors().nth(2).unwrap();
    let binary = target.join("release/befit-kernels");
    assert!(binary.is_file(), "{}", binary.display());
    binary.to_str().unwrap().to_owned()
}

#[test]
fn a_command_is_run_as_it_is_and_timed_as_a_process() {
    let binary = kernels();
    let line = format!("--repeats 1 -- {binary} rrm --n 50000");
    let run = |more: &[&str]| {
        let first = "run --sched sb-d --threads 1 --format json";
        befit(&words(&format!("{first} {line}"), more))
    };
    let output = run(&[]);
    let (document, results) = report(&output);
    let result = &results[0];
    assert_eq!(
        (&result["measured"], &result["seconds"]),
        (&"process".into(), &result["process_seconds"])
    );
    assert_eq!((&result["scheduler"], &result["threads"]), (&"sb-d".into(), &1.into()));
    assert!(document["notes"].as_array().unwrap().is_empty());
    // What a program decides itself is not overruled, but said.
    let (document, _) = report(&run(&["--scheduler", "ws"]));
    assert!(document["notes"][0].as_str().unwrap().contains("under ws"), "{document}");
    // What it writes is shown on request only.
    assert!(!stderr(&output).contains("the result is right"));
    let shown = befit(&words(&format!("run --sched ws --show-output {line}"), &[]));
    assert!(stderr(&shown).contains("the result is right"), "{}", stderr(&shown));
}

#[test]
fn results_are_printed_though_the_trace_can_no_longer_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let script = format!("rm -rf {}; exec {} rrm --n 50000", gone.display(), kernels());
    let trace = gone.join("trace.json");
    let line = ["--trace", trace.to_str().unwrap(), "--", "sh", "-c", &script];
    let output = befit(&words("run --sched ws --repeats 1 --format json", &line));
    assert_ends(&output, 1, &["cannot write", "trace.json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["results"].as_array().unwrap().len(), 1, "{document}");
}

#[test]
fn a_command_that_fails_is_an_error_after_its_own_words() {
    let output = befit(&["run", "--", "sh", "-c", "echo oh no >&2; exit 3"]);
    let stderr = stderr(&output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{stderr}");
    let lines: Vec<_> = stderr.lines().collect();
    let last = "befit: sh -c echo oh no >&2; exit 3 failed under ws (exit status: 3)";
    assert_eq!(lines[lines.len() - 2..], ["oh no", last], "{stderr}");
    let killed = befit(&["run", "--sched", "sb", "--", "sh", "-c", "kill -9 $$"]);
    assert_ends(&killed, 1, &["failed under sb (signal: 9"]);
}

#[test]
fn a_command_without_befit_is_an_error() {
    assert_ends(&befit(&["run", "--", "true"]), 1, &["true left no statistics"]);
}

#[test]
fn a_bad_variable_in_the_environment_is_named() {
    let output =
        command(&["run", "rrm", "--n", "1000"]).env("BEFIT_PIN", "sometimes").output().unwrap();
    let said = "BEFIT_PIN: unknown choice 'sometimes'; known: auto, always, never";
    assert_ends(&output, 1, &[said]);
}

#[test]
fn a_command_that_is_not_there_is_a_usage_error() {
    let unknown = befit(&["run", "--", "/nowhere/program", "x"]);
    assert_ends(&unknown, 2, &["cannot start /nowhere/program x: "]);
}

#[test]
fn a_program_ends_with_a_befit_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let script = format!("echo $$ > {}; exec sleep 60", started.display());
    let mut child = command(&["run", "--", "sh", "-c", &script]).spawn().unwrap();
    let program = wait_for(&started);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for_end(&program);
}

/// The number that a program writes to `file` once it runs.
fn wait_for(file: &Path) -> String {
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the process `number` has ended.
fn wait_for_end(number: &str) {
    let lives = || {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim();
        !(state.is_empty() || state.starts_with('Z'))
    };
    let start = Instant::now();
    while lives() {
        assert!(start.elapsed() < Duration::from_secs(20), "{number} is still there");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Interrupts `child`, and waits for its exit code.
fn interrupt(child: &mut Child) -> Option<i32> {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    child.wait().unwrap().code()
}

#[test]
fn regression_an_interrupt_ends_a_build_at_once() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [cargo, started] = ["cargo", "started"].map(|name| folder.path().join(name));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = metadata ] && exec {} \"$@\"\nsleep 60 & echo $! > {}; wait\n",
        env!("CARGO"),
        started.display()
    );
    fs::write(&cargo, script).unwrap();
    fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).unwrap();
    let mut befit = command(&["run", "rrm"]);
    let mut child = befit.env("CARGO", &cargo).stderr(Stdio::piped()).spawn().unwrap();
    let sleeper = wait_for(&started);
    assert_eq!(interrupt(&mut child), Some(130));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.ends_with("befit: interrupted\n"), "{said}");
    wait_for_end(&sleeper);
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let script = format!("sleep 60 & echo $! > {}; wait", started.display());
    let results = folder.path().join("results");
    let mut befit =
        command(&["run", "--output", results.to_str().unwrap(), "--", "sh", "-c", &script]);
    let mut child = befit.env("TMPDIR", &temporary).stderr(Stdio::piped()).spawn().unwrap();
    let sleeper = wait_for(&started);
    assert_eq!(interrupt(&mut child), Some(130));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    wait_for_end(&sleeper);
}
