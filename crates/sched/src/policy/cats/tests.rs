//! The policy without an engine: a test plays it, on a tree that is computed again and again.

use std::{collections::HashMap, time::Duration};

use befit_machine::{Bytes, WorkerId};

use super::*;
use crate::{
    CountSource, Options, Policy,
    SchedulerKind::{self, Cats, CatsS},
    policy::tests::two_sockets,
};

/// Counts what the test says that strands have done.
struct Counting {
    quiet: QuietEnv,
    counts: [WorkerCounts; 4],
    worker: usize,
    /// Where the counts come from, if anything counts.
    source: Option<CountSource>,
    told: Vec<&'static str>,
}

impl Env for Counting {
    fn random(&mut self, bound: u32) -> u32 {
        self.quiet.random(bound)
    }
    fn acquire(&mut self, _: LockId) {}
    fn release(&mut self, _: LockId) {}
    fn steal(&mut self, _: WorkerId, _: bool) {}
    fn counts(&mut self) -> Option<WorkerCounts> {
        self.source.map(|_| std::mem::take(&mut self.counts[self.worker]))
    }
    fn count_source(&self) -> Option<CountSource> {
        self.source
    }
    fn tell(&mut self, what: &'static str) {
        self.told.push(what);
    }
}

/// What the leaves of the tree do. Where they run no instructions, nothing counts.
#[derive(Clone, Copy)]
struct Leaf {
    misses: u64,
    instructions: u64,
    declares: Option<u64>,
}

/// Forty thousand lines in eight leaves: 2.4 MiB, more than the machine's caches.
const LARGE: Leaf = Leaf { misses: 5000, instructions: 50_000, declares: None };
const SMALL: Leaf = Leaf { misses: 500, instructions: 5000, declares: None };
const DECLARED: Leaf = Leaf { misses: 0, instructions: 0, declares: Some(300 << 10) };

/// A task of the tree.
#[derive(Clone)]
struct Live {
    notes: TaskInfo,
    parent: Option<usize>,
    pending: u32,
    path: Vec<u32>,
}

/// Runs a binary tree of three levels below the root, round after round.
struct Engine {
    policy: Box<dyn Scheduler<usize>>,
    env: Counting,
    tasks: Vec<Live>,
    running: Vec<(u32, Ready<usize>)>,
    random: fastrand::Rng,
    leaf: Leaf,
    /// So many workers are there.
    workers: u32,
    /// Those of the second socket do so many times fewer steps.
    slower: u32,
}

impl Engine {
    fn new(kind: SchedulerKind, leaf: Leaf) -> Self {
        Self::on(&two_sockets(), kind, leaf)
    }

    fn on(machine: &Machine, kind: SchedulerKind, leaf: Leaf) -> Self {
        let env = Counting {
            quiet: QuietEnv(fastrand::Rng::with_seed(1)),
            counts: Default::default(),
            worker: 0,
            source: (leaf.instructions > 0).then_some(CountSource::Simulated),
            told: Vec::new(),
        };
        let (tasks, running, random) = (Vec::new(), Vec::new(), fastrand::Rng::with_seed(5));
        let policy = kind.build(machine, Options::default());
        Self { policy, env, tasks, running, random, leaf, workers: 4, slower: 1 }
    }

    /// The size that a task so many levels above the leaves declares.
    fn declared(&self, levels: usize) -> Option<Bytes> {
        self.leaf.declares.map(|bytes| Bytes(bytes << levels))
    }

    fn start(&mut self, w: u32, notes: TaskInfo, parent: Option<usize>, path: Vec<u32>) {
        self.tasks.push(Live { notes, parent, pending: 0, path });
        let ready = Ready { job: self.tasks.len() - 1, task: notes, stage: Stage::Start };
        self.policy.add(WorkerId(w), ready, &mut self.env);
    }

