//! Why a pool cannot be built.

use std::{error::Error, fmt};

/// Why [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) or its relatives failed.
#[derive(Debug)]
pub struct ThreadPoolBuildError(befit::ThreadPoolBuildError);

impl From<befit::ThreadPoolBuildError> for ThreadPoolBuildError {
    fn from(error: befit::ThreadPoolBuildError) -> Self {
        Self(error)
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // Programs compare this one.
            befit::ThreadPoolBuildError::GlobalPoolExists => {
                f.write_str("The global thread pool has already been initialized.")
            }
            other => other.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
