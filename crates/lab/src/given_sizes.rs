//! Which sizes the schedulers of a simulation are given.

use std::{fmt, str::FromStr};

use befit_machine::{Bytes, Lines};
use befit_program::{Declared, Program, SizesFrom};

use crate::Progress;

/// Which sizes the schedulers of a simulation are given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GivenSizes {
    /// Those that the tasks declare; a task that declares none has its parent's.
    #[default]
    Declared,
    /// None: what tasks declare is ignored.
    Nowhere,
    /// Each task's footprint in the recording: exact, which no run can know beforehand.
    Measured,
}

impl GivenSizes {
    /// Gives `program`'s tasks these sizes.
    ///
    /// Measured ones take time O(touches · log depth), and memory as [`Program::footprints`].
    pub fn give(&self, program: Program, progress: &dyn Progress) -> Program {
        match self {
            Self::Declared => program,
            Self::Nowhere => program.with_sizes(SizesFrom::Nowhere, |_, _| Declared::default()),
            Self::Measured => measured(program, progress),
        }
    }
}

fn measured(program: Program, progress: &dyn Progress) -> Program {
    progress.simulating(&program.meta().name, 1, program.total_touches());
    let footprints = program.footprints(&|touches| progress.advance(touches));
    progress.finished();
    let line = program.meta().line_size.0;
    let bytes = |Lines(lines)| Some(Bytes(lines * line));
    program.with_sizes(SizesFrom::Measured, |_, task| {
        let found = footprints[task.0 as usize];
        Declared { size: bytes(found.task), strand: bytes(found.strand) }
    })
}

impl fmt::Display for GivenSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Declared => "declared",
            Self::Nowhere => "none",
            Self::Measured => "measured",
        })
    }
}

impl FromStr for GivenSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Declared, Self::Nowhere, Self::Measured];
        let found = known.into_iter().find(|sizes| sizes.to_string() == text);
        found.ok_or_else(|| format!("unknown sizes '{text}'; known: none, declared, measured"))
    }
}

#[cfg(test)]
mod tests {
    use befit_program::TaskId;

    use super::*;
    use crate::{Silent, testing};

    fn sizes(given: &GivenSizes) -> (SizesFrom, u32, Declared) {
        let program = given.give(testing::program(), &Silent);
        (program.sizes_from(), program.sized_tasks(), program.declared(TaskId(3)))
    }

    #[test]
    fn a_program_keeps_its_sizes_or_loses_them_or_has_what_was_measured() {
        let (size, strand) = (Some(Bytes(16 << 10)), None);
        // The root and sixteen tasks declare a size.
        let declared = sizes(&GivenSizes::Declared);
        assert_eq!(declared, (SizesFrom::Declared, 17, Declared { size, strand }));
        let none = sizes(&GivenSizes::Nowhere);
        assert_eq!(none, (SizesFrom::Nowhere, 0, Declared::default()));
        let measured = sizes(&GivenSizes::Measured);
        assert_eq!(measured, (SizesFrom::Measured, 16, Declared { size, strand: size }));
    }

    #[test]
    fn sizes_are_read_as_they_are_printed() {
        for given in [GivenSizes::Declared, GivenSizes::Nowhere, GivenSizes::Measured] {
            assert_eq!(given.to_string().parse(), Ok(given));
        }
        let error = "guessed".parse::<GivenSizes>().unwrap_err();
        assert!(error.contains("'guessed'") && error.contains("measured"), "{error}");
    }
}
