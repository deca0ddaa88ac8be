use befit_machine::{Bytes, ClusterId, Machine};

use super::{W, env, task, two_sockets};
use crate::{Counting, Options, Ready, Scheduler, Stage, Strand, TaskInfo, policy::SpaceBounded};

fn sb(machine: &Machine) -> SpaceBounded<u32> {
    SpaceBounded::central(machine, Options::default())
}

fn strand(ready: &Ready<u32>) -> Strand {
    Strand { task: ready.task, stage: ready.stage }
}

#[test]
fn a_maximal_task_is_anchored_at_its_befitting_cache() {
    let machine = two_sockets();
    let sb = sb(&machine);
    let l3 = machine.last_level(W[2]);
    let l2 = machine.workers()[2].leaf;
    for (bytes, anchor) in [
        (Bytes::kib(32), l2),       // σ · 64 KiB exactly
        (Bytes(32 * 1024 + 1), l3), // a byte more
        (Bytes::kib(512), l3),      // σ · 1 MiB
        (Bytes::mib(1), ClusterId::ROOT),
    ] {
        sb.add(W[0], task(1, bytes), &mut env());
        let ready = sb.get(W[2], &mut env()).expect("room for it");
        assert_eq!(ready.task.anchor, anchor, "{bytes}");
        assert_eq!(ready.task.maximal, anchor != ClusterId::ROOT);
        sb.done(W[2], &strand(&ready), &mut env());
        sb.task_ended(W[2], &ready.task, &mut env());
    }
    sb.check();
}

#[test]
fn a_worker_has_what_waits_at_the_clusters_above_it() {
    let machine = two_sockets();
    let sb = sb(&machine);
    sb.add(W[0], task(1, Bytes::kib(500)), &mut env());
    let parent = sb.get(W[0], &mut env()).expect("room for it");
    assert!(!sb.has_own(W[0]));
    let child = Ready { job: 2, task: parent.task.child(0, None, None), stage: Stage::Start };
    sb.add(W[0], child, &mut env());
    assert_eq!(W.map(|w| sb.has_own(w)), [true, true, false, false], "under the first L3");
    assert_eq!(sb.get_own(W[1], parent.task.anchor, &mut env()).map(|r| r.job), Some(2));
    assert!(!sb.has_own(W[1]));
}

#[test]
fn what_an_anchored_task_forks_runs_under_its_anchor_only() {
    let machine = two_sockets();
    let sb = sb(&machine);
    sb.add(W[0], task(1, Bytes::kib(500)), &mut env());
    let parent = sb.get(W[0], &mut env()).unwrap();
    sb.done(W[0], &strand(&parent), &mut env());
    let child = parent.task.child(0, Some(Bytes::kib(100)), None);
    sb.add(W[0], Ready { job: 2, task: child, stage: Stage::Start }, &mut env());
    assert_eq!(sb.get(W[2], &mut env()), None, "another socket");
    let child = sb.get(W[1], &mut env()).expect("a worker of the same socket");
    assert!(!child.task.maximal, "it befits the cache that its parent befits");
}

#[test]
fn a_task_waits_until_its_size_fits_in_what_is_free() {
    let machine = two_sockets();
    let sb = sb(&machine);
    let mut running = Vec::new();
    for job in 0..3 {
        sb.add(W[0], task(job, Bytes::kib(400)), &mut env());
    }
    running.push(sb.get(W[0], &mut env()).unwrap());
    running.push(sb.get(W[1], &mut env()).unwrap());
    assert_eq!(sb.get(W[1], &mut env()), None, "800 KiB of 1 MiB are taken");
    let elsewhere = sb.get(W[2], &mut env()).expect("the other socket is free");
    assert_eq!(elsewhere.task.anchor, machine.last_level(W[2]));
    sb.done(W[0], &strand(&running[0]), &mut env());
    let freed = sb.task_ended(W[0], &running[0].task, &mut env());
    assert_eq!(freed, Some(machine.last_level(W[0])));
    sb.check();
}

