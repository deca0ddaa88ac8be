use std::time::Duration;

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use super::{Play, W, two_sockets};
use crate::{Ask, Counting, Finds, Options, Ready, SchedulerKind, Stage, TaskInfo};

fn sb() -> Play {
    Play::of(SchedulerKind::Sb)
}

/// One socket of eight cores; L3 1 MiB, L2 64 KiB.
fn one_socket() -> Machine {
    "pack:1 l3:1(size=1048576) core:8 l2:1(size=65536) pu:1".parse().unwrap()
}

#[test]
fn a_maximal_task_is_anchored_at_its_befitting_cache() {
    let (machine, mut sb) = (two_sockets(), sb());
    let (l3, l2) = (machine.last_level(W[2]), machine.workers()[2].leaf);
    for (bytes, anchor) in [
        (Bytes::kib(32), l2),       // σ · 64 KiB exactly
        (Bytes(32 * 1024 + 1), l3), // a byte more
        (Bytes::kib(512), l3),      // σ · 1 MiB
        (Bytes::mib(1), ClusterId::ROOT),
    ] {
        sb.add(0, 1, Some(bytes));
        let ready = sb.get(2).expect("room for it");
        assert_eq!(ready.task.anchor, anchor, "{bytes}");
        assert_eq!(ready.task.maximal, anchor != ClusterId::ROOT);
        sb.end(2, &ready);
    }
    sb.policy.check();
}

#[test]
fn a_worker_has_what_waits_at_the_clusters_above_it() {
    let mut sb = sb();
    sb.add(0, 1, Some(Bytes::kib(500)));
    let parent = sb.get(0).expect("room for it").task;
    assert!(!sb.policy.has_own(W[0]));
    sb.start(0, 2, parent.child(0, None, None));
    let have = W.map(|w| sb.policy.has_own(w));
    assert_eq!(have, [true, true, false, false], "under the first L3");
    let own = Ask { within: parent.anchor, own_only: true, ..Ask::ANYTHING };
    assert_eq!(sb.ask(1, own).map(|ready| ready.job), Some(2));
    assert!(!sb.policy.has_own(W[1]));
}

#[test]
fn what_an_anchored_task_forks_runs_under_its_anchor_only() {
    let mut sb = sb();
    sb.add(0, 1, Some(Bytes::kib(500)));
    let parent = sb.get(0).unwrap();
    sb.done(0, &parent);
    sb.start(0, 2, parent.task.child(0, Some(Bytes::kib(100)), None));
    assert_eq!(sb.get(2), None, "another socket");
    let child = sb.get(1).expect("a worker of the same socket");
    assert!(!child.task.maximal, "it befits the cache that its parent befits");
}

#[test]
fn a_task_waits_until_its_size_fits_in_what_is_free() {
    let (machine, mut sb) = (two_sockets(), sb());
    (0..3).for_each(|job| sb.add(0, job, Some(Bytes::kib(400))));
    let running = [sb.get(0).unwrap(), sb.get(1).unwrap()];
    assert_eq!(sb.get(1), None, "800 KiB of 1 MiB are taken");
    let elsewhere = sb.get(2).expect("the other socket is free");
    assert_eq!(elsewhere.task.anchor, machine.last_level(W[2]));
    assert_eq!(sb.end(0, &running[0]), Some(machine.last_level(W[0])), "space was given back");
    sb.policy.check();
}

#[test]
fn what_fits_is_found_behind_what_does_not_and_nobody_need_be_told() {
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        let mut sb = Play::of(kind);
        (0..2).for_each(|job| sb.add(0, job, Some(Bytes::kib(400))));
        (0..2).for_each(|_| assert!(sb.get(0).is_some()));
        sb.add(0, 2, Some(Bytes::kib(150)));
        (3..10).for_each(|job| sb.add(0, job, Some(Bytes::kib(400))));
        // 800 KiB of 1 MiB are taken: the seven newest do not fit, and the eighth does.
        assert_eq!([1, 1].map(|w| sb.job(w)), [Some(2), None], "{kind}");
        sb.policy.check();
    }
}

