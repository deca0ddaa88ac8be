//! `homes`, with a test that plays the engine.

use std::time::Duration;

use befit_machine::{Bytes, ClusterId, WorkerId};

use super::home::{Home, Kind};
use crate::{
    Ask, Env, ForkOrder, LockId, Options, Policy, QuietEnv, Ready, Scheduler, SchedulerKind, Stage,
    TaskInfo, WorkerCounts, policy::tests::two_sockets,
};

/// The policy on two sockets of two cores, L3 1 MiB. By default nothing tells the time, so that
/// every wait has been long enough.
struct Play<E = QuietEnv> {
    policy: Box<dyn Scheduler<&'static str>>,
    env: E,
}

impl Play {
    fn new() -> Self {
        Self::within(QuietEnv(fastrand::Rng::with_seed(3)))
    }
}

impl<E: Env> Play<E> {
    fn within(env: E) -> Self {
        Self { policy: SchedulerKind::Homes.build(&two_sockets(), Options::default()), env }
    }

    fn add(&mut self, w: u32, job: &'static str, task: TaskInfo) {
        self.policy.add(WorkerId(w), Ready { job, task, stage: Stage::Start }, &mut self.env);
    }

    /// What worker `w` is given.
    fn get(&mut self, w: u32) -> Option<&'static str> {
        self.policy.get(WorkerId(w), Ask::ANYTHING, &mut self.env).map(|ready| ready.job)
    }

    /// A root of `size` begins on worker 0 and ends its first strand there.
    fn root(&mut self, size: Option<Bytes>) -> TaskInfo {
        self.add(0, "root", TaskInfo::root(size, None));
        self.run(0, "root")
    }

    /// Worker `w` is given `job`, and ends a strand of it.
    fn run(&mut self, w: u32, job: &str) -> TaskInfo {
        let ready = self.policy.get(WorkerId(w), Ask::ANYTHING, &mut self.env).unwrap();
        assert_eq!(ready.job, job);
        self.policy.done(WorkerId(w), &ready.strand(), &mut self.env);
        ready.task
    }

    /// The halves of a `join` of `parent`, with their sizes.
    fn join(&mut self, parent: TaskInfo, jobs: [&'static str; 2], sizes: [Option<Bytes>; 2]) {
        let halves = [0, 1].map(|i| parent.child(i, sizes[i as usize], None));
        let twins = [halves[0].beside(halves[1].size), halves[1].beside(halves[0].size)];
        for (job, task) in jobs.into_iter().zip(twins) {
            self.add(0, job, task);
        }
    }

    fn own(&mut self, w: u32) -> Option<&'static str> {
        let ask = Ask { own_only: true, ..Ask::ANYTHING };
        self.policy.get(WorkerId(w), ask, &mut self.env).map(|ready| ready.job)
    }
}

#[test]
fn the_quarters_of_a_computation_wait_for_a_worker_each_and_again_next_round() {
    let mut play = Play::new();
    let root = play.root(None);
    for _ in 0..2 {
        play.join(root, ["left", "right"], [None; 2]);
        // Any worker of a half deals it out.
        let left = play.run(1, "left");
        let right = play.run(3, "right");
        assert_eq!(play.policy.fork_order(&left), ForkOrder::ParentFirst);
        play.join(left, ["a", "b"], [None; 2]);
        play.join(right, ["c", "d"], [None; 2]);
        assert_eq!([0, 1, 2, 3].map(|w| play.own(w)), [Some("a"), Some("b"), Some("c"), Some("d")]);
    }
}

#[test]
fn halves_are_dealt_in_proportion_to_their_declared_sizes() {
    let mut play = Play::new();
    let root = play.root(Some(Bytes::kib(400)));
    play.join(root, ["small", "large"], [Some(Bytes::kib(100)), Some(Bytes::kib(300))]);
    assert_eq!(play.own(0), Some("small"));
    let large = play.run(2, "large");
    play.join(large, ["b", "cd"], [Some(Bytes::kib(100)), Some(Bytes::kib(200))]);
    assert_eq!(play.own(1), Some("b"));
    let _ = play.run(3, "cd");
}

