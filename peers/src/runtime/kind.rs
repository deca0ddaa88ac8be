//! The runtimes by name.

use std::{fmt, str::FromStr, time::Duration};

use befit::SchedulerKind;

use super::{Befit, Chili, Rayon, Serial};
use crate::{
    Error,
    cpp::CppRuntime,
    idle::{Sample, Workload},
    program::Program,
};

/// A runtime, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RuntimeKind {
    /// Plain calls, in Rust.
    Serial,
    /// befit under a scheduler.
    Befit(SchedulerKind),
    /// rayon's `join`.
    Rayon,
    /// rayon's parallel iterators where a program sums over many tasks.
    RayonIter,
    /// chili.
    Chili,
    /// One of those in C++.
    Cpp(CppRuntime),
}

impl RuntimeKind {
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Serial];
        all.extend(SchedulerKind::ALL.map(Self::Befit));
        all.extend([Self::Rayon, Self::RayonIter, Self::Chili]);
        all.extend(CppRuntime::ALL.map(Self::Cpp));
        all
    }

    /// The runtimes that a program is timed on by default: no two that run it in the same way.
    pub(crate) fn usual(program: Program) -> Vec<Self> {
        let keep = |kind: &Self| match kind {
            Self::Befit(SchedulerKind::Ws) => true,
            Self::Befit(SchedulerKind::Sb) => program.has_large_data(),
            Self::Befit(_) => false,
            Self::RayonIter => program.sums(),
            _ => kind.check(program).is_ok(),
        };
        Self::all().into_iter().filter(keep).collect()
    }

    /// Refuses a program for which the runtime lacks something: it would be another program under
    /// the same name.
    ///
    /// # Errors
    /// [`Error::Arguments`].
    pub(crate) fn check(self, program: Program) -> Result<(), Error> {
        match (self, program) {
            (Self::Chili, Program::Spawn) => {
                Err(Error::Arguments("chili has no scopes; leave it out of spawn".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// The names, as users type them.
    pub(crate) fn names() -> String {
        Self::all().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// True if it runs programs on one thread, whatever the command line says.
    pub(crate) fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::Cpp(CppRuntime::Serial))
    }

    /// Builds the runtime in this process, runs `program` on it with inputs of these sizes in turn,
    /// and returns the time of the last.
    ///
    /// # Errors
    /// As [`Program::run`]; [`Error::Failed`] where it cannot be set up; [`Error::Arguments`] for
    /// those in C++, which do not run in this process.
    pub(crate) fn run(
        self,
        program: Program,
        sizes: &[usize],
        threads: usize,
    ) -> Result<Duration, Error> {
        match self {
            Self::Serial => program.run(&Serial, sizes),
            Self::Befit(scheduler) => program.run(&Befit::new(threads, scheduler)?, sizes),
            Self::Rayon => program.run(&Rayon::<false>::new(threads)?, sizes),
            Self::RayonIter => program.run(&Rayon::<true>::new(threads)?, sizes),
            Self::Chili => program.run(&Chili::new(threads), sizes),
            Self::Cpp(_) => Err(Error::Arguments(format!(
                "{self}: not built: it is a program of its own, which `--once` does not run"
            ))),
        }
    }

    /// Builds the runtime in this process and makes so many calls of `workload` on it.
    ///
    /// # Errors
    /// As [`Workload::run`]; [`Error::Failed`] where it cannot be set up; [`Error::Arguments`] for
    /// what has no pool in this process.
    pub(crate) fn idle(
        self,
        workload: Workload,
        threads: usize,
        calls: u32,
    ) -> Result<Sample, Error> {
        match self {
            Self::Befit(scheduler) => {
                workload.run(&Befit::new(threads, scheduler)?, threads, calls)
            }
            Self::Rayon => workload.run(&Rayon::<false>::new(threads)?, threads, calls),
            Self::Chili => workload.run(&Chili::new(threads), threads, calls),
            Self::Serial | Self::RayonIter | Self::Cpp(_) => Err(self.has_no_pool()),
        }
    }

    /// Why it is not measured beside idle pools.
    pub(crate) fn has_no_pool(self) -> Error {
        Error::Arguments(format!("{self} has no pool that could be idle"))
    }

    /// Those that have a pool that can be idle.
    pub(crate) fn with_pools() -> Vec<Self> {
        let befit = SchedulerKind::ALL.map(Self::Befit).into_iter();
        befit.chain([Self::Rayon, Self::Chili]).collect()
    }
}

impl fmt::Display for RuntimeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial => f.write_str("serial"),
            Self::Befit(scheduler) => write!(f, "befit-{scheduler}"),
            Self::Rayon => f.write_str("rayon"),
            Self::RayonIter => f.write_str("rayon-iter"),
            Self::Chili => f.write_str("chili"),
            Self::Cpp(runtime) => f.write_str(runtime.name()),
        }
    }
}

impl FromStr for RuntimeKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::all().into_iter().find(|kind| kind.to_string() == name);
        found.ok_or_else(|| format!("unknown runtime '{name}'; known: {}", Self::names()))
    }
}