#[test]
fn passing_strands_claim_at_most_mu_each() {
    // Tasks larger than σ of every L3 stay at the root and pass through: with μ = 0.2, five fill a
    // cache that eight workers share.
    let machine: Machine = "pack:1 l3:1(size=1048576) core:8 pu:1".parse().unwrap();
    let sb = sb(&machine);
    for job in 0..8 {
        sb.add(W[0], task(job, Bytes::mib(64)), &mut env());
    }
    let run =
        (0..8).map(befit_machine::WorkerId).filter(|w| sb.get(*w, &mut env()).is_some()).count();
    assert_eq!(run, 5);
    sb.check();
}

#[test]
fn regression_what_has_no_size_claims_nothing() {
    // Each claimed μM: threads that were blocked in tasks without sizes kept others from what these
    // tasks waited for.
    let machine: Machine =
        "pack:1 l3:1(size=1048576) core:8 l2:1(size=65536) pu:1".parse().unwrap();
    for counting in [Counting::Capped, Counting::Full] {
        let sb = SpaceBounded::central(&machine, Options { counting, ..Options::default() });
        let mut running = Vec::new();
        for w in (0..8).map(befit_machine::WorkerId) {
            for job in 0..2 {
                sb.add(
                    w,
                    Ready { job, task: TaskInfo::root(None, None), stage: Stage::Start },
                    &mut env(),
                );
                running.push((w, sb.get(w, &mut env()).expect("nothing is claimed")));
            }
        }
        sb.add(W[0], task(9, Bytes::kib(512)), &mut env());
        assert!(
            sb.get(W[1], &mut env()).is_some_and(|ready| ready.task.maximal),
            "the cache is free for what has a size"
        );
        for (w, ready) in running {
            sb.done(w, &strand(&ready), &mut env());
        }
        sb.check();
    }
}

#[test]
fn a_continuation_stays_at_its_tasks_anchor_and_is_not_anchored_anew() {
    let machine = two_sockets();
    let sb = sb(&machine);
    let root = TaskInfo::root(Some(Bytes::kib(16)), None);
    sb.add(W[0], Ready { job: 1, task: root, stage: Stage::Continuation }, &mut env());
    let ready = sb.get(W[3], &mut env()).unwrap();
    assert_eq!((ready.task.anchor, ready.task.maximal), (ClusterId::ROOT, false));
}

#[test]
fn a_task_that_skips_a_level_claims_its_share_there_until_it_ends() {
    let machine: Machine =
        "pack:1 l3:1(size=1048576) l2:1(size=262144) core:2 l1:1(size=32768) pu:1".parse().unwrap();
    let sb = sb(&machine);
    sb.add(W[0], task(1, Bytes::kib(8)), &mut env());
    let ready = sb.get(W[0], &mut env()).unwrap();
    assert_eq!(ready.task.anchor, machine.workers()[0].leaf);
    sb.done(W[0], &strand(&ready), &mut env());
    assert_eq!(
        sb.task_ended(W[0], &ready.task, &mut env()),
        Some(machine.last_level(W[0])),
        "space was given back up to the L3"
    );
    sb.check();
}

#[test]
fn sb_d_takes_its_own_childs_newest_then_a_siblings_oldest() {
    let machine = two_sockets();
    let sb_d =
        SpaceBounded::<u32>::distributed(&machine, Options { mu: 0.05, ..Options::default() });
    for (w, job) in [(0, 1), (0, 2), (2, 3), (2, 4)] {
        sb_d.add(W[w], task(job, Bytes::mib(64)), &mut env());
    }
    let jobs: Vec<_> =
        [W[0], W[1], W[1], W[0]].iter().map(|w| sb_d.get(*w, &mut env()).map(|r| r.job)).collect();
    assert_eq!(jobs, [Some(2), Some(1), Some(3), Some(4)]);
}

