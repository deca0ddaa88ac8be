use std::{ops::Range, time::Duration};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use super::{Play, W, two_sockets};
use crate::{Ask, Env, ForkOrder, LockId, Options, QuietEnv, Ready, SchedulerKind, TaskInfo};

/// Worker 0 adds children of `parent`, numbers and jobs as in `jobs`.
fn fork(play: &mut Play, parent: &TaskInfo, jobs: &[(u32, u32)]) {
    fork_on(play, 0, parent, jobs);
}

/// The same on worker `w`.
fn fork_on(play: &mut Play, w: usize, parent: &TaskInfo, jobs: &[(u32, u32)]) {
    for &(index, job) in jobs {
        play.start(w, job, parent.child(index, None, None));
    }
}

#[test]
fn central_gives_the_oldest_to_whichever_worker_asks() {
    let mut central = Play::of(SchedulerKind::Central);
    (0..3).for_each(|job| central.add(job as usize, job, None));
    assert_eq!([3, 0, 2, 1].map(|w| central.job(w)), [Some(0), Some(1), Some(2), None]);
    central.add(0, 7, None);
    central.add(0, 8, None);
    assert_eq!(central.one_of(1, &[8]).map(|ready| ready.job), Some(8));
}

#[test]
fn pdf_gives_what_comes_first_in_serial_order() {
    let mut pdf = Play::of(SchedulerKind::Pdf);
    pdf.add(0, 0, None);
    let root = pdf.get(0).unwrap();
    // Whatever the order in which they are added.
    fork(&mut pdf, &root.task, &[(1, 1), (2, 2), (0, 3)]);
    let first = pdf.get(1).unwrap();
    assert_eq!(first.job, 3);
    fork(&mut pdf, &first.task, &[(1, 4), (0, 5)]);
    // What the first child forks comes before its siblings.
    assert_eq!([2, 3, 0, 1].map(|w| pdf.job(w)), [Some(5), Some(4), Some(1), Some(2)]);
    assert_eq!(pdf.job(0), None);
}

#[test]
fn pdf_takes_the_deeper_of_a_workers_private_forks_first() {
    let mut pdf = Play::of(SchedulerKind::Pdf);
    pdf.add(0, 0, None);
    let root = pdf.get(0).unwrap().task;
    // The engine kept two levels private: the policy sees their second halves only.
    let inner = root.child(0, None, None).child(0, None, None);
    pdf.start(0, 1, root.child(1, None, None));
    pdf.start(0, 2, inner.child(1, None, None));
    pdf.start(0, 3, root.child(0, None, None).child(1, None, None));
    assert_eq!([1, 2, 3].map(|w| pdf.job(w)), [Some(2), Some(3), Some(1)]);
}

#[test]
fn a_batch_that_grows_too_long_gives_its_older_half_to_a_worker_without_one() {
    let mut batch = Play::of(SchedulerKind::Batch);
    (0..9).for_each(|job| batch.add(0, job, None));
    // The five oldest wait as a batch; worker 1 takes it whole, and runs its newest.
    assert_eq!(batch.job(1), Some(4));
    assert!(batch.policy.has_own(W[1]));
    assert_eq!((batch.job(0), batch.job(1)), (Some(8), Some(3)));
    // No batch waits: half of another's.
    let next = batch.job(2).unwrap();
    assert!([1, 6].contains(&next), "{next}");
}

#[test]
fn static_cuts_the_serial_order_and_nobody_steals() {
    let mut bound = Play::of(SchedulerKind::Static);
    bound.add(0, 0, None);
    let root = bound.get(0).unwrap().task;
    let halves = |parent: &TaskInfo| {
        [0, 1].map(|index| parent.child(index, None, None).beside(TaskInfo::UNKNOWN))
    };
    let [left, right] = halves(&root);
    bound.start(0, 1, left);
    bound.start(0, 2, right);
    // The right half is the third worker's, and no other's.
    assert_eq!([1, 3].map(|w| bound.job(w)), [None, None]);
    let right = bound.get(2).unwrap();
    assert_eq!(right.job, 2);
    halves(&right.task)
        .into_iter()
        .zip([3, 4])
        .for_each(|(half, job)| _ = bound.start(2, job, half));
    assert_eq!([3, 2, 0].map(|w| bound.job(w)), [Some(4), Some(3), Some(1)]);
    // Spawned tasks go to the workers in turn.
    fork(&mut bound, &root, &[(0, 5), (1, 6), (4, 7)]);
    assert_eq!([2, 1, 0, 0].map(|w| bound.job(w)), [None, Some(6), Some(7), Some(5)]);
}

