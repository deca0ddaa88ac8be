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
            End => builder.end()?,
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
    let ops = |task| tree.ops(TaskId(task)).collect::<Vec<_>>();
    assert_eq!(ops(0), [strand(0), fork(1, 1), fork(3, 1), Op::Sync(ScopeId(1))]);
    assert_eq!(ops(1), [strand(1), fork(2, 2), Op::Sync(ScopeId(2))]);
    assert_eq!(ops(2), [strand(2)]);
    assert_eq!(ops(3), []);
    assert_eq!([1, 2, 3].map(|task| tree.parent(TaskId(task)).0), [0, 1, 0]);
    let ends: Vec<u32> = tree
        .serial()
        .filter_map(|step| if let Step::End(task) = step { Some(task.0) } else { None })
        .collect();
    assert_eq!(ends, [2, 1, 3, 0]);
}

#[test]
fn steps_that_make_no_tree_are_refused_with_a_reason() {
    let refused: [(&[Do], TreeError); 9] = [
        // Ends match forks.
        (&[Fork(0), End, End], TreeError::EndOfRoot),
        (&[Fork(0), Fork(0), End], TreeError::Open(1)),
        // A task cannot wait for itself or an ancestor,
        (&[Fork(1), Sync(1), End], TreeError::Sync(1, 1, 1)),
        (&[Fork(1), Fork(2), Sync(1), End, End], TreeError::Sync(2, 1, 1)),
        // nor for its siblings.
        (&[Fork(1), End, Fork(2), Sync(1), End], TreeError::Sync(2, 1, 1)),
        // It cannot fork into a scope that a stranger waits for. Serially the wait comes first and
        // finds nothing; in parallel it would meet the sibling's child.
        (&[Fork(0), Sync(1), End, Fork(0), Fork(1), End, End], TreeError::Fork(2, 1)),
        (&[Fork(0), Sync(1), End, Fork(0), Sync(1), Fork(1), End, End], TreeError::Fork(2, 1)),
        // A scope must be known or the next.
        (&[Sync(2)], TreeError::Scope(2, 1)),
        (&[Sync(1), Sync(3)], TreeError::Scope(3, 2)),
    ];
    for (steps, error) in refused {
        assert_eq!(build(steps).unwrap_err(), error);
    }
}

#[test]
fn descendants_and_ancestors_may_share_a_scope() {
    // scope(|s| join(|| s.spawn(..), || s.spawn(..))), and again after a first wait
    let once =
        || [Fork(1), Fork(2), Strand, End, End, Fork(1), Fork(2), End, End, Sync(1), Sync(2)];
    assert!(build(&once().into_iter().chain(once()).collect::<Vec<_>>()).is_ok());
    assert!(build(&[Fork(0), Sync(1), Fork(1), End, Sync(1), End, Sync(0)]).is_ok());
    // The root may wait for every detached task.
    assert!(build(&[Fork(1), Fork(0), End, End, Sync(1), Sync(0)]).is_ok());
}