#[test]
fn of_what_is_accepted_one_that_fits_is_found_behind_one_that_does_not() {
    let mut sb = sb();
    (0..2).for_each(|job| sb.add(0, job, Some(Bytes::kib(400))));
    (0..2).for_each(|_| assert!(sb.get(0).is_some()));
    sb.add(0, 2, Some(Bytes::kib(400)));
    sb.add(0, 3, Some(Bytes::kib(150)));
    assert_eq!(sb.one_of(1, &[2, 3]).map(|ready| ready.job), Some(3));
    assert_eq!(sb.one_of(1, &[2, 3]), None);
}

#[test]
fn where_nothing_happens_what_is_refused_begins_as_if_its_size_were_not_known() {
    let machine = two_sockets();
    let sockets = [0, 2].map(|w| machine.last_level(W[w]));
    let still_for = Duration::from_millis(500);
    let stalled = Ask { still_for, ..Ask::ANYTHING };
    let soon = Ask { still_for: still_for / 2, ..Ask::ANYTHING };
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        let mut sb = Play::of(kind);
        (0..5).for_each(|job| sb.add(0, job, Some(Bytes::kib(500))));
        let running = [0, 0, 2, 2].map(|w| sb.get(w).unwrap());
        let full = Some(Bytes::kib(1000));
        assert_eq!(sockets.map(|socket| sb.policy.occupancy(socket)), [full; 2]);
        assert_eq!([1, 3].map(|w| sb.get(w)), [None, None], "the fifth fits nowhere");
        assert_eq!(sb.ask(3, soon), None, "a strand may take as long");
        assert_eq!(sb.ask(3, Ask { within: sockets[1], ..stalled }), None);
        assert_eq!(sb.ask(3, Ask { accepts: Some(&|_| true), ..stalled }), None);
        let fifth = sb.ask(3, stalled).expect("whatever is ready");
        let TaskInfo { size, strand, anchor, maximal, .. } = fifth.task;
        assert_eq!((size, strand), (TaskInfo::UNKNOWN, TaskInfo::UNKNOWN));
        assert_eq!((anchor, maximal), (ClusterId::ROOT, false));
        sb.end(3, &fifth);
        // What is bound to one socket begins on the other, but nothing that has begun already.
        let bound = running[0].task.child(0, Some(Bytes::kib(300)), None);
        sb.start(0, 5, bound);
        assert_eq!(sb.ask(3, stalled).map(|ready| ready.job), Some(5));
        let (job, task) = (6, running[0].task);
        sb.policy.add(W[0], Ready { job, task, stage: Stage::Continuation }, &mut sb.env);
        assert_eq!(sb.ask(3, stalled), None);
        assert_eq!(sockets.map(|socket| sb.policy.occupancy(socket)), [full; 2]);
    }
}

#[test]
fn passing_strands_claim_at_most_mu_each() {
    // Tasks larger than σ of every L3 stay at the root and pass through: with μ = 0.2, five fill a
    // cache that eight workers share.
    let machine: Machine = "pack:1 l3:1(size=1048576) core:8 pu:1".parse().unwrap();
    let mut sb = Play::on(&machine, SchedulerKind::Sb, Options::default());
    (0..8).for_each(|job| sb.add(0, job, Some(Bytes::mib(64))));
    assert_eq!((0..8).filter(|w| sb.get(*w).is_some()).count(), 5);
    sb.policy.check();
}

#[test]
fn regression_room_that_a_strand_gives_back_is_announced() {
    let machine: Machine = "pack:1 l3:1(size=1048576) core:8 pu:1".parse().unwrap();
    let mut sb = Play::on(&machine, SchedulerKind::Sb, Options::default());
    (0..6).for_each(|job| sb.add(0, job, Some(Bytes::mib(64))));
    let running: Vec<_> = (0..5).map(|w| sb.get(w).expect("room for five strands")).collect();
    assert_eq!(sb.get(5), None, "the cache is full of passing strands");
    let freed = sb.policy.done(W[0], &running[0].strand(), &mut sb.env);
    assert_eq!(freed, Some(machine.last_level(W[0])), "another may pass now");
    assert!(sb.get(5).is_some());
    // A strand of unknown size has claimed nothing.
    let mut sb = Play::on(&machine, SchedulerKind::Sb, Options::default());
    sb.add(0, 7, None);
    let unknown = sb.get(0).unwrap();
    assert_eq!(sb.policy.done(W[0], &unknown.strand(), &mut sb.env), None);
}