#[test]
fn spawned_tasks_are_dealt_as_many_as_there_were_last_time() {
    let mut play = Play::new();
    let root = play.root(None);
    let jobs = ["a", "b", "c", "d"];
    let spawn = |play: &mut Play| {
        for (index, job) in (0..).zip(jobs) {
            play.add(0, job, root.child(index, None, None));
        }
    };
    spawn(&mut play);
    // The first time they are everybody's.
    for job in jobs {
        let _ = play.run(1, job);
    }
    spawn(&mut play);
    assert_eq!([0, 1, 2, 3].map(|w| play.own(w)), jobs.map(Some));
}

#[test]
fn what_exceeds_a_socket_is_claimed_piece_by_piece_beginning_with_the_last() {
    let mut play = Play::new();
    // 2 MiB for each socket of 1 MiB: pieces of 512 KiB, two at a time.
    let [ab, cd] = four_pieces(&mut play);
    play.join(ab, ["a", "b"], [Some(Bytes::kib(512)); 2]);
    play.join(cd, ["c", "d"], [Some(Bytes::kib(512)); 2]);
    // From the left end on, as nothing ran before.
    let a = play.run(0, "a");
    let b = play.run(1, "b");
    // The next round begins where this one ended.
    let again = [(a, "a"), (b, "b")];
    again.iter().for_each(|(task, _)| _ = play.policy.task_ended(WorkerId(0), task, &mut play.env));
    play.join(ab, ["a again", "b again"], [Some(Bytes::kib(512)); 2]);
    let next = play.policy.get(WorkerId(0), Ask::ANYTHING, &mut play.env).map(|ready| ready.job);
    assert!(matches!(next, Some("b again" | "c")), "{next:?}");
}

#[test]
fn of_many_claims_that_wait_a_worker_looks_at_the_newest_unless_nothing_happens() {
    let taken = |still_for| {
        let mut play = Play::within(Clock::default());
        let [ab, _] = four_pieces(&mut play);
        let size = Bytes::kib(512);
        let [a, b] = [0, 1].map(|i| ab.child(i, Some(size), None).beside(size));
        // The oldest is the next of kin.
        play.add(0, "a", a);
        (0..64).for_each(|_| play.add(0, "b", b));
        let ask = Ask { still_for, ..Ask::ANYTHING };
        play.policy.get(WorkerId(1), ask, &mut play.env).map(|ready| ready.job)
    };
    assert_eq!([0, 50].map(Duration::from_millis).map(taken), ["b", "a"].map(Some));
}

/// A socket of 1 MiB is dealt 2 MiB under one parent, whose halves wait.
fn two_halves<E: Env>(play: &mut Play<E>) {
    let root = play.root(Some(Bytes::kib(4096)));
    play.join(root, ["left", "right"], [Some(Bytes::kib(2048)); 2]);
    let left = play.run(0, "left");
    play.join(left, ["ab", "cd"], [Some(Bytes::kib(1024)); 2]);
}

/// The same, and worker 0 is to divide both into pieces of 512 KiB. Returns the halves.
fn four_pieces<E: Env>(play: &mut Play<E>) -> [TaskInfo; 2] {
    two_halves(play);
    ["ab", "cd"].map(|half| play.run(0, half))
}

#[test]
fn a_claim_waits_for_its_sibling_unless_that_is_long_in_coming() {
    let mut play = Play::within(Clock::default());
    let [ab, _] = four_pieces(&mut play);
    let pieces = [0, 1].map(|i| ab.child(i, Some(Bytes::kib(512)), None).beside(Bytes::kib(512)));
    play.add(0, "a", pieces[0]);
    assert_eq!(play.get(1), None);
    play.add(0, "b", pieces[1]);
    assert_eq!(play.get(1), Some("a"));
    // The next one's sibling does not come.
    play.add(0, "a again", pieces[0]);
    assert_eq!(play.get(1), None);
    play.env.now = Duration::from_secs(1);
    assert_eq!(play.get(1), Some("a again"));
}

