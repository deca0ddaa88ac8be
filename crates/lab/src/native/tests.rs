//! Tests of native runs, on shell scripts that stand for programs.

use std::{
    iter,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use befit_sched::Options;

use super::*;
use crate::{LabError, Silent};

/// The statistics of a process with two pools, with its scheduler's name in them; `$1` is the first
/// worker's number of forks.
const PROGRAM: &str = r#"#!/bin/sh
echo "$BEFIT_SCHEDULER" >> "$0.order"
file=$(echo "$BEFIT_STATS" | sed "s/%p/$$/")
worker='"published": 2, "spawned": 0, "sized": 1, "executed": 3, "anchored": 1, "failed_steals": 4, "sleeps": 5'
pool='"scheduler": "'$BEFIT_SCHEDULER'", "machine": "m", "threads": 2, "pinned": false,
  "sigma": 0.5, "mu": 0.2, "ended": true, "span_seconds": 1.0'
one='{"seconds": {"active": 0.5, "add": 0.1, "get": 0.1, "done": 0.1, "idle": 0.2},
  "forks": '$1', "steals": {"L3": 1, "memory": 2}, '$worker'}'
two='{"seconds": {"active": 1, "add": 0, "get": 0, "done": 0, "idle": 0},
  "forks": 1, "steals": {"L3": 0, "memory": 7}, '$worker'}'
anchors='{"cluster": 1, "level": "L3", "first_worker": 0, "last_worker": 1, "tasks": 6}'
echo '{"schema": "befit.stats/2", "program": "p", "process": 1, "pools_left_out": 0, "pools": [
{'$pool', "workers": ['$one', '$two'], "anchors": ['$anchors']},
{'$pool', "workers": ['$one'], "anchors": []}]}' > "$file"
"#;

struct Script(tempfile::TempDir);

impl Script {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("program"), text).unwrap();
        Self(folder)
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("program")
    }

    /// The shell reads it: a file that was just written cannot always be executed, as what another
    /// test starts meanwhile may have it open for a moment.
    fn source(&self, arguments: &[&str]) -> NativeSource {
        let path = self.path().into_os_string();
        let arguments = iter::once(path).chain(arguments.iter().map(OsString::from)).collect();
        NativeSource::Command { program: "/bin/sh".into(), arguments }
    }
}

pub(super) fn plan(schedulers: &[&str], repeats: u32) -> NativePlan {
    NativePlan {
        schedulers: schedulers.iter().map(|name| name.parse().unwrap()).collect(),
        repeats: repeats.try_into().unwrap(),
        threads: None,
        machine: None,
        pin: None,
        options: OptionChoices::default(),
        show_output: false,
        trace: false,
    }
}

/// A program that is never started.
pub(super) fn program() -> NativeProgram {
    let (program, name) = ("program".into(), "program".to_owned());
    let (arguments, measured) = (Vec::new(), Measured::Pools);
    NativeProgram { program, arguments, name, measured, stdin: None }
}

/// The value that `command` gives a variable of the environment.
pub(super) fn variable(command: &Command, name: &str) -> Option<String> {
    let (_, value) = command.get_envs().find(|(known, _)| *known == name)?;
    Some(value?.to_str().unwrap().to_owned())
}

fn run(
    schedulers: &[&str],
    repeats: u32,
    source: &NativeSource,
) -> Result<NativeResults, LabError> {
    plan(schedulers, repeats).run(source, &Interrupt::default(), &Silent)
}

#[test]
fn schedulers_take_turns_and_pools_are_put_together() {
    let script = Script::new(PROGRAM);
    let results = run(&["ws", "sb"], 3, &script.source(&["10"])).unwrap();
    let order = std::fs::read_to_string(script.path().with_extension("order")).unwrap();
    assert_eq!(order.lines().collect::<Vec<_>>(), ["ws", "sb", "ws", "sb", "ws", "sb"]);

    assert_eq!((results.summaries.len(), results.notes.len()), (2, 0));
    let sb = &results.summaries[1];
    assert_eq!((sb.scheduler.name(), sb.threads, sb.repeats, sb.pools.median), ("sb", 2, 3, 2));
    assert_eq!(sb.pools_time.median.0, Duration::from_secs(2));
    assert_eq!((sb.measured, sb.time), (Measured::Process, sb.process));
    assert_eq!(
        (sb.workers[0].forks.median, sb.workers[1].forks.median, sb.total.forks.median),
        (20, 1, 21)
    );
    assert_eq!(
        (sb.total.time.active.median.0, sb.total.time.add.median.0),
        (Duration::from_secs(2), Duration::from_millis(200))
    );
    let steals: Vec<_> =
        sb.total.steals.iter().map(|(level, steals)| (level.as_str(), steals.max)).collect();
    assert_eq!(steals, [("L3", 2), ("memory", 11)]);
    assert_eq!((sb.clusters.len(), sb.clusters[0].tasks.median), (1, 6));
    // Either they are counted or it is said why not.
    assert!(sb.counts.page_faults.is_some() || !results.not_counted.is_empty());
    assert!(sb.counts.page_faults.is_none_or(|faults| faults.min > 0));
}

