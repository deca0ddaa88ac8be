//! Who starts a pool's threads; the same in the recorded form.

/// Threads are started by [`std::thread::Builder`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultSpawn;

/// Threads are started by a function of the program; see
/// [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
#[derive(Clone, Copy, Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

pub(crate) mod sealed {
    /// Only this crate can implement it.
    pub trait Sealed {}
}

impl sealed::Sealed for DefaultSpawn {}
impl<F> sealed::Sealed for CustomSpawn<F> {}