#[test]
fn a_claim_waits_while_another_worker_divides_what_may_be_next() {
    let mut play = Play::within(Clock::default());
    two_halves(&mut play);
    let ab = play.run(0, "ab");
    assert_eq!(play.get(1), Some("cd"));
    play.join(ab, ["a", "b"], [Some(Bytes::kib(512)); 2]);
    assert_eq!(play.get(0), None);
    // Worker 1 has done with it when it asks again.
    assert_eq!([play.get(1), play.get(0)], [Some("a"), Some("b")]);
}

#[test]
fn what_begins_before_its_turn_does_not_change_whose_turn_it_is() {
    let mut play = Play::within(Clock::default());
    let [ab, cd] = four_pieces(&mut play);
    play.join(ab, ["a", "b"], [Some(Bytes::kib(768)), Some(Bytes::kib(512))]);
    play.join(cd, ["c", "d"], [Some(Bytes::kib(512)), Some(Bytes::kib(128))]);
    let a = play.run(0, "a");
    // `b` is next, but does not fit beside `a`.
    let d = play.run(1, "d");
    for task in [a, d] {
        play.policy.task_ended(WorkerId(0), &task, &mut play.env);
    }
    assert_eq!([play.get(0), play.get(1)], ["b", "c"].map(Some));
}

#[test]
fn what_does_not_fit_waits_the_longer_the_more_the_others_find_in_the_cache() {
    for (llc_misses, is_soon) in [(1000, true), (10, false)] {
        let counts = WorkerCounts { private_misses: 1000, llc_misses, instructions: 100_000 };
        let mut play = Play::within(Clock { counts: Some(counts), ..Clock::default() });
        let [ab, _] = four_pieces(&mut play);
        play.join(ab, ["a", "b"], [Some(Bytes::kib(768)), Some(Bytes::kib(512))]);
        assert_eq!(play.get(0), Some("a"));
        let mut taken = |micros| {
            play.env.now = Duration::from_micros(micros);
            play.get(1)
        };
        assert_eq!(taken(1), None);
        assert_eq!(taken(60).is_some(), is_soon, "{llc_misses}");
        assert_eq!(taken(10_000).is_some(), !is_soon, "{llc_misses}");
    }
}

/// Two sockets of four cores, with a clock: 2 MiB are dealt to each, and have begun.
fn halves_on_four_cores_each() -> (Play<Clock>, [TaskInfo; 2]) {
    let machine = "l3:2(size=1MiB) core:4 l2:1(size=64KiB) pu:1".parse().unwrap();
    let policy = SchedulerKind::Homes.build(&machine, Options::default());
    let mut play = Play { policy, env: Clock::default() };
    let root = play.root(Some(Bytes::kib(4096)));
    play.join(root, ["left", "right"], [Some(Bytes::kib(2048)); 2]);
    let halves = [(0, "left"), (4, "right")].map(|(w, job)| play.run(w, job));
    (play, halves)
}

/// How long until `worker` is given something, in tens of microseconds.
fn waits(play: &mut Play<Clock>, worker: u32) -> u64 {
    let began = play.env.now;
    let is_given = |i: &u64| {
        play.env.now = began + Duration::from_micros(10 * i);
        play.get(worker).is_some()
    };
    (0..10_000).find(is_given).unwrap()
}

#[test]
fn who_has_no_part_in_what_runs_undivided_pays_for_what_does_not_fit() {
    // Of what is 600 KiB each, the second is 176 too much beside the first, whose home is also
    // worker 1's.
    let waits = |divided| {
        let (mut play, [left, _]) = halves_on_four_cores_each();
        play.join(left, ["a", "b"], [Some(Bytes::kib(600)); 2]);
        let first = play.policy.get(WorkerId(0), Ask::ANYTHING, &mut play.env).unwrap();
        if divided {
            play.policy.done(WorkerId(0), &first.strand(), &mut play.env);
            play.policy.resume(WorkerId(0), &first.task, &mut play.env);
        }
        waits(&mut play, 1)
    };
    let [whole, divided] = [false, true].map(waits);
    assert!(3 * whole <= divided, "{whole} and {divided}");
}