    fn fork(&mut self, w: u32, job: usize) {
        let Live { notes, path, .. } = self.tasks[job].clone();
        self.tasks[job].pending = 2;
        for index in 0..2 {
            let child = notes.child(index, self.declared(2 - path.len()), None);
            self.start(w, child, Some(job), [&path[..], &[index]].concat());
        }
    }

    /// Returns, per round, which worker ran each leaf.
    fn rounds(&mut self, count: usize) -> Vec<HashMap<Vec<u32>, u32>> {
        let mut ran = vec![HashMap::new(); count];
        let mut round = 0;
        self.tasks.clear();
        self.start(0, TaskInfo::root(self.declared(3), None), None, Vec::new());
        for step in 0.. {
            assert!(step < 100_000, "stuck in round {round}");
            // A strand takes time: it ends some steps after it has begun.
            let w = self.random.u32(..self.workers);
            if w >= 2 && self.slower > 1 && self.random.u32(..self.slower) > 0 {
                continue;
            }
            self.env.worker = w as usize;
            if let Some(at) = self.running.iter().position(|(v, _)| *v == w) {
                let (_, ready) = self.running.swap_remove(at);
                self.policy.done(WorkerId(w), &ready.strand(), &mut self.env);
                let is_leaf = self.tasks[ready.job].path.len() == 3;
                if !is_leaf && ready.stage == Stage::Start {
                    self.fork(w, ready.job);
                } else if ready.job == 0 {
                    round += 1;
                    if round == count {
                        return ran;
                    }
                    self.fork(w, 0);
                } else {
                    self.end(w, ready.job);
                }
            } else if let Some(ready) = self.policy.get(WorkerId(w), Ask::ANYTHING, &mut self.env) {
                self.tasks[ready.job].notes = ready.task;
                let path = &self.tasks[ready.job].path;
                if path.len() == 3 {
                    ran[round].insert(path.clone(), w);
                    let counts = &mut self.env.counts[w as usize];
                    counts.private_misses = counts.private_misses.saturating_add(self.leaf.misses);
                    counts.llc_misses = counts.llc_misses.saturating_add(self.leaf.misses);
                    counts.instructions += self.leaf.instructions;
                }
                self.running.push((w, ready));
            }
        }
        ran
    }

    fn end(&mut self, w: u32, job: usize) {
        let Live { notes, parent, .. } = self.tasks[job].clone();
        self.policy.task_ended(WorkerId(w), &notes, &mut self.env);
        let Some(parent) = parent else { return };
        self.tasks[parent].pending -= 1;
        if self.tasks[parent].pending == 0 {
            let ready =
                Ready { job: parent, task: self.tasks[parent].notes, stage: Stage::Continuation };
            self.policy.add(WorkerId(w), ready, &mut self.env);
        }
    }

    fn tiers(&self) -> Tiers {
        self.policy.tiers().expect("two tiers")
    }
}

#[test]
fn the_second_round_is_cut_where_measured_or_declared_sizes_pass_the_shared_cache() {
    // The large root has 2.4 MiB and its children 1.2: more than 1 MiB. Theirs have 0.6. The small
    // one fits one cache: as the root of all it is spread even so.
    let quarters: &[&[u32]] = &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]];
    for (leaf, bytes, source, cut, inter) in [
        (LARGE, 5000 * 64, CountSource::Simulated, quarters, 3),
        (DECLARED, 300 << 10, CountSource::Declared, quarters, 3),
        (SMALL, 500 * 64, CountSource::Simulated, &[&[0], &[1]], 1),
    ] {
        let mut engine = Engine::new(Cats, leaf);
        engine.rounds(3);
        let tiers = engine.tiers();
        let paths: Vec<_> = tiers.subtrees.iter().map(|subtree| &subtree.path[..]).collect();
        assert_eq!(paths, cut);
        assert_eq!((tiers.partitions, tiers.inter, tiers.source), (1, inter, Some(source)));
        assert_eq!(tiers.root, Bytes(8 * bytes));
        let each = Bytes(8 * bytes / cut.len() as u64);
        assert!(tiers.subtrees.iter().all(|subtree| subtree.soid == each));
    }
}

