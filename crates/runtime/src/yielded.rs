//! What giving way answers; the same in the recorded form.

/// What [`yield_now`](crate::yield_now) and [`yield_local`](crate::yield_local) found.
///
/// ```
/// /// Waits until `is_over`, and helps meanwhile.
/// fn wait_until(is_over: impl Fn() -> bool) {
///     while !is_over() {
///         if befit::yield_now() != Some(befit::Yield::Executed) {
///             std::thread::yield_now();
///         }
///     }
/// }
/// let (sender, receiver) = std::sync::mpsc::channel();
/// befit::spawn(move || sender.send(1).unwrap());
/// wait_until(|| receiver.try_recv().is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yield {
    /// A task, which has been run.
    Executed,
    /// Nothing.
    Idle,
}
