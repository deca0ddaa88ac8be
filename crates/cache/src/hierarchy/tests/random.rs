//! Random machines, random traces: the fast model does what the obvious one does.

use befit_machine::{Bytes, Inclusion, Machine, MachineSpec, Part, Replacement, WorkerId};
use proptest::prelude::*;

use super::{reference::Reference, with};
use crate::{
    hierarchy::{Hierarchy, LineAccess, Model},
    lanes::Host,
};

/// A cache of `sets` × `ways` lines.
fn cache((level, sets, ways, replacement, inclusion): Shape, parts: Vec<Part>) -> Part {
    with(Part::cache(level, Bytes(64 * sets * u64::from(ways)), ways, parts), |cache| {
        (cache.replacement, cache.inclusion) = (replacement, inclusion);
    })
}

type Shape = (u8, u64, u32, Replacement, Inclusion);

/// `scale` makes outer caches larger: the machine must not have a cache larger than the one above
/// it.
fn shape(level: u8, scale: u64) -> impl Strategy<Value = Shape> {
    let replacement = prop_oneof![
        3 => Just(Replacement::Lru),
        1 => Just(Replacement::TreePlru),
        1 => Just(Replacement::Random),
    ];
    let inclusion = prop_oneof![
        2 => Just(Inclusion::Inclusive),
        2 => Just(Inclusion::NonInclusive),
        2 => Just(Inclusion::Exclusive),
    ];
    (1u64..=3, 0u32..=3, replacement, inclusion).prop_map(
        move |(sets, power, replacement, inclusion)| {
            let odd = replacement != Replacement::TreePlru;
            // 1, 2, 4 ways, or (where the policy can) 3, always `scale` times the lines of the
            // level below at the most.
            let ways = if power == 3 && odd { 3 } else { 1 << power.min(2) };
            (level, (sets * scale).div_ceil(u64::from(ways)), ways, replacement, inclusion)
        },
    )
}

/// A worker below caches of its own from `level` down to 1; some are missing.
fn core(level: u8) -> BoxedStrategy<Part> {
    if level == 0 {
        return Just(Part::worker(None)).boxed();
    }
    let more = prop::bool::weighted(if level == 1 { 0.25 } else { 0.0 });
    let more = more.prop_map(|more| 1 + usize::from(more));
    let own = (shape(level, 4 * u64::from(level)), more).prop_flat_map(move |(shape, n)| {
        prop::collection::vec(core(level - 1), n).prop_map(move |parts| cache(shape, parts))
    });
    prop_oneof![6 => own, 1 => core(level - 1)].boxed()
}

/// Caches down to `level` that several cores share, or one core.
fn shared(level: u8) -> BoxedStrategy<Part> {
    if level == 1 {
        return core(1);
    }
    let common =
        (shape(level, 12 * u64::from(level)), prop::collection::vec(shared(level - 1), 1..=3))
            .prop_map(|(shape, parts)| cache(shape, parts));
    prop_oneof![2 => common, 1 => core(level)].boxed()
}

fn machine() -> impl Strategy<Value = Machine> {
    let parts = (1u8..=4).prop_flat_map(|level| prop::collection::vec(shared(level), 1..=3));
    let parts = (parts, prop::collection::vec(shared(2), 0..=2));
    parts.prop_filter_map("a cache is larger than the one above it", |(parts, others)| {
        MachineSpec::new("random", packages([parts, others])).build().ok()
    })
}

/// Some of the parts in one package, some in another.
fn packages(parts: [Vec<Part>; 2]) -> Vec<Part> {
    let parts = parts.into_iter().filter(|parts| !parts.is_empty());
    parts.map(Part::Package).collect()
}

/// The machines that have a model of their own, now and then with workers that share an L1.
fn inclusive() -> impl Strategy<Value = Machine> {
    let shapes = ((0u32..=2, 1u32..=3), (0u32..=3, 1u32..=4), (1u64..=30, 1u32..=8));
    (shapes, (1usize..=3, 0usize..=2), 2usize..=4, prop::bool::weighted(0.2)).prop_filter_map(
        "a cache is larger than the one above it",
        |(((s1, w1), (s2, w2), (s3, w3)), (near, far), cores, threads)| {
            let lru = |level, sets, ways, inclusion, parts| {
                cache((level, sets, ways, Replacement::Lru, inclusion), parts)
            };
            let workers = vec![Part::worker(None); 1 + usize::from(threads)];
            let l1 = lru(1, 1 << s1.min(s2), w1, Inclusion::NonInclusive, workers);
            let core = lru(2, 1 << s2, w2, Inclusion::NonInclusive, vec![l1]);
            let socket = lru(3, s3, w3, Inclusion::Inclusive, vec![core; cores]);
            let sockets = [near, far].map(|count| vec![socket.clone(); count]);
            MachineSpec::new("inclusive", packages(sockets)).build().ok()
        },
    )
}

/// Machines of so many caches that a line has several words of the directory: a core or two, many
/// times, below a shared cache or memory.
fn wide() -> impl Strategy<Value = Machine> {
    let below_shared = (shape(3, 60), core(2), 5usize..=60)
        .prop_map(|(shape, core, count)| cache(shape, vec![core; count]));
    let alone = core(2);
    let part = prop_oneof![3 => below_shared, 1 => alone];
    let sockets = prop::collection::vec((part, 1usize..=4), 1..=3);
    sockets.prop_filter_map("a cache is larger than the one above it", |sockets| {
        let parts = |(part, count)| vec![part; count];
        let sockets = sockets.into_iter().map(parts).map(Part::Package).collect();
        MachineSpec::new("wide", sockets).build().ok()
    })
}