#[test]
fn a_subtree_stays_together_on_one_socket() {
    for kind in [Cats, CatsS] {
        let mut engine = Engine::new(kind, LARGE);
        for ran in &engine.rounds(6)[1..] {
            for top in [[0, 0], [0, 1], [1, 0], [1, 1]] {
                let socket = |last: u32| ran[&[&top[..], &[last]].concat()] / 2;
                assert_eq!(socket(0), socket(1), "{top:?} under {kind}");
            }
        }
    }
}

#[test]
fn sticky_subtrees_run_where_they_ran_before() {
    let mut engine = Engine::new(CatsS, LARGE);
    let ran = engine.rounds(10);
    let tiers = engine.tiers();
    assert!(tiers.ran > 0 && !tiers.subtrees.is_empty(), "it is never cut");
    assert!(tiers.moved * 4 <= tiers.ran, "{} of {} moved", tiers.moved, tiers.ran);
    assert_eq!(ran.len(), 10);
    assert!(tiers.subtrees.iter().all(|subtree| subtree.socket.is_some()));
}

#[test]
fn a_subtree_that_waits_on_a_busy_socket_is_stolen_and_then_belongs_to_the_thief_s() {
    let mut engine = Engine::new(CatsS, LARGE);
    engine.slower = 50;
    let ran = engine.rounds(10);
    // Four were dealt to each. While its first runs there, the others are taken from the second.
    for ran in &ran[2..] {
        let first = ran.values().filter(|w| **w < 2).count();
        assert!(first > 4, "{ran:?}");
    }
}

/// It was never cut, although the others came a little later.
#[test]
fn regression_threads_of_the_second_socket_are_slow_to_start() {
    let mut engine = Engine::new(CatsS, LARGE);
    engine.workers = 2;
    engine.rounds(3);
    let tiers = engine.tiers();
    assert_eq!((tiers.partitions, tiers.plain), (0, Some("threads on one socket only")));
    engine.workers = 4;
    // In the first call from now on they are seen, in the next they are reckoned with.
    (0..2).for_each(|_| drop(engine.rounds(3)));
    assert_eq!((engine.tiers().partitions, engine.tiers().plain), (1, None));
}

#[test]
fn declared_sizes_beyond_any_memory_are_summed_without_overflow() {
    for kind in [Cats, CatsS] {
        let mut engine = Engine::new(kind, Leaf { declares: Some(u64::MAX), ..DECLARED });
        engine.rounds(3);
        assert_eq!(engine.tiers().root, Bytes(u64::MAX));
    }
}

#[test]
fn counts_near_the_largest_number_are_summed_without_overflow() {
    for kind in [Cats, CatsS] {
        let mut engine = Engine::new(kind, Leaf { misses: u64::MAX, ..LARGE });
        engine.rounds(6);
        // Taken literally, there is no subtree that fits a cache.
        let root = if kind == Cats { Bytes(0) } else { Bytes(u64::MAX) };
        assert_eq!(engine.tiers().root, root);
    }
    // The eight leaves' bytes would be none at all, if sums began anew at 0: it has grown.
    let mut engine = Engine::new(CatsS, LARGE);
    engine.rounds(3);
    engine.leaf.misses = 1 << 57;
    engine.rounds(12);
    assert!(engine.tiers().partitions >= 2, "{:?}", engine.tiers());
}

#[test]
fn without_counts_and_sizes_it_steals_plainly_and_says_so() {
    let mut engine = Engine::new(CatsS, Leaf { declares: None, ..DECLARED });
    engine.rounds(3);
    assert_eq!(engine.tiers().plain, Some("neither counters nor sizes"));
    assert!(!engine.env.told.is_empty());
}

#[test]
fn what_computes_more_than_it_moves_is_stolen_plainly() {
    let leaf = Leaf { misses: 10, instructions: 1_000_000, declares: None };
    let mut engine = Engine::new(CatsS, leaf);
    // The program is judged when as many strands as 4 per worker were seen, before anything is done
    // again.
    (0..2).for_each(|_| drop(engine.rounds(1)));
    let tiers = engine.tiers();
    assert_eq!(tiers.ran, 0, "{tiers:?}");
}

