//! Which sizes the schedulers of a simulation are given.

use std::path::Path;

use befit_program::{Declared, Program, SizesFrom, TaskId};
use befit_sched::sizes::{SizeTable, known};

use crate::Progress;

/// Which sizes the schedulers of a simulation are given.
#[derive(Clone, PartialEq, Debug)]
pub enum GivenSizes {
    /// Those that the tasks declare; a task that declares none has its parent's.
    Declared,
    /// None: what tasks declare is ignored.
    Nowhere,
    /// Each task's footprint in the recording: exact, which no run can know beforehand.
    Measured,
    /// What tasks declare, else what a table knows, as on threads.
    Learned {
        /// The table; without one, the table that is learned from the recording itself.
        table: Option<Box<SizeTable>>,
        /// What tasks declare is ignored.
        only: bool,
    },
}

impl GivenSizes {
    /// The sizes for `text`: `none`, `declared`, `measured`, `learned`, `learned=FILE`,
    /// `only-learned` or `only-learned=FILE`.
    ///
    /// # Errors
    /// In one line, when it is none of these, or the file cannot be read or is no table.
    pub fn find(text: &str) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((name, file)) => (name, Some(Path::new(file))),
            None => (text, None),
        };
        match (name, file) {
            ("declared", None) => Ok(Self::Declared),
            ("none", None) => Ok(Self::Nowhere),
            ("measured", None) => Ok(Self::Measured),
            ("learned" | "only-learned", file) => Ok(Self::Learned {
                table: file.map(load).transpose()?,
                only: name == "only-learned",
            }),
            _ => Err("known: none, declared, measured, learned, learned=FILE, only-learned, \
                      only-learned=FILE"
                .to_owned()),
        }
    }

    /// The sizes for `program` where nobody asked for others: those that it declares; if it
    /// declares none, and its recording tells where tasks were forked, those that are learned from
    /// the recording.
    pub fn usual(program: &Program) -> Self {
        let has_sites = || befit_learn::keys(program).iter().any(Option::is_some);
        if program.sized_tasks() == 0 && has_sites() {
            Self::Learned { table: None, only: false }
        } else {
            Self::Declared
        }
    }

    /// Gives `program`'s tasks these sizes.
    ///
    /// Measured ones, and those that are learned here, take time O(touches · log depth), and memory
    /// as [`Program::footprints`].
    pub fn give(&self, program: Program, progress: &dyn Progress) -> Program {
        match self {
            Self::Declared => program,
            Self::Nowhere => without(program),
            Self::Measured => measured(program, progress),
            Self::Learned { table, only } => {
                let from = match table {
                    _ if *only => SizesFrom::OnlyLearned,
                    Some(_) => SizesFrom::Learned,
                    None => SizesFrom::LearnedHere,
                };
                let here = table.is_none().then(|| learn(&[&program], progress));
                let program = if *only { without(program) } else { program };
                match table.as_deref().or(here.as_ref()) {
                    Some(table) => learned(program, from, table),
                    None => program,
                }
            }
        }
    }
}

/// The sizes of the tasks of `programs`, recordings of one program: [`befit_learn::learn`].
pub fn learn(programs: &[&Program], progress: &dyn Progress) -> SizeTable {
    let name = programs.first().map_or("", |program| &program.meta().name);
    let touches = programs.iter().map(|program| program.total_touches()).sum();
    progress.simulating(name, programs.len(), touches);
    let table = befit_learn::learn(programs, &|touches| progress.advance(touches));
    progress.finished();
    table
}

fn load(file: &Path) -> Result<Box<SizeTable>, String> {
    let table = SizeTable::load(file).map_err(|error| format!("{}: {error}", file.display()));
    table.map(Box::new)
}

fn without(program: Program) -> Program {
    program.with_sizes(SizesFrom::Nowhere, |_, _| Declared::default())
}

fn measured(program: Program, progress: &dyn Progress) -> Program {
    progress.simulating(&program.meta().name, 1, program.total_touches());
    let footprints = program.footprints(&|touches| progress.advance(touches));
    progress.finished();
    let line = program.meta().line_size;
    program.with_sizes(SizesFrom::Measured, |_, task| footprints[task.0 as usize].sizes(line))
}