#[test]
fn cpdf_begins_the_next_subtree_that_fits_when_the_last_has_ended() {
    // Two sockets of two workers, L3 1 MiB, L2 64 KiB.
    let mut cpdf = Play::of(SchedulerKind::Cpdf);
    let kib = |kib: u64| Some(Bytes::kib(kib));
    cpdf.add(0, 0, kib(4096));
    let root = cpdf.get(0).unwrap().task;
    for index in 0..4 {
        cpdf.start(0, 1 + index, root.child(index, kib(1024), None));
    }
    // The first is socket 0's; its other worker waits for what that forks. Socket 1 has the next.
    let first = cpdf.get(0).unwrap();
    assert_eq!((first.job, cpdf.job(1)), (1, None));
    let second = cpdf.get(2).unwrap();
    assert_eq!((second.job, cpdf.job(3)), (2, None));
    for (index, job) in [(0, 5), (1, 6)] {
        cpdf.start(0, job, first.task.child(index, kib(512), None));
    }
    let halves = [1, 0].map(|w| cpdf.get(w).unwrap());
    assert_eq!(halves.map(|half| half.job), [5, 6]);
    assert_eq!(cpdf.job(3), None);
    halves.iter().for_each(|half| _ = cpdf.end(0, half));
    assert_eq!(cpdf.job(1), None);
    assert!(cpdf.end(0, &first).is_some());
    // A worker that waits within a subtree gets no other one, unless nothing moves.
    let within = Ask { within: first.task.anchor, ..Ask::ANYTHING };
    assert_eq!(cpdf.ask(1, within), None);
    assert_eq!(cpdf.job(1), Some(3));
    assert_eq!(cpdf.ask(1, within), None);
    let stalled = Ask { still_for: Duration::from_millis(50), ..within };
    assert_eq!(cpdf.ask(1, stalled).map(|ready| ready.job), Some(4));
}

#[test]
fn cpdf_divides_what_is_too_large_past_subtrees_that_may_not_begin() {
    let mut cpdf = Play::of(SchedulerKind::Cpdf);
    cpdf.add(0, 0, Some(Bytes::kib(8192)));
    let root = cpdf.get(0).unwrap().task;
    for (index, kib) in (0..).zip([2048, 1024, 2048, 1024, 1024, 2048]) {
        cpdf.start(0, index, root.child(index, Some(Bytes::kib(kib)), None));
    }
    // Both kinds in serial order; then socket 0 has its subtree, and socket 1 begins the next.
    let taken = [0, 1, 0, 1, 2, 3, 0].map(|w| cpdf.job(w));
    assert_eq!(taken, [Some(0), Some(1), Some(2), Some(5), Some(3), None, None]);
    // Nor does who asks for the last one alone, unless it may have that from anywhere.
    let last = Ask { accepts: Some(&|job| *job == 4), ..Ask::ANYTHING };
    assert_eq!(cpdf.ask(0, Ask { own_only: true, ..last }), None);
    assert_eq!(cpdf.ask(0, last).map(|ready| ready.job), Some(4));
}

#[test]
fn cpdf_leaves_what_fits_a_private_cache_to_one_worker() {
    let mut cpdf = Play::of(SchedulerKind::Cpdf);
    cpdf.add(0, 0, Some(Bytes::kib(64)));
    let root = cpdf.get(0).unwrap();
    fork(&mut cpdf, &root.task, &[(1, 1), (0, 2)]);
    assert_eq!([0, 1].map(|w| cpdf.policy.has_own(W[w])), [true, false]);
    assert_eq!([1, 2, 0, 0].map(|w| cpdf.job(w)), [None, None, Some(2), Some(1)]);
    assert!(!cpdf.policy.has_own(W[0]));
    // A task that all workers may take counts as each one's own.
    cpdf.add(1, 3, Some(Bytes::kib(4096)));
    assert!(cpdf.policy.has_own(W[3]));
}

