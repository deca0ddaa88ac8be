//! What a policy that measures has found out about the program.

use befit_machine::Bytes;

use crate::CountSource;

/// What a bi-tier policy made of the program so far. (See [`crate::Scheduler::tiers`].)
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tiers {
    /// Where its sizes come from; none if it has seen none.
    pub source: Option<CountSource>,
    /// Why it steals as if there were one tier, where it does.
    pub plain: Option<&'static str>,
    /// How often it cut a computation in tiers.
    pub partitions: u64,
    /// Of the latest: bytes that one iteration involves (SOID of its root).
    pub root: Bytes,
    /// Of the latest: inter-socket tasks, the root included, leaf inter-socket tasks not.
    pub inter: u64,
    /// Of the latest: leaf inter-socket tasks, each the root of an intra-socket subtree, in serial
    /// order.
    pub subtrees: Vec<Subtree>,
    /// Subtrees that ran on another socket than the last time.
    pub moved: u64,
    /// Subtrees that were run in all.
    pub ran: u64,
}

/// One intra-socket subtree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subtree {
    /// Which child of which child … of the program's first task its root is: the task's identity.
    /// Numbers of children restart at each sync.
    pub path: Vec<u32>,
    /// Bytes that it involves, as measured (SOID).
    pub soid: Bytes,
    /// The socket (last-level cache) that it is bound to, under policies that bind.
    pub socket: Option<u32>,
}