/// By the rule that threads go by, too: [`known`].
fn learned(program: Program, from: SizesFrom, table: &SizeTable) -> Program {
    let mut predictor = befit_learn::Predictor::new(&program, table);
    let root = program.declared(TaskId(0));
    let given = program.with_sizes(from, |program, task| {
        let declared = program.declared(task);
        let found = predictor.predict(program, task, declared);
        let (size, strand) = known(declared.size, declared.strand, || found);
        Declared { size, strand }
    });
    given.with_root(root)
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;
    use befit_program::{Meta, ProgramBuilder, ScopeId, Site};

    use super::*;
    use crate::{Silent, testing};

    #[test]
    fn a_program_keeps_its_sizes_or_loses_them_or_has_what_was_measured() {
        let sizes = |text: &str| {
            let program = GivenSizes::find(text).unwrap().give(testing::program(), &Silent);
            (program.sizes_from(), program.sized_tasks(), program.declared(TaskId(3)))
        };
        let (size, strand) = (Some(Bytes(16 << 10)), None);
        // The root and sixteen tasks declare a size.
        let declared = sizes("declared");
        assert_eq!(declared, (SizesFrom::Declared, 17, Declared { size, strand }));
        let none = sizes("none");
        assert_eq!(none, (SizesFrom::Nowhere, 0, Declared::default()));
        let measured = sizes("measured");
        assert_eq!(measured, (SizesFrom::Measured, 16, Declared { size, strand: size }));
    }

    /// Tasks of 1 to `tasks` lines each, which their closures capture; of the first `declaring`
    /// each declares a byte. Each forks one at a place that is not known.
    fn walks(tasks: u64, declaring: u64) -> Program {
        let meta = Meta { name: "walks".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        let place = builder.place("walk").unwrap();
        let site = builder.site(Site { place, bytes: 16, index: 0 }).unwrap();
        for lines in 1..=tasks {
            let size = (lines <= declaring).then_some(Bytes(1));
            let declared = Declared { size, strand: None };
            let words = [lines, 7, 0, 0, 0, 0, 0, 0];
            builder.fork_from(ScopeId(1), declared, site, (0..).zip(words)).unwrap();
            (0..lines).for_each(|line| builder.touch(100 * lines + line, false, false));
            let inner = ScopeId(1 + lines as u32);
            builder.fork(inner, Declared::default()).unwrap();
            builder.end().unwrap();
            builder.sync(inner).unwrap();
            builder.end().unwrap();
        }
        builder.sync(ScopeId(1)).unwrap();
        builder.finish().unwrap()
    }

    /// The size of the task that touches so many lines, and of the one that it forks.
    fn of(program: &Program, lines: u32) -> [Option<u64>; 2] {
        [2 * lines - 1, 2 * lines].map(|task| program.declared(TaskId(task)).size.map(|s| s.0))
    }

    #[test]
    fn what_is_learned_from_one_recording_holds_for_another() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("walks.sizes");
        std::fs::write(&file, learn(&[&walks(20, 0)], &Silent).to_string()).unwrap();
        let root = Declared { size: Some(Bytes(1 << 20)), strand: None };
        let given = |text: &str| {
            let text = format!("{text}{}", file.display());
            GivenSizes::find(&text).unwrap().give(walks(60, 30).with_root(root), &Silent)
        };
        let learned = given("learned=");
        assert_eq!((learned.sizes_from(), learned.sized_tasks()), (SizesFrom::Learned, 61));
        assert_eq!(learned.declared(TaskId(0)), root);
        // What is declared goes before what is learned; a site that is not known has no size.
        assert_eq!([of(&learned, 30), of(&learned, 60)], [[Some(1), None], [Some(3840), None]]);
        let only = given("only-learned=");
        assert_eq!((only.sizes_from(), only.sized_tasks()), (SizesFrom::OnlyLearned, 60));
        assert_eq!(of(&only, 30), [Some(1920), None]);
    }

    #[test]
    fn a_program_that_declares_nothing_usually_has_sizes_from_its_own_recording() {
        assert_eq!(GivenSizes::usual(&walks(60, 1)), GivenSizes::Declared);
        let silent = walks(60, 0);
        let usual = GivenSizes::usual(&silent);
        let program = usual.give(silent, &Silent);
        assert_eq!((program.sizes_from(), program.sized_tasks()), (SizesFrom::LearnedHere, 60));
        assert_eq!(of(&program, 60), [Some(3840), None]);
        // Nobody knows where its tasks were forked.
        let none = testing::program().with_sizes(SizesFrom::Declared, |_, _| Declared::default());
        assert_eq!(GivenSizes::usual(&none), GivenSizes::Declared);
    }

    #[test]
    fn a_file_that_is_no_table_is_told_with_its_name_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bad.sizes");
        let find = || GivenSizes::find(&format!("learned={}", file.display())).unwrap_err();
        assert!(find().contains("bad.sizes"), "{}", find());
        std::fs::write(&file, "befit.sizes/2\nsight 5\n").unwrap();
        assert!(find().contains("bad.sizes: line 2"), "{}", find());
        for text in ["guessed", "measured=5", "none=", ""] {
            let error = GivenSizes::find(text).unwrap_err();
            assert!(error.contains("only-learned=FILE"), "{text}: {error}");
        }
    }
}