#[test]
fn cpdf_leaves_nothing_to_one_worker_where_no_cache_is_private() {
    for machine in ["pu:4", "pack:2 l3:1(size=1MiB) l2:1(size=64KiB) pu:2"] {
        let machine = machine.parse().unwrap();
        let mut cpdf = Play::on(&machine, SchedulerKind::Cpdf, Options::default());
        cpdf.add(0, 0, Some(Bytes(0)));
        let root = cpdf.get(0).unwrap();
        fork(&mut cpdf, &root.task, &[(0, 1), (1, 2)]);
        assert_eq!([1, 2].map(|w| cpdf.job(w)), [Some(1), Some(2)]);
    }
}

#[test]
fn cpdf_forks_as_pdf_does_where_no_cache_is_private() {
    let task = TaskInfo::root(Some(Bytes::kib(1024)), None);
    let order = |machine: &Machine| {
        Play::on(machine, SchedulerKind::Cpdf, Options::default()).policy.fork_order(&task)
    };
    assert_eq!(order(&two_sockets()), ForkOrder::ParentFirst);
    for machine in ["pu:4", "pack:2 l3:1(size=1MiB) l2:1(size=64KiB) pu:2"] {
        assert_eq!(order(&machine.parse().unwrap()), ForkOrder::ChildFirst, "{machine}");
    }
}

#[test]
fn adws_divides_the_workers_by_work_and_steals_within_the_dominant_group() {
    let mut adws = Play::of(SchedulerKind::Adws);
    let halves = |parent: &TaskInfo, sizes: [u64; 2]| {
        let [a, b] = sizes.map(Bytes::kib);
        [parent.child(0, Some(a), None).beside(b), parent.child(1, Some(b), None).beside(a)]
    };
    adws.add(0, 0, Some(Bytes::kib(400)));
    let root = adws.get(3).unwrap().task;
    for (job, half) in (1..).zip(halves(&root, [100, 300])) {
        adws.start(3, job, half);
    }
    // The small one is worker 0's; the large one begins at worker 1, and nobody steals it.
    assert_eq!([2, 3].map(|w| adws.job(w)), [None, None]);
    let [small, large] = [0, 1].map(|w| adws.get(w).unwrap());
    assert_eq!([small.job, large.job], [1, 2]);
    for (job, part) in (3..).zip(halves(&large.task, [100, 200])) {
        adws.start(1, job, part);
    }
    let [left, right] = [1, 2].map(|w| adws.get(w).unwrap());
    assert_eq!([left.job, right.job], [3, 4]);
    // Below one worker, forks stay where they are, and no group is dominant yet.
    fork(&mut adws, &small.task, &[(1, 5), (0, 6)]);
    fork_on(&mut adws, 1, &left.task, &[(1, 7), (0, 8)]);
    assert_eq!(adws.job(3), None);
    // Worker 1 has ended its part: who belongs to the same group may steal in it, as worker 2.
    assert!(adws.end(1, &left).is_some());
    assert_eq!(adws.job(0), Some(6));
    assert_eq!(adws.job(2), Some(7));
    assert_eq!(adws.job(2), Some(8));
    assert_eq!(adws.job(2), None);
    // The group above becomes dominant: it has the other part of worker 0's.
    assert!(adws.end(0, &small).is_some());
    assert_eq!(adws.job(2), Some(5));
}

