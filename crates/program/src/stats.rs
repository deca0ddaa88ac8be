//! Work, span and depth of a program.

use befit_machine::Bytes;

use crate::tree::Step;
use crate::{Program, Work};

/// A program in a few numbers. An *operation* is a load, a store or the entry into a basic block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Tasks, the root included.
    pub tasks: u32,
    /// Strands.
    pub strands: u32,
    /// Most forks between the root task and any task.
    pub depth: u32,
    /// Sums over all strands.
    pub work: Work,
    /// T1, the work: operations of all strands.
    pub operations: u64,
    /// T∞, the span: operations on the longest chain of strands that must run one after another.
    pub span: u64,
    /// Size of the pages touched, without the stack.
    pub touched: Bytes,
}

impl Stats {
    /// T1 / T∞: how many workers the program could keep busy at most, on average. 1 for a program
    /// without operations.
    pub fn parallelism(&self) -> f64 {
        if self.span == 0 { 1.0 } else { self.operations as f64 / self.span as f64 }
    }
}

impl Program {
    /// Work, span, depth. Time for the number of operations, memory for the number of scopes.
    pub fn stats(&self) -> Stats {
        let mut work = Work::default();
        let mut operations = 0u64;
        let mut span = 0;
        let mut depth = 0;
        // When the last task of each scope ends at the earliest. In the serial execution all of
        // them end before the scope is waited for.
        let mut ends = vec![0u64; self.scopes() as usize];
        // The open tasks: their scopes, and how far they have come.
        let mut open = vec![(0, 0u64)];
        for step in self.tree.serial() {
            let Some((scope, now)) = open.last_mut() else { break };
            match step {
                Step::Strand(strand) => {
                    let cost = self.work(strand);
                    work = work + cost;
                    let cost = cost.loads.saturating_add(cost.stores).saturating_add(cost.blocks);
                    operations = operations.saturating_add(cost);
                    *now = now.saturating_add(cost);
                }
                Step::Sync(scope) => *now = (*now).max(ends[scope.0 as usize]),
                Step::Fork { scope, .. } => {
                    let begin = (scope.0, *now);
                    open.push(begin);
                    depth = depth.max(open.len() - 1);
                }
                Step::End(_) => {
                    let end = &mut ends[*scope as usize];
                    *end = (*end).max(*now);
                    span = span.max(*now);
                    open.pop();
                }
            }
        }
        Stats {
            tasks: self.tasks(),
            strands: self.strands(),
            depth: depth as u32,
            work,
            operations,
            span,
            touched: Bytes(u64::from(self.lines()).saturating_mul(self.meta().line_size.0)),
        }
    }
}