#[test]
fn regression_what_has_no_size_claims_nothing() {
    // Each claimed μM: threads that were blocked in tasks without sizes kept others from what these
    // tasks waited for.
    for counting in [Counting::Capped, Counting::Full] {
        let options = Options { counting, ..Options::default() };
        let mut sb = Play::on(&one_socket(), SchedulerKind::Sb, options);
        let mut running = Vec::new();
        for w in 0..8 {
            for job in 0..2 {
                let task = TaskInfo::root(None, None);
                let ready = Ready { job, task, stage: Stage::Start };
                sb.policy.add(WorkerId(w), ready, &mut sb.env);
                running.push((w, sb.get(w as usize).expect("nothing is claimed")));
            }
        }
        sb.add(0, 9, Some(Bytes::kib(512)));
        let sized = sb.get(1).is_some_and(|ready| ready.task.maximal);
        assert!(sized, "the cache is free for what has a size");
        running.iter().for_each(|(w, ready)| sb.done(*w as usize, ready));
        sb.policy.check();
    }
}

#[test]
fn a_continuation_stays_at_its_tasks_anchor_and_is_not_anchored_anew() {
    let mut sb = sb();
    let task = TaskInfo::root(Some(Bytes::kib(16)), None);
    sb.policy.add(W[0], Ready { job: 1, task, stage: Stage::Continuation }, &mut sb.env);
    let ready = sb.get(3).unwrap();
    assert_eq!((ready.task.anchor, ready.task.maximal), (ClusterId::ROOT, false));
}

#[test]
fn a_task_that_skips_a_level_claims_its_share_there_until_it_ends() {
    let machine: Machine =
        "pack:1 l3:1(size=1048576) l2:1(size=262144) core:2 l1:1(size=32768) pu:1".parse().unwrap();
    let mut sb = Play::on(&machine, SchedulerKind::Sb, Options::default());
    sb.add(0, 1, Some(Bytes::kib(8)));
    let ready = sb.get(0).unwrap();
    assert_eq!(ready.task.anchor, machine.workers()[0].leaf);
    let claimed = |sb: &Play| {
        let each = machine.path(W[0]).map(|cluster| sb.policy.occupancy(cluster).unwrap().0 >> 10);
        each.collect::<Vec<_>>()
    };
    assert_eq!(claimed(&sb), [8, 8, 8, 0], "in KiB, from its L1 up to memory");
    let freed = sb.end(0, &ready);
    assert_eq!(claimed(&sb), [0; 4]);
    assert_eq!(freed, Some(machine.last_level(W[0])), "space was given back up to the L3");
    sb.policy.check();
}

#[test]
fn sb_d_takes_its_own_childs_newest_then_a_siblings_oldest() {
    let options = Options { mu: 0.05, ..Options::default() };
    let mut sb_d = Play::on(&two_sockets(), SchedulerKind::SbD, options);
    for (w, job) in [(0, 1), (0, 2), (2, 3), (2, 4)] {
        sb_d.add(w, job, Some(Bytes::mib(64)));
    }
    assert_eq!([0, 1, 1, 0].map(|w| sb_d.job(w)), [Some(2), Some(1), Some(3), Some(4)]);
}

#[test]
fn a_worker_that_waits_within_a_cluster_gets_nothing_from_further_up() {
    let mut sb = sb();
    let within_l3 = Ask { within: two_sockets().last_level(W[0]), ..Ask::ANYTHING };
    sb.add(0, 1, Some(Bytes::kib(100)));
    assert_eq!(sb.ask(0, within_l3), None, "it waits at the root");
    let parent = sb.get(0).expect("without the restriction it is there");
    sb.start(0, 2, parent.task.child(0, None, None));
    assert_eq!(sb.ask(1, within_l3).map(|ready| ready.job), Some(2));
}

#[test]
fn bucket_zero_goes_before_deeper_buckets() {
    let mut sb = sb();
    sb.add(0, 1, Some(Bytes::kib(500)));
    sb.add(0, 2, Some(Bytes::mib(64)));
    assert_eq!(sb.job(0), Some(2));
}

#[test]
fn of_unknown_size_a_worker_takes_its_own_newest_and_another_the_oldest() {
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        let mut sb = Play::of(kind);
        (1..=3).for_each(|job| sb.add(0, job, None));
        assert_eq!([0, 1, 3, 0].map(|w| sb.job(w)), [Some(3), Some(1), Some(2), None]);
    }
}