#[test]
fn regression_adws_a_worker_on_a_border_steals_in_both_dominant_groups() {
    let mut adws = Play::of(SchedulerKind::Adws);
    let divide = |adws: &mut Play, w: usize, parent: &TaskInfo, sizes: [u64; 2], job: u32| {
        let [a, b] = sizes.map(Bytes::kib);
        adws.start(w, job, parent.child(0, Some(a), None).beside(b));
        adws.start(w, job + 1, parent.child(1, Some(b), None).beside(a));
    };
    // The left half has one and a half of the workers, the right one the others.
    adws.add(0, 0, Some(Bytes::kib(400)));
    let root = adws.get(0).unwrap().task;
    divide(&mut adws, 0, &root, [150, 250], 1);
    let [left, right] = [0, 1].map(|w| adws.get(w).unwrap());
    assert_eq!([left.job, right.job], [1, 2]);
    // Worker 1 has the end of one and the beginning of the other.
    divide(&mut adws, 0, &left.task, [100, 50], 3);
    divide(&mut adws, 1, &right.task, [50, 200], 5);
    let rest = adws.get(2).unwrap();
    divide(&mut adws, 2, &rest.task, [100, 100], 7);
    assert_eq!((rest.job, adws.job(0)), (6, Some(3)), "worker 0 has nothing more");
    let own = [0, 1].map(|_| adws.get(1).unwrap());
    assert_eq!(own.each_ref().map(|ready| ready.job), [5, 4]);
    assert_eq!(adws.job(1), None, "no group is dominant");
    // Now both are. Only in the right one is there something to steal.
    assert!(own.iter().all(|ready| adws.end(1, ready).is_some()));
    let stolen = [0, 1, 2].map(|_| adws.job(1));
    assert!([[Some(7), Some(8), None], [Some(8), Some(7), None]].contains(&stolen), "{stolen:?}");
}

/// The task of `root` spawns as many children as there are `jobs`, as engines report it: its strand
/// ends, the child is added, and it goes on.
fn spawn(play: &mut Play, root: &Ready<u32>, jobs: Range<u32>) {
    for (index, job) in (0..).zip(jobs) {
        play.done(0, root);
        play.start(0, job, root.task.child(index, None, None));
        play.policy.resume(W[0], &root.task, &mut play.env);
    }
}

#[test]
fn adws_has_what_a_scope_spawned_stolen_once_one_of_its_tasks_has_ended() {
    let mut adws = Play::of(SchedulerKind::Adws);
    adws.add(0, 0, None);
    let root = adws.get(0).unwrap();
    // Nobody knows how many: each has all workers, so that it is not stolen.
    spawn(&mut adws, &root, 0..8);
    let first: Vec<_> = (0..8).map(|i| (i % 4, adws.get(i % 4).unwrap())).collect();
    for (w, task) in first {
        assert_eq!(adws.job(3), None);
        adws.end(w, &task);
    }
    // Then each worker has two. The second round begins as the first did.
    for jobs in [10..18, 20..28] {
        spawn(&mut adws, &root, jobs.clone());
        let mut last = [0, 1].map(|_| adws.get(3).unwrap());
        assert_eq!(last.each_ref().map(|ready| ready.job), [jobs.start + 6, jobs.start + 7]);
        assert_eq!(adws.job(3), None, "none has ended");
        assert!(adws.end(3, &last[0]).is_some());
        assert_eq!(adws.end(3, &last[1]), None);
        for _ in 0..6 {
            last[0] = adws.get(3).expect("the group is dominant");
            assert!((jobs.start..jobs.start + 6).contains(&last[0].job));
            adws.end(3, &last[0]);
        }
        assert_eq!(adws.job(3), None);
    }
}

/// Counts the locks that are taken.
struct Locks(QuietEnv, usize);

impl Env for Locks {
    fn random(&mut self, bound: u32) -> u32 {
        self.0.random(bound)
    }
    fn acquire(&mut self, _: LockId) {
        self.1 += 1;
    }
    fn release(&mut self, _: LockId) {}
    fn steal(&mut self, _: WorkerId, _: bool) {}
}

#[test]
fn adws_names_everybody_for_what_a_worker_that_found_nothing_may_steal() {
    let (mut adws, machine) = (Play::of(SchedulerKind::Adws), two_sockets());
    adws.add(0, 0, None);
    let root = adws.get(0).unwrap();
    spawn(&mut adws, &root, 0..8);
    let first: Vec<_> = (0..8).map(|i| (i % 4, adws.get(i % 4).unwrap())).collect();
    first.iter().for_each(|(w, task)| _ = adws.end(*w, task));
    // Two for each worker; the last is for worker 3.
    let add =
        |adws: &mut Play, index: u32| adws.start(0, 10 + index, root.task.child(index, None, None));
    let leaf = |w: usize| machine.workers()[w].leaf;
    assert_eq!([0, 2, 4].map(|index| add(&mut adws, index)), [ClusterId::ROOT, leaf(1), leaf(2)]);
    assert_eq!(adws.job(3), None);
    assert_eq!([3, 5].map(|index| add(&mut adws, index)), [ClusterId::ROOT; 2]);
    // What reaches over several workers it may not have.
    adws.add(0, 20, None);
    let all = adws.one_of(0, &[20]).unwrap().task;
    let half = all.child(1, None, None).beside(TaskInfo::UNKNOWN);
    assert_eq!(adws.start(0, 21, half), leaf(2));
}

