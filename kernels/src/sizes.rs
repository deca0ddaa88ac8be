//! Figures for what kernels declare of themselves.

/// What a strand touches that only cuts its task's input in two, or puts results together: a few
/// lines of stack and a look at the data.
pub(crate) const BOOKKEEPING: usize = 1 << 10;
