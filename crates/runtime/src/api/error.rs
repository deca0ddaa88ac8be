//! Why a pool cannot be built, or waited for.

use std::{error::Error, fmt, io};

use befit_sched::OptionError;

/// Why [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) or
/// [`build_global`](crate::ThreadPoolBuilder::build_global) failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ThreadPoolBuildError {
    /// There is a global pool already: built by an earlier `build_global`, or by the first call
    /// that needed it.
    GlobalPoolExists,
    /// One of the scheduler's options is out of range.
    Option(OptionError),
    /// The thread that [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) was to
    /// give to the pool belongs to one.
    CurrentThreadInPool,
    /// The scheduler cannot hold a waiting worker to what it waits for.
    WaitPolicy(&'static str),
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
                "the global thread pool exists already; \
                 call build_global before anything else runs in it, and once",
            ),
            Self::Option(error) => error.fmt(f),
            Self::CurrentThreadInPool => f.write_str(
                "the current thread belongs to a thread pool already; \
                 build the pool on another thread, or without use_current_thread",
            ),
            Self::WaitPolicy(scheduler) => {
                write!(
                    f,
                    "WaitPolicy::Descendants works with the schedulers ws, pws, cilk-a, cats, \
                     cats-s, pdf, cpdf, central, adws, homes and auto, not with {scheduler}"
                )
            }
            Self::Environment { variable, what } => write!(f, "{variable}: {what}"),
            Self::Thread { index, source } => {
                write!(f, "cannot start thread {index} of the pool: {source}")
            }
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

impl From<OptionError> for ThreadPoolBuildError {
    fn from(error: OptionError) -> Self {
        Self::Option(error)
    }
}

/// Why [`ThreadPool::join_threads`](crate::ThreadPool::join_threads) did not wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JoinThreadsError {
    /// It was called by a thread of the pool itself, which cannot wait for its own end. The pool
    /// ends without anyone waiting for it.
    InsidePool {
        /// Which thread of the pool, from 0.
        index: usize,
    },
}

impl fmt::Display for JoinThreadsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsidePool { index } => write!(
                f,
                "thread {index} of a pool cannot wait for that pool's end, \
                 as it would wait for itself; call join_threads on a thread outside the pool"
            ),
        }
    }
}

impl Error for JoinThreadsError {}