#[test]
fn a_computation_that_grows_is_measured_again() {
    let mut engine = Engine::new(Cats, LARGE);
    engine.rounds(3);
    let before = engine.tiers().root;
    engine.leaf.misses *= 3;
    engine.rounds(12);
    assert!(engine.tiers().partitions >= 2, "{:?}", engine.tiers());
    assert_eq!(engine.tiers().root, Bytes(3 * before.0), "all of it");
}

#[test]
fn a_machine_with_one_shared_cache_has_no_tiers() {
    let one = "l3:1(size=1048576) core:4 pu:1".parse().expect("a valid topology");
    let mut engine = Engine::on(&one, CatsS, LARGE);
    engine.rounds(3);
    assert!(engine.tiers().plain.is_some());
}

#[test]
fn the_table_is_bounded_and_what_does_not_fit_is_not_measured() {
    let mut table = Table::default();
    let Fork::New(root) = table.root(1) else { panic!("nothing is known of the root") };
    let (mut parent, mut told) = (root, 0);
    for i in 0..table::LIMIT as u32 + 10 {
        match table.fork(parent, i % 3) {
            Fork::New(slot) => {
                told += 1;
                parent = if i % 3 == 2 { slot } else { parent };
            }
            Fork::Untold => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(table.is_full() && told < table::LIMIT);
    assert_eq!(table.fork(root, 40), Fork::Untold);
    assert_eq!((table.root(2), table.root(1)), (Fork::Untold, Fork::New(root)));
}

/// What each strand does below: 20 KiB of data.
const STRAND: WorkerCounts =
    WorkerCounts { private_misses: 320, llc_misses: 320, instructions: 3200 };

/// Worker 0 is given `task` and runs so many strands of it, all as `counts` say.
fn run(engine: &mut Engine, task: TaskInfo, strands: u32, counts: WorkerCounts) -> TaskInfo {
    engine.start(0, task, None, Vec::new());
    let ready = engine.policy.get(WorkerId(0), Ask::ANYTHING, &mut engine.env).unwrap();
    for strand in 0..strands {
        if strand > 0 {
            engine.policy.resume(WorkerId(0), &ready.task, &mut engine.env);
        }
        engine.env.counts[0] = counts;
        engine.policy.done(WorkerId(0), &ready.strand(), &mut engine.env);
    }
    ready.task
}

/// The tiers of a root that forks tasks, of which number i forks `below[i]` more, when it begins to
/// fork them again. Each has so many strands.
fn tiers_of(kind: SchedulerKind, below: &[u32], strands: u32) -> Tiers {
    second_round(kind, below, strands).tiers()
}

/// Where its first task waits that is forked again.
fn second_round(kind: SchedulerKind, below: &[u32], strands: u32) -> Engine {
    let mut engine = Engine::new(kind, LARGE);
    for w in 0..4 {
        assert!(engine.policy.get(WorkerId(w), Ask::ANYTHING, &mut engine.env).is_none());
    }
    let ends = |engine: &mut Engine, task: &TaskInfo| {
        engine.policy.task_ended(WorkerId(0), task, &mut engine.env);
    };
    let root = run(&mut engine, TaskInfo::root(None, None), strands, STRAND);
    for (index, count) in (0..).zip(below) {
        let task = run(&mut engine, root.child(index, None, None), strands, STRAND);
        for index in 0..*count {
            let below = run(&mut engine, task.child(index, None, None), strands, STRAND);
            ends(&mut engine, &below);
        }
        ends(&mut engine, &task);
    }
    engine.start(0, root.child(0, None, None), None, Vec::new());
    engine
}

#[test]
fn a_subtree_begins_out_of_turn_for_a_worker_that_waits_for_it_or_when_all_stand_still() {
    let machine = two_sockets();
    for (kind, bound) in [(Cats, None), (CatsS, Some(0))] {
        for asks in [true, false] {
            let mut engine = second_round(kind, &[0, 0], 1);
            assert_eq!(engine.tiers().subtrees[0].socket, bound);
            let waiting = engine.tasks.len() - 1;
            let mut get = |ask| engine.policy.get(WorkerId(3), ask, &mut engine.env);
            // Worker 2 is its socket's head, and the subtree's own socket has nothing to do.
            assert_eq!(get(Ask::ANYTHING), None);
            let [this, other] = [true, false].map(|it| move |job: &usize| (*job == waiting) == it);
            assert_eq!(get(Ask { accepts: Some(&other), ..Ask::ANYTHING }), None);
            let accepts: Option<&dyn Fn(&usize) -> bool> = if asks { Some(&this) } else { None };
            let still_for = Duration::from_millis(if asks { 0 } else { 50 });
            let found = get(Ask { accepts, still_for, ..Ask::ANYTHING }).unwrap();
            assert_eq!(found.job, waiting);
            assert_eq!(found.task.anchor, machine.last_level(WorkerId(3)), "it stays there");
            let tiers = engine.tiers();
            assert_eq!((tiers.ran, tiers.moved), (1, 0));
        }
    }
}

#[test]
fn all_strands_of_a_task_count_also_those_that_end_right_after_one_another() {
    for strands in [1, 2, 3] {
        let tiers = tiers_of(Cats, &[2, 0], strands);
        assert_eq!(tiers.root, Bytes(u64::from(strands) * 5 * 320 * 64));
    }
}

#[test]
fn a_task_of_more_than_64_children_is_no_divide_and_conquer_and_is_not_cut() {
    for kind in [Cats, CatsS] {
        let tiers = tiers_of(kind, &[0; 64], 1);
        assert_eq!((tiers.partitions, tiers.plain, tiers.subtrees.len()), (1, None, 64));
        let tiers = tiers_of(kind, &[0; 65], 1);
        assert_eq!((tiers.partitions, tiers.plain), (0, Some("no divide-and-conquer tree")));
    }
    // Further down it stays whole, although it is larger than half a shared cache.
    let paths = |below: &[u32]| {
        let tiers = tiers_of(CatsS, below, 1);
        tiers.subtrees.into_iter().map(|subtree| subtree.path).collect::<Vec<_>>()
    };
    assert_eq!(paths(&[65, 0]), [[0], [1]]);
    let cut: Vec<_> = (0..64).map(|index| vec![0, index]).chain([vec![1]]).collect();
    assert_eq!(paths(&[64, 0]), cut);
}

#[test]
fn what_is_new_belongs_to_no_tier_once_four_strands_a_worker_have_only_computed() {
    let computes = WorkerCounts { private_misses: 0, llc_misses: 0, instructions: 1000 };
    let mut engine = Engine::new(Cats, LARGE);
    let root = run(&mut engine, TaskInfo::root(None, None), 1, WorkerCounts::default());
    let orders = (0..20).map(|index| {
        let task = run(&mut engine, root.child(index, None, None), 1, computes);
        engine.policy.task_ended(WorkerId(0), &task, &mut engine.env);
        engine.policy.fork_order(&task)
    });
    let orders: Vec<_> = orders.collect();
    assert_eq!(orders[..16], [ForkOrder::ParentFirst; 16]);
    assert_eq!(orders[16..], [ForkOrder::ChildFirst; 4]);
    let why = engine.tiers().plain;
    assert_eq!(why, Some("CPU-bound: few cache misses per instruction"));
}

#[test]
fn a_task_that_works_on_its_data_twice_involves_them_once() {
    let mut table = Table::default();
    table.root(1);
    for _ in 0..2 {
        for index in 0..2 {
            if let Fork::New(slot) = table.fork(1, index) {
                table.touched(slot, 100);
                table.ended(slot, None);
            }
        }
    }
    assert_eq!(table.measure(1), 200);
}
