//! Which steps make a tree.

use super::*;

enum Do {
    Fork(u32),
    End,
    Sync(u32),
    Strand,
}
use Do::{End, Fork, Strand, Sync};

fn build(steps: &[Do]) -> Result<Tree, TreeError> {
    let mut builder = TreeBuilder::default();
    for step in steps {
        match *step {
            Fork(scope) => builder.fork(ScopeId(scope), 0).map(drop)?,
            End => builder.end().map(drop)?,
            Sync(scope) => builder.sync(ScopeId(scope))?,
            Strand => builder.strand().map(drop)?,
        }
    }
    builder.finish()
}

#[test]
fn tasks_and_strands_are_numbered_in_serial_order_and_walked_in_it() {
    let tree = build(&[
        Strand,
        Fork(1),
        Strand,
        Fork(2),
        Strand,
        End,
        Sync(2),
        End,
        Fork(1),
        End,
        Sync(1),
    ])
    .unwrap();
    let fork = |child, scope| Op::Fork { child: TaskId(child), scope: ScopeId(scope) };
    let strand = |n| Op::Strand(StrandId(n));
    assert_eq!(tree.ops(TaskId(0)), [strand(0), fork(1, 1), fork(3, 1), Op::Sync(ScopeId(1))]);
    assert_eq!(tree.ops(TaskId(1)), [strand(1), fork(2, 2), Op::Sync(ScopeId(2))]);
    assert_eq!(tree.ops(TaskId(2)), [strand(2)]);
    assert_eq!(tree.ops(TaskId(3)), []);
    assert_eq!([1, 2, 3].map(|task| tree.parent(TaskId(task)).0), [0, 1, 0]);
    let ends: Vec<u32> = Serial::new(&tree)
        .filter_map(|step| if let Step::End(task) = step { Some(task.0) } else { None })
        .collect();
    assert_eq!(ends, [2, 1, 3, 0]);
}

#[test]
fn ends_match_forks() {
    assert_eq!(build(&[Fork(0), End, End]).unwrap_err(), TreeError::EndOfRoot);
    assert_eq!(build(&[Fork(0), Fork(0), End]).unwrap_err(), TreeError::Open(1));
}

#[test]
fn a_grandchild_may_spawn_into_a_scope_of_its_grandparent() {
    // scope(|s| join(|| s.spawn(..), || s.spawn(..))), and again after a first wait
    let once =
        || [Fork(1), Fork(2), Strand, End, End, Fork(1), Fork(2), End, End, Sync(1), Sync(2)];
    assert!(build(&once().into_iter().chain(once()).collect::<Vec<_>>()).is_ok());
}

#[test]
fn a_task_cannot_wait_for_itself_or_an_ancestor() {
    let error = build(&[Fork(1), Sync(1), End]).unwrap_err();
    assert_eq!(error, TreeError::Sync { task: 1, scope: 1, other: 1 });
    let error = build(&[Fork(1), Fork(2), Sync(1), End, End]).unwrap_err();
    assert_eq!(error, TreeError::Sync { task: 2, scope: 1, other: 1 });
}

#[test]
fn a_task_cannot_wait_for_its_siblings() {
    let error = build(&[Fork(1), End, Fork(2), Sync(1), End]).unwrap_err();
    assert_eq!(error, TreeError::Sync { task: 2, scope: 1, other: 1 });
}

#[test]
fn a_task_cannot_fork_into_a_scope_that_a_stranger_waits_for() {
    // Serially the wait comes first and finds nothing; in parallel it would meet the sibling's
    // child.
    let error = build(&[Fork(0), Sync(1), End, Fork(0), Fork(1), End, End]).unwrap_err();
    assert_eq!(error, TreeError::Fork { task: 2, scope: 1 });
    let twice = [Fork(0), Sync(1), End, Fork(0), Sync(1), Fork(1), End, End];
    assert_eq!(build(&twice).unwrap_err(), TreeError::Fork { task: 2, scope: 1 });
    assert!(build(&[Fork(0), Sync(1), Fork(1), End, Sync(1), End, Sync(0)]).is_ok());
}

#[test]
fn the_root_may_wait_for_every_detached_task() {
    assert!(build(&[Fork(1), Fork(0), End, End, Sync(1), Sync(0)]).is_ok());
}

#[test]
fn a_scope_must_be_known_or_the_next() {
    assert_eq!(build(&[Sync(2)]).unwrap_err(), TreeError::Scope { scope: 2, next: 1 });
}
