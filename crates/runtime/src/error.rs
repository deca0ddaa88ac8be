//! Why a pool cannot be built.

use std::{error::Error, fmt, io};

use befit_sched::SchedulerKind;

/// Why [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) or
/// [`build_global`](crate::ThreadPoolBuilder::build_global) failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ThreadPoolBuildError {
    /// There is a global pool already: built by an earlier `build_global`, or by the first call that needed it.
    GlobalPoolExists,
    /// σ must be above 0 and at most 1.
    Sigma(f64),
    /// μ must be above 0 and at most 1.
    Mu(f64),
    /// The scheduler cannot hold a waiting worker to what it waits for.
    WaitPolicy(SchedulerKind),
    /// A variable of the environment has a value that cannot be.
    Environment {
        /// The variable's name.
        variable: &'static str,
        /// What is wrong with its value, and what is known instead.
        what: String,
    },
    /// The system refused to start a thread.
    Thread {
        /// Which thread of the pool, from 0.
        index: usize,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GlobalPoolExists => f.write_str(
                "the global thread pool exists already; call build_global before anything else runs in it, and once",
            ),
            Self::Sigma(sigma) => write!(f, "sigma is {sigma}; it must be above 0 and at most 1"),
            Self::Mu(mu) => write!(f, "mu is {mu}; it must be above 0 and at most 1"),
            Self::WaitPolicy(scheduler) => {
                write!(f, "WaitPolicy::Descendants works with the schedulers ws and pws, not with {scheduler}")
            }
            Self::Environment { variable, what } => write!(f, "{variable}: {what}"),
            Self::Thread { index, source } => write!(f, "cannot start thread {index} of the pool: {source}"),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Thread { source, .. } => Some(source),
            _ => None,
        }
    }
}
