use befit_machine::{Bytes, ClusterId};

use super::{Play, W, two_sockets};
use crate::{
    Options, SchedulerKind, TaskInfo,
    policy::bitier::{Mark, Tier},
};

/// `hws` with subtrees one fork below the root. All four workers look for work, so the first of
/// each socket is its head.
fn hws() -> Play {
    let options = Options { boundary: 1, ..Options::default() };
    let mut play = Play::on(&two_sockets(), SchedulerKind::Hws, options);
    assert!((0..4).all(|w| play.get(w).is_none()));
    play
}

/// Runs the root on worker 0, and adds children of it.
fn forked(play: &mut Play, size: Option<Bytes>, children: u32) -> TaskInfo {
    play.add(0, 100, size);
    let root = play.get(0).expect("the root").task;
    for index in 0..children {
        play.start(0, index, root.child(index, None, None));
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
    let (mut play, machine) = (hws(), two_sockets());
    forked(&mut play, None, 4);
    assert!(play.get(1).is_none() && play.get(3).is_none());
    let first = play.get(0).expect("its own pool's newest");
    assert_eq!((first.job, play.get(0)), (3, None));
    let stolen = play.get(2).expect("another's oldest");
    assert_eq!(stolen.job, 0);
    let bound = machine.cluster(stolen.task.anchor);
    assert!(bound.has(W[3]) && !bound.has(W[0]));
    assert_eq!(play.end(0, &first), Some(ClusterId::ROOT));
    assert!(play.get(0).is_some());
}

#[test]
fn what_a_subtree_forks_is_taken_on_its_socket_only() {
    let mut play = hws();
    forked(&mut play, None, 1);
    let subtree = play.get(0).expect("the subtree").task;
    assert_eq!(play.start(0, 7, subtree.child(0, None, None)), subtree.anchor);
    assert!(play.get(2).is_none() && play.get(3).is_none());
    assert_eq!(play.job(1), Some(7));
}

#[test]
fn cab_cuts_where_the_declared_size_divided_by_the_branching_fits() {
    // 8 MiB in eighths fit 1 MiB; of 0.5 MiB each of two sockets gets a half.
    for (size, level) in [(8 << 20, 3), (1 << 19, 1)] {
        let mut play = Play::of(SchedulerKind::Cab);
        let mut task = forked(&mut play, Some(Bytes(size)), 0);
        for depth in 1..=level {
            play.start(0, depth, task.child(0, None, None));
            task = play.get(0).expect("what was added").task;
            let tier = if depth == level { Tier::Leaf } else { Tier::Inter };
            assert_eq!(Mark::of(task.mark).tier, tier, "{size} at depth {depth}");
        }
    }
}

#[test]
fn where_only_children_have_sizes_cab_takes_the_input_for_as_many_as_a_task_has() {
    // The shared caches have 1 MiB. Under a root of unknown size, whose children have 4 MiB each,
    // subtrees begin at depth 3; under one of 8 MiB, too.
    for (root, child) in [(None, Some(Bytes(4 << 20))), (Some(Bytes(8 << 20)), None)] {
        let mut play = Play::on(&two_sockets(), SchedulerKind::Cab, Options::default());
        assert!((0..4).all(|w| play.get(w).is_none()));
        play.add(0, 100, root);
        let mut task = play.get(0).expect("the root").task;
        let mut tiers = Vec::new();
        for depth in 1..5 {
            let size = child.filter(|_| depth == 1);
            play.start(0, depth, task.child(0, size, None));
            task = play.get(0).expect("its only child").task;
            tiers.push(Mark::of(task.mark).tier);
        }
        assert_eq!(tiers, [Tier::Inter, Tier::Inter, Tier::Leaf, Tier::Intra], "{root:?}");
    }
}
