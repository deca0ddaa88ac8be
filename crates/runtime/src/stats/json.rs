//! Statistics as JSON, written without a library, as `befit` must stay light for those who depend
//! on it.

use std::{fmt::Display, time::Duration};

use befit_machine::{ClusterId, Level, Machine, WorkerId};
use befit_sched::{Options, Tiers, last_level_caches};

use super::{
    Statistics, WorkerStatistics, WorkerTime,
    trace::{Trace, WorkerTrace},
};

/// A pool's entry besides its statistics.
pub(super) struct About<'a> {
    pub(super) scheduler: &'static str,
    /// What `auto` is on this machine; else the same.
    pub(super) policy: &'static str,
    pub(super) machine: &'a Machine,
    pub(super) options: Options,
    pub(super) threads: usize,
    pub(super) pinned: bool,
    pub(super) ended: bool,
    pub(super) tiers: Option<Tiers>,
}

/// An object; the values are JSON.
fn object<N: Display, V: Display>(fields: impl IntoIterator<Item = (N, V)>) -> String {
    let fields = fields.into_iter().map(|(name, value)| format!("\"{name}\": {value}"));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

/// A list; the entries are JSON.
fn list(entries: impl Iterator<Item = String>) -> String {
    format!("[{}]", entries.collect::<Vec<_>>().join(", "))
}

/// A string.
fn text(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c < ' ' => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

fn or_null(value: Option<impl Display>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

/// Seconds, to the nanosecond.
fn seconds(time: Duration) -> String {
    format!("{}.{:09}", time.as_secs(), time.subsec_nanos())
}

/// The whole document: a line for each pool and each of its workers.
pub(super) fn document(program: &str, process: u32, left_out: usize, pools: &[String]) -> String {
    let pools = pools.join(",\n");
    let pools = if pools.is_empty() { "[]".to_owned() } else { format!("[\n{pools}\n]") };
    let document = object([
        ("schema", text("befit.stats/2")),
        ("program", text(program)),
        ("process", process.to_string()),
        ("pools_left_out", left_out.to_string()),
        ("pools", pools),
    ]);
    document + "\n"
}

/// One pool.
pub(super) fn pool(about: &About<'_>, statistics: &Statistics, traced: Option<&Trace>) -> String {
    let About { machine, options, .. } = about;
    let workers = statistics.workers.iter().enumerate();
    let workers: Vec<String> =
        workers.map(|(thread, counted)| worker(machine, thread, counted)).collect();
    let anchors = statistics.anchors.iter().enumerate().filter(|(_, tasks)| **tasks > 0);
    object([
        ("scheduler", text(about.scheduler)),
        ("policy", text(about.policy)),
        ("last_level_caches", last_level_caches(machine, about.threads).to_string()),
        ("machine", text(&machine.name)),
        ("threads", about.threads.to_string()),
        ("pinned", about.pinned.to_string()),
        ("sigma", options.sigma.to_string()),
        ("mu", options.mu.to_string()),
        ("counting", text(options.counting.name())),
        ("ended", about.ended.to_string()),
        ("tiers", or_null(about.tiers.as_ref().map(tiers))),
        ("span_seconds", or_null(statistics.span.map(seconds))),
        ("workers", format!("[\n{}\n]", workers.join(",\n"))),
        ("anchors", list(anchors.map(|(id, tasks)| cluster(machine, id, *tasks)))),
        ("trace", or_null(traced.map(|traced| trace(machine, traced)))),
    ])
}

/// What a pool did: a line for each worker.
fn trace(machine: &Machine, trace: &Trace) -> String {
    let worker = |worker: &WorkerTrace| {
        let level = machine.cluster(worker.cache).cache.map(|cache| cache.level);
        let phase = |(at, phase): &(u64, _)| {
            format!("[{at}, {}]", text(WorkerTime::NAMES[*phase as usize]))
        };
        let steal = |(at, victim): &(u64, WorkerId)| format!("[{at}, {}]", victim.0);
        object([
            ("cluster", worker.cache.0.to_string()),
            ("level", text(&Level::name_of(level))),
            ("left_out", worker.left_out.to_string()),
            ("phases", list(worker.phases.iter().map(phase))),
            ("steals", list(worker.steals.iter().map(steal))),
        ])
    };
    let workers: Vec<String> = trace.workers.iter().map(worker).collect();
    object([
        ("begin", trace.begin.to_string()),
        ("end", trace.end.to_string()),
        ("workers", format!("[\n{}\n]", workers.join(",\n"))),
    ])
}

/// The tiers that a policy has found out.
fn tiers(tiers: &Tiers) -> String {
    let subtrees = tiers.subtrees.iter().map(|subtree| {
        let path: Vec<String> = subtree.path.iter().map(u32::to_string).collect();
        object([
            ("path", text(&path.join("."))),
            ("bytes", subtree.soid.0.to_string()),
            ("socket", or_null(subtree.socket)),
        ])
    });
    object([
        ("source", or_null(tiers.source.map(|source| text(&source.to_string())))),
        ("plain", or_null(tiers.plain.map(text))),
        ("partitions", tiers.partitions.to_string()),
        ("root_bytes", tiers.root.0.to_string()),
        ("inter", tiers.inter.to_string()),
        ("subtrees_run", tiers.ran.to_string()),
        ("subtrees_moved", tiers.moved.to_string()),
        ("subtrees", list(subtrees)),
    ])
}

fn worker(machine: &Machine, thread: usize, counted: &WorkerStatistics) -> String {
    let id = WorkerId((thread % machine.workers().len()) as u32);
    let caches = machine.path(id).filter_map(|cluster| machine.cluster(cluster).cache);
    let levels = caches.map(|cache| Some(cache.level)).chain([None]);
    let steals = levels.map(|level| (Level::name_of(level), counted.steals_at(level)));
    let time = |time: WorkerTime| object(WorkerTime::NAMES.iter().zip(time.map(seconds).parts()));
    let time = [("seconds", or_null(counted.time.map(time))), ("steals", object(steals))];
    let mut counted = *counted;
    let counts = counted.named().map(|(name, count)| (name, count.to_string()));
    object(time.into_iter().chain(counts))
}

fn cluster(machine: &Machine, id: usize, tasks: u64) -> String {
    let cluster = machine.cluster(ClusterId(id as u32));
    object([
        ("cluster", id.to_string()),
        ("level", text(&Level::name_of(cluster.cache.map(|cache| cache.level)))),
        ("first_worker", cluster.workers.start.to_string()),
        ("last_worker", (cluster.workers.end - 1).to_string()),
        ("tasks", tasks.to_string()),
    ])
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::stats::Phase;

    #[test]
    fn names_are_quoted() {
        assert_eq!(text("a\"b\\c\nd"), r#""a\"b\\c\u000ad""#);
    }

    #[test]
    fn a_document_without_pools_is_one_line() {
        let expected = concat!(
            r#"{"schema": "befit.stats/2", "program": "sum", "process": 7, "#,
            r#""pools_left_out": 0, "pools": []}"#,
            "\n"
        );
        assert_eq!(document("sum", 7, 0, &[]), expected);
    }

    #[test]
    fn a_pool_shows_what_was_counted() {
        let machine: Machine = "pack:2 l3:1(size=8MiB) core:1 pu:1".parse().unwrap();
        let active = Duration::from_millis(1_250);
        let time = Some(WorkerTime { active, ..WorkerTime::default() });
        let mut one = WorkerStatistics { forks: 5, time, ..WorkerStatistics::default() };
        one.steals[0] = 3;
        let statistics = Statistics { workers: vec![one], anchors: vec![0, 4, 0], span: None };
        let about = About {
            scheduler: "auto",
            policy: "ws",
            machine: &machine,
            options: Options::default(),
            threads: 1,
            pinned: false,
            ended: true,
            tiers: None,
        };
        let phases = vec![(7, Phase::Get), (9, Phase::Active)];
        let steals = vec![(8, WorkerId(1))];
        let worker = WorkerTrace { cache: ClusterId(1), left_out: 2, phases, steals };
        let trace = Trace { begin: 9, end: 30, workers: vec![worker] };
        assert!(pool(&about, &statistics, None).ends_with(r#", "trace": null}"#));
        let text = pool(&about, &statistics, Some(&trace));
        for part in [
            r#""scheduler": "auto", "policy": "ws", "last_level_caches": 1"#,
            r#""span_seconds": null"#,
            r#"{"active": 1.250000000, "add": 0.000000000"#,
            r#""forks": 5"#,
            r#""trace": {"begin": 9, "end": 30, "workers": ["#,
            r#"{"cluster": 1, "level": "L3", "left_out": 2, "#,
            r#""phases": [[7, "get"], [9, "active"]], "steals": [[8, 1]]}"#,
            r#""steals": {"L3": 0, "memory": 3}"#,
            r#"[{"cluster": 1, "level": "L3", "first_worker": 0, "last_worker": 0, "tasks": 4}]"#,
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