#[test]
fn a_worker_that_waits_within_a_cluster_gets_nothing_from_further_up() {
    let machine = two_sockets();
    let sb = sb(&machine);
    let l3 = machine.last_level(W[0]);
    sb.add(W[0], task(1, Bytes::kib(100)), &mut env());
    assert_eq!(sb.get_within(W[0], l3, &mut env()), None, "it waits at the root");
    let parent = sb.get(W[0], &mut env()).expect("without the restriction it is there");
    let child = parent.task.child(0, None, None);
    sb.add(W[0], Ready { job: 2, task: child, stage: Stage::Start }, &mut env());
    assert_eq!(sb.get_within(W[1], l3, &mut env()).map(|r| r.job), Some(2));
}

#[test]
fn bucket_zero_goes_before_deeper_buckets() {
    let machine = two_sockets();
    let sb = sb(&machine);
    sb.add(W[0], task(1, Bytes::kib(500)), &mut env());
    sb.add(W[0], task(2, Bytes::mib(64)), &mut env());
    assert_eq!(sb.get(W[0], &mut env()).map(|r| r.job), Some(2));
}

#[test]
fn of_unknown_size_a_worker_takes_its_own_newest_and_another_the_oldest() {
    let machine = two_sockets();
    for sb in [sb(&machine), SpaceBounded::distributed(&machine, Options::default())] {
        for job in 1..=3 {
            sb.add(
                W[0],
                Ready { job, task: TaskInfo::root(None, None), stage: Stage::Start },
                &mut env(),
            );
        }
        let take = |w: usize| sb.get(W[w], &mut env()).map(|ready| ready.job);
        assert_eq!([take(0), take(1), take(3), take(0)], [Some(3), Some(1), Some(2), None]);
    }
}

#[test]
fn a_waiting_worker_finds_what_is_accepted_the_oldest_first_where_there_is_room() {
    let machine = two_sockets();
    let sb = sb(&machine);
    sb.add(W[0], task(1, Bytes::mib(4)), &mut env());
    let parent = sb.get(W[0], &mut env()).expect("room for it");
    for (job, bytes) in
        [(2, Bytes::mib(2)), (3, Bytes::kib(20)), (4, Bytes::kib(24)), (5, Bytes::mib(3))]
    {
        let task = parent.task.child(0, Some(bytes), None);
        sb.add(W[0], Ready { job, task, stage: Stage::Start }, &mut env());
    }
    let found = |accepts: &[u32]| sb.get_if(W[1], &|job| accepts.contains(job), &mut env());
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[2, 5]).map(|ready| ready.job), Some(2));
    let small = found(&[3, 4]).expect("room for it");
    assert_eq!(
        (small.job, small.task.anchor),
        (3, machine.workers()[1].leaf),
        "anchored as by `get`"
    );
    // 40 of 64 KiB are claimed: the next fits, and then none does.
    sb.add(W[0], task(6, Bytes::kib(24)), &mut env());
    assert_eq!(found(&[4]).map(|ready| ready.job), Some(4));
    assert_eq!(found(&[6]), None);
    assert!(sb.can_find() && !sb.can_choose());
    sb.check();
}

#[test]
fn while_nothing_has_a_size_a_waiting_worker_may_choose() {
    let machine = two_sockets();
    let sb = sb(&machine);
    for job in 1..=4 {
        sb.add(
            W[0],
            Ready { job, task: TaskInfo::root(None, None), stage: Stage::Start },
            &mut env(),
        );
    }
    assert!(sb.can_choose());
    let take = |w: usize, jobs: [u32; 2]| {
        sb.get_if(W[w], &|job| jobs.contains(job), &mut env()).map(|ready| ready.job)
    };
    assert_eq!([take(3, [2, 3]), take(0, [1, 3]), take(0, [5, 6])], [Some(2), Some(3), None]);
    sb.add(W[0], task(5, Bytes::kib(100)), &mut env());
    assert!(!sb.can_choose());
}
