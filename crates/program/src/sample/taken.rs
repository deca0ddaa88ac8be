//! Samples that were taken before, so that the touches of a program are read once for many
//! simulations.

use std::sync::{Arc, Mutex, PoisonError};

use super::{LineGroups, Sample};
use crate::Program;

/// The samples of a program that were wanted last, those wanted longest ago first.
#[derive(Debug, Default)]
pub(crate) struct Taken(Mutex<Vec<(u32, Arc<Sample>)>>);

impl Taken {
    /// The samples of the groups `wanted` of `program`, in their order, of which `take` takes those
    /// that are not here. Others are given up, as far as all would have more touches than the
    /// program.
    pub(super) fn get(
        &self,
        program: &Program,
        groups: LineGroups,
        wanted: &[u32],
        take: impl FnOnce(&[u32]) -> Vec<Sample>,
    ) -> Vec<Arc<Sample>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |kept: &[(u32, Arc<Sample>)], group: u32| {
            kept.iter().position(|(other, s)| (*other, s.groups) == (group, groups))
        };
        let missing = |group: &u32| find(&kept, *group).is_none();
        let missing: Vec<u32> = wanted.iter().copied().filter(missing).collect();
        if !missing.is_empty() {
            kept.extend(missing.iter().copied().zip(take(&missing).into_iter().map(Arc::new)));
        }
        let mut found = Vec::new();
        for group in wanted {
            let Some(at) = find(&kept, *group) else { continue };
            let wanted = kept.remove(at);
            found.push(wanted.1.clone());
            kept.push(wanted);
        }
        let size = |(_, sample): &(u32, Arc<Sample>)| sample.touches.len() as u64;
        let mut all: u64 = kept.iter().map(size).sum();
        while all > program.total_touches() && kept.len() > wanted.len() {
            all -= size(&kept.remove(0));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use befit_machine::Bytes;

    use super::*;
    use crate::{Meta, ProgramBuilder};

    fn lines() -> Program {
        let meta = Meta { name: "lines".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        (0..640).for_each(|line| builder.touch(line, false, false));
        builder.finish().unwrap()
    }

    /// Which groups were taken anew as these were wanted.
    fn taken(program: &Program, count: u32, wanted: &[u32]) -> Vec<u32> {
        let groups = LineGroups::new(0, 64, count).unwrap();
        let mut taken = Vec::new();
        let take = |missing: &[u32]| {
            taken = missing.to_vec();
            program.take_samples(groups, missing, NonZeroUsize::MIN)
        };
        let samples = program.taken.get(program, groups, wanted, take);
        let fresh = program.take_samples(groups, wanted, NonZeroUsize::MIN);
        let touches = |sample: &Sample| sample.touches.clone();
        assert_eq!(
            samples.iter().map(|sample| touches(sample)).collect::<Vec<_>>(),
            fresh.iter().map(touches).collect::<Vec<_>>()
        );
        taken
    }

    #[test]
    fn a_sample_is_taken_once_until_others_have_as_many_touches_as_the_program() {
        let program = lines();
        assert_eq!(taken(&program, 8, &[0, 1, 2]), [0, 1, 2]);
        assert_eq!(taken(&program, 8, &[2, 5, 1]), [5]);
        // Groups of another division are others. All together have more touches than there are.
        assert_eq!(taken(&program, 2, &[1, 0]), [1, 0]);
        assert_eq!(taken(&program, 8, &[5]), [5]);
        // One that was asked for later stays longer.
        assert_eq!(taken(&program, 2, &[0]), [0; 0]);
        assert_eq!(taken(&program, 4, &[3]), [3]);
        assert_eq!(taken(&program, 2, &[0]), [0; 0]);
        assert_eq!(taken(&program, 2, &[1]), [1]);
    }

    #[test]
    fn all_groups_of_one_division_are_kept_together() {
        let program = lines();
        assert_eq!(taken(&program, 4, &[0, 1, 2, 3]), [0, 1, 2, 3]);
        for group in [0, 1, 2, 3] {
            assert_eq!(taken(&program, 4, &[group]), [0; 0]);
        }
    }
}