#[test]
fn pdf_and_cpdf_take_no_lock_to_see_that_nothing_is_ready() {
    for kind in [SchedulerKind::Pdf, SchedulerKind::Cpdf] {
        let mut env = Locks(QuietEnv(fastrand::Rng::with_seed(7)), 0);
        let found = Play::of(kind).policy.get(W[0], Ask::ANYTHING, &mut env);
        assert_eq!((found, env.1), (None, 0), "{kind}");
    }
}

#[test]
fn adws_takes_no_lock_for_what_thieves_may_not_have() {
    let mut adws = Play::of(SchedulerKind::Adws);
    adws.add(0, 0, None);
    let root = adws.get(0).unwrap();
    // In the first round each has all workers, whichever it begins on.
    spawn(&mut adws, &root, 0..8);
    let own = [0, 1].map(|_| adws.get(3).unwrap());
    assert!(adws.end(3, &own[0]).is_some(), "the group is dominant");
    let mut env = Locks(QuietEnv(fastrand::Rng::with_seed(7)), 0);
    assert!(adws.policy.get(W[3], Ask::ANYTHING, &mut env).is_none());
    assert_eq!(env.1, 1, "that of the groups");
    // So there is nothing that it should ask for again.
    assert_eq!(adws.policy.done(W[0], &root.strand(), &mut adws.env), None);
}

#[test]
fn adws_counts_the_end_of_a_task_for_the_group_that_it_was_forked_in() {
    let mut adws = Play::of(SchedulerKind::Adws);
    adws.add(0, 0, None);
    let root = adws.get(0).unwrap();
    let round = |adws: &mut Play, jobs: Range<u32>| -> Vec<_> {
        spawn(adws, &root, jobs.clone());
        jobs.map(|job| adws.one_of(0, &[job]).unwrap()).collect()
    };
    for jobs in [0..2, 10..12] {
        let both = round(&mut adws, jobs);
        both.iter().for_each(|child| _ = adws.end(0, child));
    }
    // Two were there last time, and have half of the workers each; the third has all of them.
    let three = round(&mut adws, 20..23);
    let parts = [three[0], three[2]].map(|parent| {
        fork(&mut adws, &parent.task, &[(0, 30), (1, 31)]);
        adws.one_of(0, &[30]).unwrap()
    });
    // The first half's children are within the third's range, too; each makes its own dominant.
    assert!(parts.iter().all(|part| adws.end(0, part).is_some()));
}

#[test]
fn mts_moves_the_oldest_to_an_empty_stack_one_for_each_of_its_workers() {
    let (machine, mut mts) = (two_sockets(), Play::of(SchedulerKind::Mts));
    (1..=4).for_each(|job| mts.add(0, job, None));
    assert_eq!(mts.ask(2, Ask { own_only: true, ..Ask::ANYTHING }), None);
    let stolen = mts.get(2).expect("another socket's oldest");
    assert_eq!(stolen.job, 1);
    assert!(mts.policy.has_own(W[3]), "the second came with it");
    // Nobody was told of that.
    let socket = machine.last_level(W[2]);
    let mut done = |w: usize| mts.policy.done(W[w], &stolen.strand(), &mut mts.env);
    assert_eq!([done(0), done(2), done(2)], [None, Some(socket), None]);
    assert_eq!([3, 0, 3, 0].map(|w| mts.job(w)), [Some(2), Some(4), Some(3), None]);
    let single = mts.policy.done(W[3], &stolen.strand(), &mut mts.env);
    assert_eq!(single, None, "nothing came with the third");
}