#[test]
fn a_traced_run_comes_after_the_others_and_is_in_no_figure() {
    let trace = r#"{"begin": 5, "end": 90, "workers": [{"cluster": 1, "level": "L3",
        "left_out": 7, "phases": [[5, "active"], [80, "idle"]], "steals": [[6, 1]]}]}"#;
    let traced = r#"
if [ "$BEFIT_TIMES" = trace ]; then
    sed -i "s/\"anchors\": \[\]/\"anchors\": [], \"trace\": $(cat "$0.trace")/" "$file"
    sed -i 's/"forks": 10/"forks": 99/' "$file"
fi
"#;
    let script = Script::new(&format!("{PROGRAM}{traced}"));
    let one_line = trace.split_whitespace().collect::<Vec<_>>().join(" ");
    std::fs::write(script.path().with_extension("trace"), one_line).unwrap();
    let plan = NativePlan { trace: true, ..plan(&["ws", "sb"], 2) };
    let results = plan.run(&script.source(&["10"]), &Interrupt::default(), &Silent).unwrap();
    let order = std::fs::read_to_string(script.path().with_extension("order")).unwrap();
    assert_eq!(order.lines().collect::<Vec<_>>(), ["ws", "sb", "ws", "sb", "ws", "sb"]);
    assert_eq!(results.summaries[0].total.forks.max, results.summaries[0].total.forks.min);
    assert_eq!(results.traces.len(), 2);
    let traced = &results.traces[1];
    assert_eq!((traced.scheduler.name(), &*traced.machine, traced.pools.len()), ("sb", "m", 1));
    let worker = &traced.pools[0].workers[0];
    assert_eq!(worker.phases, [(5, "active".to_owned()), (80, "idle".to_owned())]);
    assert_eq!((&worker.steals[..], worker.left_out), (&[(6, 1)][..], 7));
    let note = "the trace of sb lacks the last 7 changes of phase and steals";
    assert!(results.notes.iter().any(|said| said.starts_with(note)), "{:?}", results.notes);
}

