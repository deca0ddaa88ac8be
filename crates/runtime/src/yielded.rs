//! What giving way answers; the same in the recorded form.

/// What [`yield_now`](crate::yield_now) and [`yield_local`](crate::yield_local) found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yield {
    /// A task, which has been run.
    Executed,
    /// Nothing.
    Idle,
}
