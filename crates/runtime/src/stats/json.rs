//! The little JSON that is written: no library, as `befit` must stay light for those who depend on
//! it.

use std::fmt::{Display, Write};

use befit_machine::{ClusterId, Level, Machine, WorkerId};
use befit_sched::{Options, Tiers};

use super::{Statistics, WorkerStatistics, WorkerTime};

/// What a pool's entry tells besides its statistics.
pub(super) struct About<'a> {
    pub(super) scheduler: &'static str,
    pub(super) machine: &'a Machine,
    pub(super) options: Options,
    pub(super) threads: usize,
    pub(super) pinned: bool,
    pub(super) ended: bool,
    pub(super) tiers: Option<Tiers>,
}

/// An object, written field by field.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    /// A field whose value is JSON.
    fn field(mut self, name: &str, value: impl Display) -> Self {
        let comma = if self.0.len() > 1 { ", " } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{comma}{}: {value}", Text(name));
        self
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A string.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// The whole document: a line for each pool and each of its workers.
pub(super) fn document<'a>(
    program: &str,
    process: u32,
    left_out: usize,
    pools: impl Iterator<Item = &'a str>,
) -> String {
    let pools = pools.collect::<Vec<_>>().join(",\n");
    let pools = if pools.is_empty() { "[]".to_owned() } else { format!("[\n{pools}\n]") };
    let document =
        Object::new().field("schema", Text("befit.stats/1")).field("program", Text(program));
    let document =
        document.field("process", process).field("pools_left_out", left_out).field("pools", pools);
    document.end() + "\n"
}

/// One pool.
pub(super) fn pool(about: &About<'_>, statistics: &Statistics) -> String {
    let machine = about.machine;
    let workers = statistics.workers.iter().enumerate();
    let workers: Vec<String> =
        workers.map(|(thread, counted)| worker(machine, thread, counted)).collect();
    let anchors = statistics.anchors.iter().enumerate().filter(|(_, tasks)| **tasks > 0);
    let anchors: Vec<String> =
        anchors.map(|(id, tasks)| cluster(machine, ClusterId(id as u32), *tasks)).collect();
    let span = statistics.span.map_or("null".to_owned(), |span| seconds(span).to_string());
    Object::new()
        .field("scheduler", Text(about.scheduler))
        .field("machine", Text(&machine.name))
        .field("threads", about.threads)
        .field("pinned", about.pinned)
        .field("sigma", about.options.sigma)
        .field("mu", about.options.mu)
        .field("counting", Text(about.options.counting.name()))
        .field("ended", about.ended)
        .field("tiers", about.tiers.as_ref().map_or("null".to_owned(), tiers))
        .field("span_seconds", span)
        .field("workers", format!("[\n{}\n]", workers.join(",\n")))
        .field("anchors", format!("[{}]", anchors.join(", ")))
        .end()
}

/// What a policy with two tiers has found out.
fn tiers(tiers: &Tiers) -> String {
    let subtrees = tiers.subtrees.iter().map(|subtree| {
        let path: Vec<String> = subtree.path.iter().map(u32::to_string).collect();
        Object::new()
            .field("path", Text(&path.join(".")))
            .field("bytes", subtree.soid.0)
            .field("socket", subtree.socket.map_or("null".to_owned(), |socket| socket.to_string()))
            .end()
    });
    Object::new()
        .field(
            "source",
            tiers.source.map_or("null".to_owned(), |source| Text(&source.to_string()).to_string()),
        )
        .field("plain", tiers.plain.map_or("null".to_owned(), |why| Text(why).to_string()))
        .field("partitions", tiers.partitions)
        .field("root_bytes", tiers.root.0)
        .field("inter", tiers.inter)
        .field("subtrees_run", tiers.ran)
        .field("subtrees_moved", tiers.moved)
        .field("subtrees", format!("[{}]", subtrees.collect::<Vec<_>>().join(", ")))
        .end()
}

fn worker(machine: &Machine, thread: usize, counted: &WorkerStatistics) -> String {
    let id = WorkerId((thread % machine.workers().len()) as u32);
    let mut steals = Object::new();
    for level in machine.path(id).filter_map(|c| machine.cluster(c).cache).map(|cache| cache.level)
    {
        steals = steals.field(&level.to_string(), counted.steals_at(Some(level)));
    }
    let steals = steals.field("memory", counted.steals_at(None)).end();
    Object::new()
        .field("seconds", counted.time.map_or("null".to_owned(), time))
        .field("forks", counted.forks)
        .field("published", counted.published)
        .field("spawned", counted.spawned)
        .field("executed", counted.executed)
        .field("anchored", counted.anchored)
        .field("steals", steals)
        .field("failed_steals", counted.failed_steals)
        .field("sleeps", counted.sleeps)
        .end()
}

fn time(time: WorkerTime) -> String {
    Object::new()
        .field("active", seconds(time.active))
        .field("add", seconds(time.add))
        .field("get", seconds(time.get))
        .field("done", seconds(time.done))
        .field("idle", seconds(time.idle))
        .end()
}

fn cluster(machine: &Machine, id: ClusterId, tasks: u64) -> String {
    let cluster = machine.cluster(id);
    let level: Option<Level> = cluster.cache.map(|cache| cache.level);
    let level = level.map_or("memory".to_owned(), |level| level.to_string());
    let Some(last) = cluster.workers.clone().last() else { return Object::new().end() };
    Object::new()
        .field("cluster", id.0)
        .field("level", Text(&level))
        .field("first_worker", cluster.workers.start)
        .field("last_worker", last)
        .field("tasks", tasks)
        .end()
}

/// Seconds, to the nanosecond.
fn seconds(time: std::time::Duration) -> impl Display {
    format!("{}.{:09}", time.as_secs(), time.subsec_nanos())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(Text("a\"b\\c\nd").to_string(), r#""a\"b\\c\u000ad""#);
    }

    #[test]
    fn a_document_without_pools_is_one_line() {
        let text = document("sum", 7, 0, [].into_iter());
        let expected = r#"{"schema": "befit.stats/1", "program": "sum", "process": 7, "pools_left_out": 0, "pools": []}"#;
        assert_eq!(text, format!("{expected}\n"));
    }

    #[test]
    fn a_pool_shows_what_was_counted() {
        let machine: Machine = "pack:2 l3:1(size=8MiB) core:1 pu:1".parse().unwrap();
        let mut one = WorkerStatistics { forks: 5, ..WorkerStatistics::default() };
        one.steals[0] = 3;
        one.time = Some(WorkerTime {
            active: std::time::Duration::from_millis(1_250),
            ..WorkerTime::default()
        });
        let statistics = Statistics { workers: vec![one], anchors: vec![0, 4, 0], span: None };
        let about = About {
            scheduler: "sb",
            machine: &machine,
            options: Options::default(),
            threads: 1,
            pinned: false,
            ended: true,
            tiers: None,
        };
        let text = pool(&about, &statistics);
        for part in [
            r#""scheduler": "sb""#,
            r#""span_seconds": null"#,
            r#"{"active": 1.250000000, "add": 0.000000000"#,
            r#""forks": 5"#,
            r#""steals": {"L3": 0, "memory": 3}"#,
            r#"[{"cluster": 1, "level": "L3", "first_worker": 0, "last_worker": 0, "tasks": 4}]"#,
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
