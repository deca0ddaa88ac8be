//! The predecessor of [`ThreadPoolBuilder`]; deprecated in rayon-core.

use std::{any::Any, error::Error};

use crate::{ThreadPool, ThreadPoolBuilder};

/// [`ThreadPoolBuilder`] by its old name.
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Default, Debug)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

/// Builds the global pool.
///
/// # Errors
/// As [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.builder.build_global().map_err(Box::from)
}

impl Configuration {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn into_builder(self) -> ThreadPoolBuilder {
        self.builder
    }

    fn map(self, change: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder) -> Self {
        Self { builder: change(self.builder) }
    }

    /// As [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As there.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Box::from)
    }

    /// As [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        self.map(|builder| builder.thread_name(closure))
    }

    /// As [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Self {
        self.map(|builder| builder.num_threads(num_threads))
    }

    /// As [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.map(|builder| builder.panic_handler(panic_handler))
    }

    /// As [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        self.map(|builder| builder.stack_size(stack_size))
    }

    /// As [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        self.map(ThreadPoolBuilder::breadth_first)
    }

    /// As [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, start_handler: H) -> Self {
        self.map(|builder| builder.start_handler(start_handler))
    }

    /// As [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, exit_handler: H) -> Self {
        self.map(|builder| builder.exit_handler(exit_handler))
    }
}