#[test]
fn what_another_socket_left_waits_for_room_as_well() {
    let waits = |is_full| {
        let (mut play, [left, right]) = halves_on_four_cores_each();
        play.join(left, ["a", "b"], [Some(Bytes::kib(900)); 2]);
        assert!(play.get(0).is_some());
        let c = right.child(0, Some(Bytes::kib(900)), None).beside(Bytes::kib(900));
        play.add(4, "c", c);
        let c = play.run(4, "c");
        if is_full {
            play.policy.resume(WorkerId(4), &c, &mut play.env);
        } else {
            play.policy.task_ended(WorkerId(4), &c, &mut play.env);
        }
        waits(&mut play, 5)
    };
    let [full, empty] = [true, false].map(waits);
    assert!(3 * empty <= full, "{full} and {empty}");
}

#[test]
fn what_waits_for_the_workers_of_a_socket_costs_others_its_data_and_each_of_them_its_part() {
    // Whether worker 3 takes the left half of 2 MiB, which is still to be divided, after so long.
    let takes = |micros, busy: bool| {
        let mut play = Play::within(Clock::default());
        let root = play.root(Some(Bytes::kib(4096)));
        play.join(root, ["left", "right"], [Some(Bytes::kib(2048)); 2]);
        if busy {
            assert_eq!(play.get(2), Some("right"));
        } else {
            let _ = play.run(2, "right");
        }
        [1, micros].map(|micros| {
            play.env.now = Duration::from_micros(micros);
            play.get(3)
        }) == [None, Some("left")]
    };
    let after = |busy| (1..1000).map(|i| 10 * i).find(|micros| takes(*micros, busy)).unwrap();
    let [alone, together] = [true, false].map(after);
    assert!(together > 100, "more than a private cache full: {together} µs");
    assert!(alone.abs_diff(2 * together) <= 20, "{alone} and {together} µs");
}

#[test]
fn a_claim_leaves_room_for_stacks() {
    for (kib, kind) in [(1024, Kind::Together), (1021, Kind::Together), (1020, Kind::Claims)] {
        let mut play = Play::new();
        let root = play.root(Some(Bytes::kib(4 * kib)));
        play.join(root, ["left", "right"], [Some(Bytes::kib(2 * kib)); 2]);
        let left = play.run(0, "left");
        play.join(left, ["a", "b"], [Some(Bytes::kib(kib)); 2]);
        let a = play.run(0, "a");
        assert_eq!(Home::read(a.mark).unwrap().kind, kind, "{kib}");
    }
}

#[test]
fn a_task_that_was_stolen_is_the_thiefs() {
    let mut play = Play::new();
    let root = play.root(None);
    play.join(root, ["left", "right"], [None; 2]);
    let left = play.run(0, "left");
    play.join(left, ["a", "b"], [None; 2]);
    // Nothing tells the time here, so that a thief has always waited long enough.
    let _ = play.run(3, "right");
    let stolen = play.policy.get(WorkerId(3), Ask::ANYTHING, &mut play.env).unwrap();
    assert!(["a", "b"].contains(&stolen.job));
    assert_eq!(play.policy.fork_order(&stolen.task), ForkOrder::ChildFirst);
    play.add(3, "below it", stolen.task.child(1, None, None));
    assert_eq!(play.own(3), Some("below it"));
}

