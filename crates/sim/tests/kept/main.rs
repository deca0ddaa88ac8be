//! Small programs give what they gave before, on many machines under every scheduler.
//!
//! `results.txt` has a row for each simulation: the figures that a reader knows, and a number made
//! of everything else that was found. A change that is meant to alter results alters rows. Look at
//! them, and write them anew with
//!
//! ```sh
//! BEFIT_WRITE_KEPT=1 cargo test -p befit-sim --test kept
//! ```
//!
//! The rows tell that something has changed, not what is right: for that are the tests of each
//! part.

mod programs;

use std::{fmt::Debug, fs, iter, num::NonZeroUsize, path::PathBuf, thread};

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{
    Counting, Options,
    SchedulerKind::{self, Cab, Cats, Homes, Hws, Pws, Sb, SbD, Ws},
};
use befit_sim::{
    Bounds, Costs, Outcome, Settings, run, run_booked, run_traced, run_within, sampled,
};
use xxhash_rust::xxh3::xxh3_64;

/// The machines: a name, and what [`Machine::find`] knows them by; how many times smaller their
/// caches are, so that small programs do not fit; and which programs run there.
const MACHINES: [(&str, &str, u32, &[&str]); 10] = [
    (
        "one-core",
        "core:1 l2:1(size=32KiB) l1:1(size=4KiB) pu:1",
        1,
        &["tree", "chains", "spawned", "uneven"],
    ),
    (
        "xeon-7560",
        "xeon-7560",
        64,
        &["tree", "rounds", "unsized", "timed", "spawned", "chains", "uneven", "fine"],
    ),
    ("xeon-7560-ht", "xeon-7560-ht", 64, &["unsized", "spawned"]),
    ("opteron-8380", "opteron-8380", 64, &["rounds", "chains"]),
    ("gems-sparc", "gems-sparc", 16, &["tree", "unsized"]),
    ("epyc-7742", "epyc-7742", 64, &["rounds", "timed"]),
    ("epyc-9654-2p", "epyc-9654-2p", 64, &["unsized", "spawned"]),
    ("ryzen-hx-370", "ryzen-hx-370", 64, &["tree", "rounds", "timed", "chains", "uneven"]),
    // More caches than two words of a directory have bits, and none that is shared.
    (
        "no-shared-cache",
        "(tlb=8 walk=60) core:80 l2:1(size=8KiB) l1:1(size=1KiB) pu:1",
        1,
        &["rounds", "timed"],
    ),
    // Each wire has a width, pages lie in frames at random, and each price is told.
    (
        "wires",
        "(latency=300 remote=400 far=600 bandwidth=4 controllers=2 parallelism=6 streams=10 \
         window=100 fabric=8 package-link=3 placement=firsttouch tlb=16 walk=40 frames=random \
         inlined=3 pending=15 region=60 published=90 stolen=400 spawn=80 job=30 call=40 lock=25 \
         steal=80 far-steal=200 poll=150 wake=2000 fault=900) \
         pack:2 l3:2(size=32KiB latency=40 link=4 link-write=2) core:3 \
         l2:1(size=8KiB latency=12) l1:1(size=2KiB latency=4) pu:1",
        1,
        &["tree", "rounds", "unsized", "timed", "spawned", "chains", "uneven", "fine"],
    ),
];

fn machine(text: &str, shrunk: u32) -> Machine {
    let machine = Machine::find(text).expect("a machine");
    machine.shrunk(shrunk).expect("not too small for its caches")
}

/// What the columns of a row are.
const HEAD: &str = "# machine, program, scheduler; cycles; misses of each level; steals; a number \
                    made of all";

