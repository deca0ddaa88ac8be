//! Hierarchical localized work stealing: the task groups, and which of them are dominant.
//!
//! A group lasts until the last child in it has ended. Its place among the groups is noted in each
//! child's mark, above the child's range: ranges of tasks of the same depth may overlap, so the
//! range alone does not tell whose child it is.

use std::ops::Range;

use smallvec::SmallVec;

use crate::{Env, Guarded, LockId, TaskInfo, policy::homes::Home};

/// Where the place begins in a mark, counted from 1; below it, adws has a range in its only row.
const SHIFT: u32 = 50;
/// Where there are so many, tasks begin no other: nobody steals their children within their range.
const MOST: usize = (1 << (u64::BITS - SHIFT)) - 1;

/// The task groups.
#[derive(Debug)]
pub(super) struct Groups(Guarded<Vec<Group>>);

#[derive(Debug)]
struct Group {
    /// Range and depth of the task whose children they are, or of several that have both alike.
    range: Home,
    depth: u32,
    /// Children that have not ended; without any, its place may become another group's.
    left: u32,
    dominant: bool,
}

/// The range of a task.
pub(super) fn range(task: &TaskInfo) -> Option<Home> {
    Home::read(task.mark & ((1 << SHIFT) - 1))
}

impl Groups {
    pub(super) fn new(id: LockId) -> Self {
        Self(Guarded::new(id, Vec::new()))
    }

    /// A task with this range forked `child`, which has the range `own`. Returns the child's mark.
    pub(super) fn enter(&self, range: Home, child: &TaskInfo, own: Home, env: &mut dyn Env) -> u64 {
        let depth = child.depth.saturating_sub(1);
        let place = self.0.with(env, |groups, _| {
            let same = |it: &Group| it.range == range && it.depth == depth;
            let at = groups.iter().position(same);
            let at = at.or_else(|| groups.iter().position(|it| it.left == 0));
            let at = at.unwrap_or(groups.len());
            if at == MOST {
                return 0;
            }
            let new = Group { range, depth, left: 0, dominant: false };
            match groups.get_mut(at) {
                None => groups.push(new),
                // The task's next round begins with its first child.
                Some(old) if old.left == 0 && (!same(old) || child.index == 0) => *old = new,
                Some(_) => {}
            }
            groups[at].left += 1;
            at as u64 + 1
        });
        own.word() | place << SHIFT
    }

    /// `child` has ended. Returns whether its group becomes dominant.
    pub(super) fn child_ended(&self, child: &TaskInfo, env: &mut dyn Env) -> bool {
        let Some(at) = (child.mark >> SHIFT).checked_sub(1) else { return false };
        self.0.with(env, |groups, _| {
            groups.get_mut(at as usize).is_some_and(|group| {
                group.left = group.left.saturating_sub(1);
                !std::mem::replace(&mut group.dominant, true)
            })
        })
    }

    /// The ranges of the dominant groups around worker `w`, the topmost first, but for those that
    /// lie in one before: what may be stolen in these, may be in that.
    ///
    /// So where a group is left by its last child, a worker that found nothing finds nothing more,
    /// and need not be told.
    pub(super) fn around(
        &self,
        w: usize,
        workers: impl Fn(Home) -> Range<usize>,
        env: &mut dyn Env,
    ) -> SmallVec<[Home; 2]> {
        self.0.with(env, |groups, _| {
            let around = groups
                .iter()
                .filter(|it| it.dominant && it.left > 0 && workers(it.range).contains(&w));
            let mut around: SmallVec<[_; 8]> = around.map(|it| (it.depth, it.range)).collect();
            around.sort_by_key(|(depth, _)| *depth);
            let mut topmost = SmallVec::<[Home; 2]>::new();
            for (_, range) in around {
                if !topmost.iter().any(|above| above.contains(range)) {
                    topmost.push(range);
                }
            }
            topmost
        })
    }
}
