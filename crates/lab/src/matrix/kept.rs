//! Groups of cells that are kept, by all that they depend on: this program's own bytes, the
//! recording's, and the plan. Losing them costs time, and nothing in them is trusted.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use befit_program::Program;
use xxhash_rust::xxh3::Xxh3;

use super::cell::Group;
use crate::{LabError, Progress, SimulationPlan, kept, recording};

/// The folder of groups.
pub(super) struct Kept<'a> {
    /// None where this program cannot be read, or has no folder: then nothing is kept.
    own: Option<u128>,
    folder: PathBuf,
    progress: &'a dyn Progress,
}

impl<'a> Kept<'a> {
    pub(super) fn open(progress: &'a dyn Progress) -> Self {
        let own = std::env::current_exe().and_then(fs::read);
        let own = own.ok().map(|bytes| xxhash_rust::xxh3::xxh3_128(&bytes));
        let folder = recording::kept_folder().ok().map(|folder| folder.join("matrix"));
        let (own, folder) = (folder.is_some().then_some(own).flatten(), folder.unwrap_or_default());
        Self { own, folder, progress }
    }

    /// The group of the recording `content` under `plan`, or else what `simulate` finds, which is
    /// kept from now on; and whether it was kept before.
    pub(super) fn or(
        &mut self,
        content: &str,
        plan: &SimulationPlan,
        simulate: impl FnOnce() -> Result<Group, LabError>,
    ) -> Result<(Group, bool), LabError> {
        let Some(own) = self.own else { return Ok((simulate()?, false)) };
        let key = xxhash_rust::xxh3::xxh3_128(format!("{own} {content} {plan:?}").as_bytes());
        let file = self.folder.join(format!("{key:032x}.json"));
        if let Some(group) = kept::read(&file) {
            kept::used(&file);
            return Ok((group, true));
        }
        let group = simulate()?;
        if let Err(why) = kept::add(&file, &group) {
            let folder = self.folder.display();
            self.progress.note(&format!("cannot keep results in {folder}: {why}"));
            self.own = None; // one note is enough
        }
        Ok((group, false))
    }
}

/// A hash of all of a recording, as 32 digits.
pub(crate) fn content(program: &Program) -> String {
    struct Hash(Xxh3);
    impl Write for Hash {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hash = Hash(Xxh3::new());
    // A hash takes all that it is given.
    let _ = program.write(&mut hash);
    format!("{:032x}", hash.0.digest128())
}

#[cfg(test)]
mod tests {
    use befit_sched::{Options, SchedulerKind};

    use super::*;
    use crate::{Sampling, Seeds, Silent, testing};

    #[test]
    fn a_group_is_simulated_once_for_each_recording_and_plan() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept =
            Kept { own: Some(1), folder: folder.path().join("matrix"), progress: &Silent };
        let plan = |shrink| SimulationPlan {
            machines: vec![testing::machine(1)],
            schedulers: vec![SchedulerKind::Ws],
            seeds: Seeds::default(),
            options: Options::default(),
            shrink,
            sampling: Sampling::Off,
        };
        let mut simulated = 0;
        let mut run = |kept: &mut Kept<'_>, content: &str, shrink, is_found| {
            let group = || {
                simulated += 1;
                Ok(Group { memory_share: 0.1 + f64::from(shrink), measured: Vec::new() })
            };
            let (group, found) = kept.or(content, &plan(shrink), group).unwrap();
            assert_eq!((group.memory_share, found), (0.1 + f64::from(shrink), is_found));
        };
        for (content, shrink, is_found) in
            [("a", 1, false), ("a", 1, true), ("b", 1, false), ("a", 2, false), ("b", 1, true)]
        {
            run(&mut kept, content, shrink, is_found);
        }
        kept.own = Some(2);
        run(&mut kept, "a", 1, false);
        assert_eq!(simulated, 4);
    }

    #[test]
    fn what_is_kept_is_read_to_the_last_digit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("matrix/one.json");
        for memory_share in [31.245270191439438, 121.48791951161945, 0.1 + 0.2] {
            let group = Group { memory_share, measured: Vec::new() };
            kept::add(&file, &group).unwrap();
            assert_eq!(kept::read(&file), Some(group));
        }
    }

    #[test]
    fn equal_recordings_have_equal_content() {
        let one = content(&testing::program());
        assert_eq!(one, content(&testing::program()));
        assert_ne!(one, content(&crate::matrix::tests::other_program()));
    }
}
