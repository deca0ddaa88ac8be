use std::time::Duration;

use befit_machine::{Bytes, Machine};

use super::{Play, W, two_sockets};
use crate::{Ask, ForkOrder, Options, SchedulerKind, TaskInfo};

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
