//! stub
/// stub
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stats {
    /// Tasks, the root included.
    pub tasks: u64,
    /// Strands.
    pub strands: u64,
    /// Most forks between the root task and any task.
    pub depth: u32,
    /// Sums over all strands.
    pub work: crate::Work,
    /// T1: operations (loads, stores, basic blocks) of all strands.
    pub operations: u64,
    /// T∞: operations on the longest chain of strands that must run one after another.
    pub span: u64,
}
impl Stats {
    /// T1 / T∞
    pub fn parallelism(&self) -> f64 {
        todo!()
    }
}