#[test]
fn of_unknown_size_a_worker_without_any_takes_the_oldest_of_all_workers() {
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        let mut sb = Play::of(kind);
        for (w, job) in [(1, 10), (0, 11), (1, 12), (0, 13)] {
            sb.add(w, job, None);
        }
        assert_eq!([2, 3, 2].map(|w| sb.job(w)), [Some(10), Some(11), Some(12)], "{kind}");
    }
}

#[test]
fn regression_of_many_tasks_of_unknown_size_another_worker_finds_one_without_a_search() {
    // Each look went through all that the other worker had put there: hours for these.
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        let mut sb = Play::of(kind);
        let many = 1_000_000;
        (0..many).for_each(|job| sb.add(0, job, None));
        assert!((0..many).all(|job| sb.job(3) == Some(job)));
    }
}

#[test]
fn a_waiting_worker_finds_what_is_accepted_the_oldest_first_where_there_is_room() {
    let (machine, mut sb) = (two_sockets(), sb());
    sb.add(0, 1, Some(Bytes::mib(4)));
    let parent = sb.get(0).expect("room for it").task;
    let sizes = [Bytes::mib(2), Bytes::kib(20), Bytes::kib(24), Bytes::mib(3)];
    for (job, bytes) in (2..).zip(sizes) {
        sb.start(0, job, parent.child(0, Some(bytes), None));
    }
    assert_eq!(sb.one_of(1, &[]), None);
    assert_eq!(sb.one_of(1, &[2, 5]).map(|ready| ready.job), Some(2));
    let small = sb.one_of(1, &[3, 4]).expect("room for it");
    let leaf = machine.workers()[1].leaf;
    assert_eq!((small.job, small.task.anchor), (3, leaf), "anchored as any other");
    // 40 of 64 KiB are claimed: the next fits, and then none does.
    sb.add(0, 6, Some(Bytes::kib(24)));
    assert_eq!(sb.one_of(1, &[4]).map(|ready| ready.job), Some(4));
    assert_eq!(sb.one_of(1, &[6]), None);
    assert_eq!(sb.policy.capabilities().finds, Finds::IfThereIsRoom);
    sb.policy.check();
}

#[test]
fn while_nothing_has_a_size_a_waiting_worker_may_choose() {
    let mut sb = sb();
    (1..=4).for_each(|job| sb.add(0, job, None));
    assert_eq!(sb.policy.capabilities().finds, Finds::Everything);
    let asks = [(3, [2, 3]), (0, [1, 3]), (0, [5, 6])];
    let taken = asks.map(|(w, jobs)| sb.one_of(w, &jobs).map(|ready| ready.job));
    assert_eq!(taken, [Some(2), Some(3), None]);
    sb.add(0, 5, Some(Bytes::kib(100)));
    assert_eq!(sb.policy.capabilities().finds, Finds::IfThereIsRoom);
}

#[test]
#[should_panic(expected = "bounded property")]
fn a_cache_that_holds_more_than_its_size_is_found() {
    let mut sb = sb();
    sb.add(0, 1, Some(Bytes::kib(512)));
    let task = sb.get(0).expect("room for it").task;
    // Nobody can refuse what goes on.
    (0..100).for_each(|_| sb.policy.resume(W[0], &task, &mut sb.env));
    sb.policy.check();
}

#[test]
fn what_a_worker_from_elsewhere_makes_ready_waits_at_its_anchor() {
    let (machine, anchor) = (two_sockets(), two_sockets().last_level(W[0]));
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        for size in [None, Some(Bytes::kib(100))] {
            let mut sb = Play::on(&machine, kind, Options::default());
            for (w, job) in [(2, 1), (3, 2)] {
                let mut task = TaskInfo::root(size, None);
                task.anchor = anchor;
                assert_eq!(sb.start(w, job, task), anchor);
            }
            assert_eq!([2, 3].map(|w| sb.job(w)), [None; 2], "{kind}");
            // Taken for the first worker's: that has the newest.
            assert_eq!([0, 1, 0].map(|w| sb.job(w)), [Some(2), Some(1), None], "{kind}");
        }
    }
}
