//! What the tasks of large recordings touch, by the recording's content: to find it takes a pass
//! through all touches.

use std::{
    io,
    path::{Path, PathBuf},
};

use befit_machine::Lines;
use befit_program::{Footprint, Program};

use super::{add, content, file_of, read, used};
use crate::Progress;

/// To be raised when [`Program::footprints`] is to find other footprints of the same recording than
/// before: they are kept by its content alone.
const GENERATION: u32 = 1;

/// Of more tasks it is not kept: the file would be larger than many a recording.
const MOST_TASKS: u32 = 1 << 20;

/// [`Program::footprints`], or what was kept of them.
///
/// `advance` is told of touches that are read, as there.
pub(crate) fn footprints(
    program: &Program,
    advance: &dyn Fn(u64),
    progress: &dyn Progress,
) -> Vec<Footprint> {
    let file = file(program);
    let kept = file.as_ref().and_then(|file| find(file, program));
    kept.unwrap_or_else(|| look(program, file, advance, progress))
}

/// The same where nothing else is simulated meanwhile: `progress` shows how far it is.
pub(crate) fn footprints_alone(program: &Program, progress: &dyn Progress) -> Vec<Footprint> {
    let file = file(program);
    if let Some(found) = file.as_ref().and_then(|file| find(file, program)) {
        return found;
    }
    progress.simulating(&program.meta().name, 1, program.total_touches());
    let found = look(program, file, &|touches| progress.advance(touches), progress);
    progress.finished();
    found
}

/// Finds them, and keeps them in `file`.
fn look(
    program: &Program,
    file: Option<PathBuf>,
    advance: &dyn Fn(u64),
    progress: &dyn Progress,
) -> Vec<Footprint> {
    let footprints = program.footprints(advance);
    if let Some(file) = file
        && let Err(why) = keep(&file, &footprints)
    {
        progress.note(&format!("cannot keep what tasks touch in {}: {why}", file.display()));
    }
    footprints
}

/// Where they are kept; `None` where they are not.
fn file(program: &Program) -> Option<PathBuf> {
    if program.tasks() > MOST_TASKS {
        return None;
    }
    file_of(&content(program)?, "footprints", GENERATION)
}

/// What is kept in `file`. A damaged file counts as none.
fn find(file: &Path, program: &Program) -> Option<Vec<Footprint>> {
    let found: Vec<[u64; 2]> = read(file)?;
    let lines = u64::from(program.lines());
    let is_possible = |[task, strand]: &[u64; 2]| strand <= task && *task <= lines;
    if found.len() != program.tasks() as usize || !found.iter().all(is_possible) {
        return None;
    }
    used(file);
    let footprint =
        |[task, strand]: [u64; 2]| Footprint { task: Lines(task), strand: Lines(strand) };
    Some(found.into_iter().map(footprint).collect())
}

fn keep(file: &Path, footprints: &[Footprint]) -> io::Result<()> {
    let numbers: Vec<_> = footprints.iter().map(|found| [found.task.0, found.strand.0]).collect();
    add(file, &numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_is_kept_is_found_again_unless_it_cannot_be_the_program_s() {
        let (folder, program) = (tempfile::tempdir().unwrap(), testing::program());
        let file = folder.path().join("kept/footprints/one.json");
        let footprints = program.footprints(&|_| {});
        assert!(footprints.iter().any(|found| found.strand.0 > 0));
        assert_eq!(find(&file, &program), None);
        keep(&file, &footprints).unwrap();
        assert_eq!(find(&file, &program).as_ref(), Some(&footprints));
        let damaged = |change: &dyn Fn(&mut Vec<Footprint>)| {
            let mut footprints = footprints.clone();
            change(&mut footprints);
            keep(&file, &footprints).unwrap();
            find(&file, &program)
        };
        assert_eq!(damaged(&|all| all.truncate(1)), None);
        assert_eq!(damaged(&|all| all[0].task = Lines(u64::from(program.lines()) + 1)), None);
        assert_eq!(damaged(&|all| all[0].strand = Lines(all[0].task.0 + 1)), None);
        std::fs::write(&file, b"[[1, 2").unwrap();
        assert_eq!(find(&file, &program), None);
    }

    #[test]
    fn of_small_programs_nothing_is_kept() {
        let program = testing::program();
        assert_eq!(file(&program), None);
        let found = footprints(&program, &|_| {}, &crate::Silent);
        assert_eq!(found, program.footprints(&|_| {}));
    }
}
