//! What a worker knows of the sizes of tasks that are forked on it, and what follows from them.

use befit_sched::{TaskInfo, forks};

use super::{Running, Worker};
use crate::{
    system,
    threads::{
        engine::{About, Sizes, Stack},
        fork::stack_pointer,
        sizer::{ForkedAt, Sizer},
    },
};

impl Worker {
    /// The sizes that a task goes by that is forked here, the `index`-th of its fork, by the task
    /// `within`: what it declares, else what the pool's table knows; none if it has its parent's.
    /// `depth` forks enclose it, counted from the nearest spawned task or root.
    ///
    /// # Safety
    /// The closure that `about` names is where it says, and stays so until this returns.
    #[inline]
    pub(crate) unsafe fn sizes(
        &self,
        about: &About,
        index: u32,
        depth: u32,
        within: &Running<'_>,
    ) -> Sizes {
        let Some(sizer) = &self.sizer else { return about.declared };
        let size = within.task.size;
        let parent = (size != TaskInfo::UNKNOWN).then(|| (size, within.depth.get()));
        // SAFETY: promised by the caller.
        unsafe { self.sizes_by(sizer, about, ForkedAt { index, depth, parent }) }
    }

    /// Out of line, so that no program that forks has the prediction of sizes compiled into it.
    ///
    /// # Safety
    /// As for [`Self::sizes`].
    #[inline(never)]
    unsafe fn sizes_by(&self, sizer: &Sizer, about: &About, at: ForkedAt) -> Sizes {
        // SAFETY: the closure is there, and so are stacks in use.
        unsafe { sizer.sizes(about, at, |address| self.is_variable(address)) }
    }

    /// Whether the eight bytes at `address` lie where a variable of the program's can lie that the
    /// running task has captured by reference: on this thread's own stack, or in a function that
    /// waits for the running task on another one's.
    fn is_variable(&self, address: usize) -> bool {
        self.is_variable_by(self.stack.get(), address)
    }

    /// As [`Self::is_variable`], where the thread's own stack is this one.
    fn is_variable_by(&self, stack: Stack, address: usize) -> bool {
        // SAFETY: null between jobs; else of the running job, which has not ended.
        let lineage = || unsafe { self.lineage().as_ref() };
        stack.has(address, stack_pointer(), stack.base)
            || lineage().is_some_and(|lineage| lineage.has_variable(address))
    }

    /// Whether the policy may have to see forks that declare no size: see
    /// [`Self::shows_forks`] and [`Self::must_be_placed`].
    #[inline]
    pub(crate) fn looks_at_forks(&self) -> bool {
        self.looks_at_forks
    }

    /// Whether the policy must see every fork that the running task makes.
    pub(crate) fn shows_forks(&self) -> bool {
        let engine = self.engine();
        let order = || engine.policy.fork_order(self.task());
        forks::shows_forks(&engine.capabilities, order, || self.may_share())
    }

    /// Whether the policy must decide where `child`, a fork of the running task `parent`, runs.
    pub(crate) fn must_be_placed(&self, parent: &TaskInfo, child: &TaskInfo) -> bool {
        let Some(thresholds) = &self.thresholds else { return false };
        thresholds.is_anchored_at_a_shared_cache(child.size, parent.size) && self.may_share()
    }

    /// Whether the halves of a fork, of which at least one has a size of its own, may run without
    /// forks if they take little time. Under a policy that places by size, what does not befit a
    /// private cache may contain forks that the policy must see.
    pub(crate) fn may_be_inlined(&self, halves: [&TaskInfo; 2]) -> bool {
        let thresholds = self.thresholds.as_ref();
        thresholds.is_none_or(|t| halves.iter().all(|half| t.may_be_inlined(half.size)))
    }

    /// The thread's own stack below `base`, where jobs are about to run, if the pool reads what
    /// closures capture.
    pub(super) fn stack_from(&self, base: usize) -> Stack {
        if self.sizer.is_none() {
            return Stack::UNKNOWN;
        }
        match system::stack() {
            Some(own) if own.contains(&base) => Stack { bottom: own.start, base },
            // The thread had left it before it became a worker.
            Some(_) => Stack::UNKNOWN,
            // It is larger than that.
            None => Stack { bottom: self.deep_below, base },
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use befit_sched::Capabilities;

    use crate::{
        SizeTable, ThreadPoolBuilder,
        threads::{engine::Stack, fork::stack_pointer, testing::*, worker::Worker},
    };

    /// What lies between the stack and memory that the program recurses in was read, though there
    /// may be none.
    #[test]
    #[cfg_attr(miri, ignore = "its stacks are not in one piece")]
    fn regression_while_the_program_uses_another_stack_nothing_on_it_is_known_to_be_there() {
        let _watchdog = watchdog(MINUTE);
        let builder = ThreadPoolBuilder::new().num_threads(1).machine("pu:1".parse().unwrap());
        let reads = Noting::with(|usual| Capabilities { uses_sizes: true, ..usual });
        builder.policy(reads).sizes(SizeTable::default()).build().unwrap().install(|| {
            Worker::with_current(|worker| {
                let worker = worker.unwrap();
                let own = worker.stack.get();
                let knows = |stack: Stack| {
                    let here = stack_pointer();
                    [64, 1 << 22].map(|above| worker.is_variable_by(stack, here + above))
                };
                assert_eq!(knows(own), [true, false]);
                // As if this function ran far below the thread's own stack, or above.
                let far = 1 << 30;
                let above = Stack { bottom: own.base + far, base: own.base + 2 * far };
                let below = Stack { bottom: own.base - 2 * far, base: own.base - far };
                assert_eq!([knows(above), knows(below)], [[false; 2]; 2]);
                assert_eq!(knows(Stack::UNKNOWN), [false; 2]);
            });
        });
    }
}