fn trace(lines: u32) -> impl Strategy<Value = Vec<(u32, u32, bool)>> {
    prop::collection::vec((any::<u32>(), 0..lines, prop::bool::weighted(0.3)), 1..400)
}

/// All that was counted: per cluster, and of memory.
fn figures(caches: &Hierarchy, machine: &Machine) -> (Vec<[u64; 5]>, [u64; 4]) {
    let counts = |i| {
        let c = caches.counts(befit_machine::ClusterId(i));
        [c.accesses, c.misses, c.coherence_misses, c.writebacks, c.invalidations].map(|l| l.0)
    };
    let (reads, writes) = (caches.memory_reads(), caches.memory_writes());
    let memory = [reads, writes, caches.remote_hits(), caches.sibling_hits()];
    ((0..machine.clusters().len() as u32).map(counts).collect(), memory.map(|l| l.0))
}

fn same(
    machine: &Machine,
    lines: u32,
    trace: &[(u32, u32, bool)],
    seed: u64,
) -> Result<(), TestCaseError> {
    let mut slow = Reference::new(machine, seed);
    let mut fast =
        Hierarchy::new(machine, lines, seed).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let mut on_all_lanes: Vec<Hierarchy> =
        Host::all().into_iter().map(|host| Hierarchy { host, ..fast.clone() }).collect();
    // And as if the machine were too large for a directory of rows.
    on_all_lanes.push(Hierarchy::with_words(machine, lines, seed, 0).unwrap());
    let workers = machine.workers().len() as u32;
    let accesses: Vec<LineAccess> = trace
        .iter()
        .map(|&(w, line, write)| LineAccess { worker: WorkerId(w % workers), line, write })
        .collect();
    let mut in_batches = on_all_lanes.clone();
    let mut outcomes = Vec::new();
    // To look at all of the model takes longer than an access: after each in one case of four, the
    // same when it is tried again.
    let checks_each = trace.len().is_multiple_of(4);
    for (i, access) in accesses.iter().enumerate() {
        let LineAccess { worker, line, write } = *access;
        let expected = slow.access(worker, line, write);
        let outcome = fast.access(worker, line, write);
        prop_assert_eq!(outcome, expected, "access {}: {:?}", i, access);
        for same in &mut on_all_lanes {
            let outcome = same.access(worker, line, write);
            prop_assert_eq!(outcome, expected, "{:?}, access {}", same.host, i);
        }
        if checks_each {
            fast.check();
        }
        outcomes.push(expected);
    }
    fast.check();
    for same in &mut in_batches {
        let mut outcomes = accesses.iter().zip(&outcomes);
        // In two runs, so that the second finds the lines that the first has left.
        let (first, second) = accesses.split_at(accesses.len() / 3);
        let mut each = |access: &LineAccess, outcome| {
            assert_eq!(Some((access, &outcome)), outcomes.next(), "in batches");
        };
        same.run(first, &mut each);
        same.run(second, each);
        prop_assert_eq!(outcomes.next(), None);
        same.check();
        let (ours, expected) = (figures(same, machine), figures(&fast, machine));
        prop_assert_eq!(ours, expected, "{:?}, in batches", same.host);
    }
    let (counts, memory) = figures(&fast, machine);
    for (i, (counts, cluster)) in counts.into_iter().zip(machine.clusters()).enumerate() {
        prop_assert_eq!(counts, slow.counts(i), "cluster {}: {:?}", i, cluster);
    }
    prop_assert_eq!(memory, slow.memory);
    Ok(())
}

/// A few workers that stand far apart, so that their caches are in different words, and a line is
/// met again.
fn far_apart(trace: Vec<(u32, u32, bool)>) -> Vec<(u32, u32, bool)> {
    trace.into_iter().map(|(worker, line, write)| (worker % 8 * 29, line, write)).collect()
}

/// More than proptest's default: the machines vary a lot. `PROPTEST_CASES` asks for still more.
fn cases() -> u32 {
    ProptestConfig::default().cases.max(1000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    #[test]
    fn the_fast_model_does_what_the_obvious_model_does(
        machine in machine(),
        trace in trace(48),
        seed: u64,
    ) {
        same(&machine, 48, &trace, seed)?;
    }

    #[test]
    fn the_inclusive_model_does_what_the_obvious_model_does(
        machine in inclusive(),
        trace in trace(96),
    ) {
        prop_assert!(matches!(Hierarchy::new(&machine, 96, 0).unwrap().model, Model::Inclusive(_)));
        same(&machine, 96, &trace, 0)?;
    }
}

/// Fewer: many caches take long to look through.
fn few_cases() -> u32 {
    ProptestConfig::default().cases / 8
}

proptest! {
    #![proptest_config(ProptestConfig { cases: few_cases(), ..ProptestConfig::default() })]
    #[test]
    fn the_fast_model_of_many_caches_does_what_the_obvious_model_does(
        machine in wide(),
        trace in trace(24),
        seed: u64,
    ) {
        same(&machine, 24, &far_apart(trace), seed)?;
    }
}