#[test]
fn a_thief_passes_by_a_queue_that_another_worker_is_at_and_comes_back() {
    let mut play = Play::within(Clock::default());
    // Worker 0 divides a computation down to its own part, and forks there.
    let mut task = play.root(None);
    for _ in 0..3 {
        play.add(0, "part", task.child(0, None, None).beside(TaskInfo::UNKNOWN));
        task = play.run(0, "part");
    }
    play.add(0, "fork", task.child(0, None, None).beside(TaskInfo::UNKNOWN));
    play.add(0, "other", task.child(1, None, None).beside(TaskInfo::UNKNOWN));
    play.env.all_held = true;
    assert_eq!(play.own(0), Some("other"), "its own it waits for");
    assert_eq!(play.get(1), None);
    let due = play.policy.due(WorkerId(1), &mut play.env);
    assert!(due.is_some_and(|due| due < Duration::from_millis(1)), "{due:?}");
    // Also one that has waited for something else for long.
    play.env.now = Duration::from_millis(50);
    assert_eq!(play.get(1), None);
    assert!(play.policy.due(WorkerId(1), &mut play.env) <= due);
    play.env.all_held = false;
    assert_eq!(play.get(1), Some("fork"));
}

#[test]
fn under_one_last_level_cache_it_asks_for_what_ws_asks_for() {
    let machine = "l3:1(size=1MiB) core:4 pu:1".parse().unwrap();
    for kind in [SchedulerKind::Homes, SchedulerKind::Auto] {
        let built = |kind: SchedulerKind| Policy::build::<u32>(&kind, &machine, Options::default());
        assert_eq!(built(kind).capabilities(), built(SchedulerKind::Ws).capabilities());
    }
}

/// A clock that is set by hand, and the same counts for each strand, if any; and whether others
/// have all locks.
#[derive(Default)]
struct Clock {
    now: Duration,
    counts: Option<WorkerCounts>,
    all_held: bool,
}

impl Env for Clock {
    fn random(&mut self, _: u32) -> u32 {
        0
    }
    fn acquire(&mut self, _: LockId) {}
    fn is_held(&mut self, _: LockId) -> bool {
        self.all_held
    }
    fn release(&mut self, _: LockId) {}
    fn steal(&mut self, _: WorkerId, _: bool) {}
    fn counts(&mut self) -> Option<WorkerCounts> {
        self.counts
    }
    fn now(&mut self) -> Option<Duration> {
        Some(self.now)
    }
}

#[test]
fn from_afar_is_taken_at_once_only_what_computes_much_for_what_it_moves() {
    let instructions = 100_000;
    for (private_misses, free) in [(10, true), (10_000, false)] {
        let counts = WorkerCounts { private_misses, llc_misses: 0, instructions };
        let mut env = Clock { counts: Some(counts), ..Clock::default() };
        let policy = SchedulerKind::Homes.build(&two_sockets(), Options::default());
        let add = |task: TaskInfo, env: &mut Clock| {
            policy.add(WorkerId(0), Ready { job: 0, task, stage: Stage::Start }, env);
        };
        // Worker 0 runs all that divides a computation down to its own part, and then that.
        let mut task = TaskInfo::root(None, None);
        add(task, &mut env);
        for _ in 0..4 {
            let found = policy.get(WorkerId(0), Ask::ANYTHING, &mut env).unwrap();
            policy.done(WorkerId(0), &found.strand(), &mut env);
            task = found.task;
            add(task.child(0, None, None).beside(TaskInfo::UNKNOWN), &mut env);
        }
        // While another computation is being dealt out, nobody takes it at once.
        add(TaskInfo::root(None, None), &mut env);
        let other = policy.get(WorkerId(1), Ask::ANYTHING, &mut env).unwrap();
        assert!(policy.get(WorkerId(3), Ask::ANYTHING, &mut env).is_none());
        let asked = policy.done(WorkerId(1), &other.strand(), &mut env);
        assert_eq!(asked, Some(ClusterId::ROOT));
        let found = policy.get(WorkerId(3), Ask::ANYTHING, &mut env);
        assert_eq!(found.is_some(), free, "{private_misses}");
        // It takes the other after few looks, each when it is due.
        let last = (0..10).find_map(|_| {
            let due = policy.due(WorkerId(3), &mut env)?;
            env.now += due;
            policy.get(WorkerId(3), Ask::ANYTHING, &mut env)
        });
        assert_eq!(last.is_some(), !free, "{private_misses}");
    }
}

