use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use super::{ByDepth, Mark, Tier};
use crate::{Options, QuietEnv, Ready, Scheduler, Stage, TaskInfo};

fn machine() -> Machine {
    "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) pu:1".parse().expect("a valid topology")
}

fn env() -> QuietEnv {
    QuietEnv(fastrand::Rng::with_seed(3))
}

const W: [WorkerId; 4] = [WorkerId(0), WorkerId(1), WorkerId(2), WorkerId(3)];

fn start(job: u32, task: TaskInfo) -> Ready<u32> {
    Ready { job, task, stage: Stage::Start }
}

/// Runs the root on worker 0, and adds children of it.
fn forked(policy: &ByDepth<u32>, size: Option<Bytes>, children: u32) -> TaskInfo {
    policy.add(W[0], start(100, TaskInfo::root(size, None)), &mut env());
    let root = policy.get(W[0], &mut env()).expect("the root").task;
    for index in 0..children {
        policy.add(W[0], start(index, root.child(index, None, None)), &mut env());
    }
    root
}

#[test]
fn a_note_keeps_tier_and_number() {
    for tier in [Tier::Open, Tier::Plain, Tier::Inter, Tier::Leaf, Tier::Intra] {
        let mark = Mark::new(tier, 0xffff_fffe);
        assert_eq!(Mark::of(mark.word()), mark);
    }
    assert_eq!(Mark::of(0), Mark::new(Tier::Open, 0));
}

#[test]
fn only_the_head_core_takes_a_subtree_and_one_at_a_time() {
    let policy = ByDepth::hws(&machine(), Options { boundary: 1, ..Options::default() });
    // All four look for work, so the first of each socket is its head.
    assert!(W.iter().all(|w| policy.get(*w, &mut env()).is_none()));
    forked(&policy, None, 4);
    assert!(policy.get(W[1], &mut env()).is_none() && policy.get(W[3], &mut env()).is_none());
    let first = policy.get(W[0], &mut env()).expect("its own pool's newest");
    assert_eq!((first.job, policy.get(W[0], &mut env())), (3, None));
    let stolen = policy.get(W[2], &mut env()).expect("another's oldest");
    assert_eq!(stolen.job, 0);
    assert!(
        machine().cluster(stolen.task.anchor).has(W[3])
            && !machine().cluster(stolen.task.anchor).has(W[0])
    );
    assert_eq!(policy.task_ended(W[0], &first.task, &mut env()), Some(ClusterId::ROOT));
    assert!(policy.get(W[0], &mut env()).is_some());
}

#[test]
fn what_a_subtree_forks_is_taken_on_its_socket_only() {
    let policy = ByDepth::hws(&machine(), Options { boundary: 1, ..Options::default() });
    assert!(W.iter().all(|w| policy.get(*w, &mut env()).is_none()));
    forked(&policy, None, 1);
    let subtree = policy.get(W[0], &mut env()).expect("the subtree").task;
    let cluster = policy.add(W[0], start(7, subtree.child(0, None, None)), &mut env());
    assert_eq!(cluster, subtree.anchor);
    assert!(policy.get(W[2], &mut env()).is_none() && policy.get(W[3], &mut env()).is_none());
    assert_eq!(policy.get(W[1], &mut env()).map(|ready| ready.job), Some(7));
}

#[test]
fn cab_cuts_where_the_declared_size_divided_by_the_branching_fits() {
    // 8 MiB in eighths fit 1 MiB; of 0.5 MiB each of two sockets gets a half.
    for (size, level) in [(8 << 20, 3), (1 << 19, 1)] {
        let policy = ByDepth::<u32>::cab(&machine(), Options::default());
        let mut task = forked(&policy, Some(Bytes(size)), 0);
        for depth in 1..=level {
            policy.add(W[0], start(depth, task.child(0, None, None)), &mut env());
            task = policy.get(W[0], &mut env()).expect("what was added").task;
            let tier = if depth == level { Tier::Leaf } else { Tier::Inter };
            assert_eq!(Mark::of(task.mark).tier, tier, "{size} at depth {depth}");
        }
    }
}