/// A row of an outcome, and of what was `found` beside it.
fn row(what: &str, outcome: &Outcome, found: &impl Debug) -> String {
    let misses: Vec<_> = outcome.levels.iter().map(|level| level.misses.0.to_string()).collect();
    let (time, misses, steals) = (outcome.time.0, misses.join(" "), outcome.steals);
    let all = xxh3_64(format!("{:?}", (outcome, found)).as_bytes());
    format!("{what:40} {time:7}; {misses}; {steals}; {all:016x}")
}

/// The rows of one program on one machine.
fn rows(at: &str, name: &str, program: &Program, machine: &Machine) -> Vec<String> {
    let mut rows = Vec::new();
    let costs = Costs::of(&machine.prices);
    for kind in SchedulerKind::ALL {
        let settings = Settings { costs, ..Settings::new(kind, 1) };
        let outcome = run(program, machine, &settings, &|_| {}).expect("it ends");
        rows.push(row(&format!("{at} {name} {kind}"), &outcome, &()));
    }
    // What is asked for otherwise, under a scheduler of each family.
    let options = Options {
        sigma: 0.8,
        mu: 0.5,
        counting: Counting::Full,
        nearness: 3,
        branching: 3,
        boundary: 2,
    };
    let bounds = Bounds::of(program, machine);
    let groups = sampled::groups(machine, program.meta().line_size, 2);
    let sample = groups.map(|groups| program.samples(groups, &[1], NonZeroUsize::MIN).remove(0));
    for kind in [Ws, Pws, Sb, SbD, Cats, Cab, Hws, Homes] {
        let what = |how: &str| format!("{at} {name} {kind} {how}");
        let mut settings = Settings { options, prepared: true, ..Settings::new(kind, 2) };
        let traced = run_traced(program, machine, &settings, bounds, &|_| {});
        let (outcome, trace) = traced.expect("it ends");
        rows.push(row(&what("options, traced"), &outcome, &trace));
        settings.prepared = false;
        let (outcome, mut ledger) =
            run_booked(program, machine, &settings, &|_| {}).expect("it ends");
        let mut handed: Vec<_> = std::mem::take(&mut ledger.handed).into_iter().collect();
        handed.sort_unstable();
        rows.push(row(&what("options, booked"), &outcome, &(ledger, handed)));
        settings.accounted = false;
        if let Some(sample) = &sample {
            let sampled = run_within(program, Some(sample), machine, &settings, bounds, &|_| {});
            rows.push(row(&what("one line in 2"), &sampled.expect("it ends"), &()));
        }
    }
    rows
}

#[test]
fn results_are_what_they_were() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kept/results.txt");
    let programs = &programs::all();
    // A thread for each machine.
    let found: Vec<String> = thread::scope(|scope| {
        let on_machine = |(at, text, shrunk, chosen): (_, _, _, &[&str])| {
            let machine = machine(text, shrunk);
            let chosen = programs.iter().filter(|(name, _)| chosen.contains(name));
            chosen.flat_map(|(name, program)| rows(at, name, program, &machine)).collect::<Vec<_>>()
        };
        let jobs = MACHINES.map(|machine| scope.spawn(move || on_machine(machine)));
        let rows = jobs.into_iter().flat_map(|job| job.join().expect("no simulation panics"));
        iter::once(HEAD.to_owned()).chain(rows).collect()
    });
    if std::env::var_os("BEFIT_WRITE_KEPT").is_some() {
        fs::write(&path, found.join("\n") + "\n").expect("the checkout can be written to");
        return;
    }
    let kept = fs::read_to_string(&path).expect("the file is there");
    let kept: Vec<&str> = kept.lines().collect();
    let changed = found.iter().zip(&kept).filter(|(found, kept)| found != *kept);
    let shown: Vec<_> = changed.map(|(found, kept)| format!("- {kept}\n+ {found}")).collect();
    assert!(
        shown.is_empty() && found.len() == kept.len(),
        "{} of {} rows have changed ({} were kept); the first:\n{}",
        shown.len(),
        found.len(),
        kept.len(),
        shown[..shown.len().min(10)].join("\n"),
    );
}