#[test]
fn a_task_of_unknown_size_costs_the_share_that_its_worker_finds_again() {
    // How long worker 3 waits for what worker 0 was dealt, which brought in so many lines with each
    // of its strands. It asks when it is due, or again after each `step`.
    let after = |lines: &[u64], size: Option<Bytes>, step: Option<Duration>| {
        let mut env = Clock::default();
        let policy = SchedulerKind::Homes.build(&two_sockets(), Options::default());
        let add = |task: TaskInfo, env: &mut Clock| {
            policy.add(WorkerId(0), Ready { job: 0, task, stage: Stage::Start }, env);
        };
        let mut task = TaskInfo::root(size, None);
        add(task, &mut env);
        for private_misses in lines {
            let found = policy.get(WorkerId(0), Ask::ANYTHING, &mut env).unwrap();
            let (llc_misses, instructions) = (*private_misses, 1_000_000);
            env.counts =
                Some(WorkerCounts { private_misses: *private_misses, llc_misses, instructions });
            policy.done(WorkerId(0), &found.strand(), &mut env);
            task = found.task;
            add(task.child(0, size, None).beside(size.unwrap_or(TaskInfo::UNKNOWN)), &mut env);
        }
        let mut asks = 0..if step.is_some() { 1_000_000 } else { 10 };
        while policy.get(WorkerId(3), Ask::ANYTHING, &mut env).is_none() {
            assert!(asks.next().is_some(), "it asks too often");
            let due = policy.due(WorkerId(3), &mut env).unwrap();
            env.now += step.unwrap_or(due);
        }
        env.now.as_nanos()
    };
    let [many, few] = [100_000, 50_000];
    let half = [many, many, many, many, few, few, few, few];
    let polled = after(&half, None, Some(Duration::from_nanos(1)));
    let nothing = after(&[many; 8], None, None);
    let half = after(&half, None, None);
    let known = after(&[many; 8], Some(Bytes(64)), None);
    assert!(3 * nothing < half && 3 * half < 2 * known, "{nothing}, {half}, {known} ns");
    assert_eq!(half, polled, "it waits no longer than it must");
}

#[test]
fn a_task_is_meant_for_its_home_s_socket_if_that_is_one_and_for_all_before_it_has_one() {
    let (mut play, machine) = (Play::new(), two_sockets());
    assert_eq!(play.policy.place(&TaskInfo::root(None, None)), ClusterId::ROOT);
    let root = play.root(None);
    assert_eq!(play.policy.place(&root), ClusterId::ROOT);
    play.join(root, ["left", "right"], [None; 2]);
    let halves = [play.run(1, "left"), play.run(3, "right")];
    let sockets = [0, 2].map(|w| machine.last_level(WorkerId(w)));
    assert_eq!(halves.map(|half| play.policy.place(&half)), sockets);
}

#[test]
fn regression_where_cores_have_several_threads_a_task_of_unknown_size_costs_a_private_cache_full() {
    let machine = "pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB) pu:2".parse().unwrap();
    let policy = SchedulerKind::Homes.build(&machine, Options::default());
    let mut env = Clock::default();
    // Worker 0 divides a computation down to its own part.
    let mut task = TaskInfo::root(None, None);
    policy.add(WorkerId(0), Ready { job: 0, task, stage: Stage::Start }, &mut env);
    for job in 1..6 {
        let found = policy.get(WorkerId(0), Ask::ANYTHING, &mut env).unwrap();
        policy.done(WorkerId(0), &found.strand(), &mut env);
        task = found.task.child(0, None, None).beside(TaskInfo::UNKNOWN);
        policy.add(WorkerId(0), Ready { job, task, stage: Stage::Start }, &mut env);
    }
    // The first of the other socket's workers does not get it before it has waited.
    let mut takes = |micros| {
        env.now = Duration::from_micros(micros);
        policy.get(WorkerId(4), Ask::ANYTHING, &mut env).map(|ready| ready.job)
    };
    assert_eq!([0, 1, 1_000_000].map(&mut takes), [None, None, Some(5)]);
}
