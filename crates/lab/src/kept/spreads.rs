//! How the touches of large recordings are spread, and which lines are hot, by the recording's
//! content: to find it takes a pass through all touches.

use std::path::PathBuf;

use befit_program::{Program, Spread};
use serde::{Deserialize, Serialize};

use super::{add, file_of, read, used};
use crate::Progress;

/// To be raised when the pass that finds spreads (`crates/program/src/hot`) is to find others of
/// the same recording than before, as with other constants there: they are kept by its content
/// alone.
const GENERATION: u32 = 3;

/// What was kept of one program.
pub(crate) struct Spreads<'a> {
    program: &'a Program,
    file: Option<PathBuf>,
    /// So many were known before.
    known: usize,
}

/// A [`Spread`] in a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    coarser: u32,
    hot: Vec<(u32, u64)>,
    fresh: Vec<u64>,
    dependent: u64,
    atomic: u64,
}

impl<'a> Spreads<'a> {
    /// Tells `program` what was kept of its `content`; nothing is without one. A damaged file
    /// counts as none.
    pub(crate) fn tell(program: &'a Program, content: Option<&str>) -> Self {
        Self::tell_from(
            content.and_then(|content| file_of(content, "spreads", GENERATION)),
            program,
        )
    }

    fn tell_from(file: Option<PathBuf>, program: &'a Program) -> Self {
        if let Some(file) = &file
            && let Some(kept) = read::<Vec<Stored>>(file)
        {
            used(file);
            program.know(kept.into_iter().filter_map(Stored::spread).collect());
        }
        Self { program, file, known: program.spreads().len() }
    }

    /// Keeps what was found since. A failure stops nothing, and gives a note.
    pub(crate) fn keep(self, progress: &dyn Progress) {
        let spreads = self.program.spreads();
        let Some(file) = self.file.filter(|_| spreads.len() > self.known) else { return };
        let stored: Vec<_> = spreads.iter().map(Stored::of).collect();
        if let Err(why) = add(&file, &stored) {
            let file = file.display();
            progress.note(&format!("cannot keep how touches are spread in {file}: {why}"));
        }
    }
}

impl Stored {
    fn of(spread: &Spread) -> Self {
        let Spread { coarser, hot, fresh, dependent, atomic } = spread;
        let (coarser, dependent, atomic) = (*coarser, *dependent, *atomic);
        Self { coarser, hot: hot.clone(), fresh: fresh.to_vec(), dependent, atomic }
    }

    /// `None` of one with another number of classes.
    fn spread(self) -> Option<Spread> {
        let Self { coarser, hot, fresh, dependent, atomic } = self;
        Some(Spread { coarser, hot, fresh: fresh.try_into().ok()?, dependent, atomic })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, num::NonZeroUsize};

    use befit_program::LineGroups;

    use super::*;
    use crate::{Silent, kept::content, testing};

    #[test]
    fn how_touches_are_spread_is_found_once_for_each_recording() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spreads/one.json");
        let tell = |program| Spreads::tell_from(Some(file.clone()), program);
        let program = testing::program();
        tell(&program).keep(&Silent);
        assert!(!file.exists(), "nothing was found");
        let spreads = tell(&program);
        let groups = LineGroups::new(1, 64, 2).unwrap();
        program.heaviest_group(groups, NonZeroUsize::MIN);
        spreads.keep(&Silent);
        let again = testing::program();
        assert_eq!(again.spreads(), []);
        let spreads = tell(&again);
        assert_eq!(again.spreads(), program.spreads());
        assert_eq!(again.spreads().len(), 1);
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        spreads.keep(&Silent);
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written, "nothing is new");
    }

    #[test]
    fn a_damaged_file_and_another_number_of_classes_tell_nothing() {
        let (folder, program) = (tempfile::tempdir().unwrap(), testing::program());
        let file = folder.path().join("one.json");
        for text in ["[{\"coarser\": 0", r#"[{"coarser": 0, "hot": [], "fresh": [1]}]"#] {
            fs::write(&file, text).unwrap();
            Spreads::tell_from(Some(file.clone()), &program);
            assert_eq!(program.spreads(), [], "{text}");
        }
    }

    #[test]
    fn of_small_programs_nothing_is_kept() {
        let program = testing::program();
        assert_eq!(Spreads::tell(&program, content(&program).as_deref()).file, None);
    }
}