#[test]
fn settings_reach_the_program() {
    let script =
        Script::new(&format!("{PROGRAM}env | grep ^BEFIT_ | grep -v STATS | sort > \"$0.env\"\n"));
    let plan = NativePlan {
        threads: Some(3.try_into().unwrap()),
        machine: Some("pu:4".to_owned()),
        pin: Some("never".to_owned()),
        options: "sigma=0.25,mu=1,counting=full,nearness=3,branching=5,boundary=7"
            .parse::<Options>()
            .unwrap()
            .into(),
        ..plan(&["pws"], 1)
    };
    plan.run(&script.source(&["1"]), &Interrupt::default(), &Silent).unwrap();
    let said = std::fs::read_to_string(script.path().with_extension("env")).unwrap();
    let expected = [
        "BEFIT_BOUNDARY=7",
        "BEFIT_BRANCHING=5",
        "BEFIT_COUNTING=full",
        "BEFIT_MACHINE=pu:4",
        "BEFIT_MU=1",
        "BEFIT_NEARNESS=3",
        "BEFIT_PIN=never",
        "BEFIT_SCHEDULER=pws",
        "BEFIT_SIGMA=0.25",
        "BEFIT_THREADS=3",
        "BEFIT_TIMES=phases",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn pools_measure_phases_whatever_the_users_environment_says() {
    let command = plan(&["ws"], 1).command(&program(), SchedulerKind::Ws);
    assert_eq!(variable(&command, "BEFIT_TIMES"), Some("phases".to_owned()));
}

#[test]
fn a_pool_that_chose_its_scheduler_itself_is_named() {
    let script = Script::new(&PROGRAM.replace("'$BEFIT_SCHEDULER'", "pws"));
    let results = run(&["ws"], 1, &script.source(&["1"])).unwrap();
    assert!(results.notes[0].contains("of its own choice under pws"), "{:?}", results.notes);
}

/// Keeps what failed programs said.
#[derive(Default)]
struct Said(Mutex<String>);

impl Progress for Said {
    fn said(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

#[test]
fn a_program_that_fails_is_an_error_and_its_words_are_shown() {
    let script = Script::new("#!/bin/sh\necho out\necho oh no >&2\nexit 3\n");
    let said = Said::default();
    let error =
        plan(&["ws"], 1).run(&script.source(&[]), &Interrupt::default(), &said).unwrap_err();
    assert!(matches!(error, LabError::CommandFailed { .. }) && !error.is_usage());
    assert!(error.to_string().ends_with("program failed under ws (exit status: 3)"), "{error}");
    assert_eq!(*said.0.lock().unwrap(), "oh no\n");
}

#[test]
fn a_program_without_befit_is_an_error() {
    let script = Script::new("#!/bin/sh\n");
    let error = run(&["ws"], 1, &script.source(&[])).unwrap_err();
    assert!(matches!(error, LabError::NoStatistics { .. }), "{error}");
    let other = Script::new(
        r#"#!/bin/sh
echo '{"schema": "befit.stats/9", "pools_left_out": 0, "pools": []}' \
  > $(echo $BEFIT_STATS | sed s/%p/1/)
"#,
    );
    let error = run(&["ws"], 1, &other.source(&[])).unwrap_err();
    assert!(error.to_string().contains("befit.stats/9"), "{error}");
}

#[test]
fn a_program_that_is_not_there_is_a_usage_error() {
    let source =
        NativeSource::Command { program: "/nowhere/program".into(), arguments: vec!["x".into()] };
    let error = run(&["ws"], 1, &source).unwrap_err();
    assert!(
        error.is_usage() && error.to_string().starts_with("cannot start /nowhere/program x: "),
        "{error}"
    );
}

#[test]
fn an_interrupt_ends_the_program_with_all_that_it_started() {
    // Both ignore the polite signal.
    let script =
        Script::new("#!/bin/sh\ntrap '' TERM\nsleep 60 &\necho $! > \"$0.pid\"\nwait\nsleep 60\n");
    let (interrupt, start) = (Interrupt::default(), Instant::now());
    let raise = interrupt.clone();
    let pid = script.path().with_extension("pid");
    let there = pid.clone();
    let handler = thread::spawn(move || {
        while std::fs::read_to_string(&there).unwrap_or_default().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        raise.raise();
    });
    let error = plan(&["ws"], 5).run(&script.source(&[]), &interrupt, &Silent).unwrap_err();
    handler.join().unwrap();
    assert!(matches!(error, LabError::Interrupted), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
    let grandchild = std::fs::read_to_string(&pid).unwrap();
    let gone = || match std::fs::read_to_string(format!("/proc/{}/stat", grandchild.trim())) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    };
    while !gone() {
        assert!(start.elapsed() < Duration::from_secs(20), "{grandchild} is still there");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn statistics_of_absurd_figures_are_summed_without_overflow() {
    let most = u64::MAX;
    let seconds = r#"{"active": 1e19, "add": 1e19, "get": 0, "done": 0, "idle": 0}"#;
    let worker = format!(
        r#"{{"seconds": {seconds}, "forks": {most}, "published": {most}, "spawned": 0, "sized": 1,
            "executed": 3, "anchored": 1, "steals": {{"L3": {most}}}, "failed_steals": 4,
            "sleeps": 5}}"#
    );
    let pool = format!(
        r#"{{"scheduler": "sb", "machine": "m", "threads": 2, "pinned": false, "sigma": 0.5,
            "mu": 0.2, "span_seconds": 1e19, "workers": [{worker}, {worker}], "anchors": [
            {{"cluster": 1, "level": "L3", "first_worker": 0, "last_worker": 1, "tasks": {most}}},
            {{"cluster": 1, "level": "L3", "first_worker": 0, "last_worker": 1, "tasks": {most}}}
            ]}}"#
    );
    let text =
        format!(r#"{{"schema": "befit.stats/2", "pools_left_out": 0, "pools": [{pool}, {pool}]}}"#);
    let summary = summary_of(&text).unwrap().unwrap();
    assert_eq!(summary.total.forks.median, most);
    assert_eq!(summary.clusters[0].tasks.median, most);
}
