//! How much of a program is simulated: all of its touches, or those of one line in K.
//!
//! Each seed of a sampled simulation takes another group of lines, so that what differs from seed
//! to seed shows the chance of both. [`befit_sim::sampled`] says how a sample stands for the whole.

use std::{fmt, ops::RangeInclusive, str::FromStr, sync::Arc};

use befit_machine::{Bytes, Machine};
use befit_program::{LineGroups, Program, Sample};
use befit_sim::sampled;

use crate::{LabError, parallel::threads};

/// The largest K that `auto` takes. Samples have at least one line of a page.
const LARGEST: u32 = 64;
/// `auto` takes no groups of which one has so many times more touches than the mean: most others
/// lack what that one has, so that neither they nor their interval tell of it.
const EVEN: f64 = 1.1;
/// `auto` takes all lines if more than this share of the touches that may miss wait for the line
/// before, as along pointers: what they wait for is in another group.
const DEPENDENT: f64 = 0.01;
/// The same of atomic read-modify-writes: what each waits for only hot lines have in a sample.
const ATOMIC: f64 = 0.01;
/// `auto` begins with samples of this many touches at least, and of this many a strand in the mean:
/// schedules hang on the times of strands, and of few touches these are far off.
const LEAST: u64 = 2_000_000;
const LEAST_OF_STRAND: u64 = 32;

/// How much of a program to simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// All touches.
    Off,
    /// Those of one line in so many: a power of two.
    OneIn(u32),
    /// One in as many, up to 64, as leaves each simulation two million touches and 32 a strand, and
    /// groups of lines that are touched about as often as one another; fewer where the interval of
    /// time or of some level's misses reaches further than [`Sampled::BAR`](crate::Sampled::BAR),
    /// as long as that helps. All of a smaller program; all of one whose loads wait for one
    /// another, or of which more than a hundredth are atomic operations; all on a machine whose
    /// caches' sets cannot be divided; and all with one seed, which gives no interval.
    Auto,
}

impl Sampling {
    /// Checks what is known without the program but for the size of its recorded lines.
    ///
    /// # Errors
    /// Where the sets of some cache of `machine` cannot be divided by the number asked for.
    pub fn check(self, machine: &Machine, recorded: Bytes) -> Result<(), LabError> {
        match self {
            Self::OneIn(k) if k > 1 && sampled::groups(machine, recorded, k).is_none() => {
                Err(cannot_divide(machine, k, ""))
            }
            _ => Ok(()),
        }
    }

    /// The groups of lines of which each simulation of `program` on `machine` takes one, at first;
    /// `None` where it takes all lines.
    ///
    /// # Errors
    /// Where the sets of some cache of the machine cannot be divided by the number asked for.
    pub fn groups(
        self,
        program: &Program,
        machine: &Machine,
    ) -> Result<Option<LineGroups>, LabError> {
        let of = |one_in| groups(program, machine, one_in);
        match self {
            Self::Off | Self::OneIn(1) => Ok(None),
            Self::OneIn(one_in) => of(one_in).map(Some).ok_or_else(|| {
                cannot_divide(machine, one_in, "; or the program has too many lines")
            }),
            Self::Auto => {
                let touches = program.total_touches();
                let least = LEAST.max(LEAST_OF_STRAND * u64::from(program.strands()));
                let most = sampled::most(machine, program.meta().line_size);
                let good = |one_in: &u32| *one_in <= most && touches / u64::from(*one_in) >= least;
                let counts = std::iter::successors(Some(LARGEST), |one_in| Some(one_in / 2));
                let counts = counts.take_while(|one_in| *one_in > 1).filter(good);
                Ok(counts.filter_map(of).find(|groups| why_unfair(program, *groups).is_none()))
            }
        }
    }

    /// What there is to say of the groups that were asked for, where they are no fair samples.
    pub(crate) fn doubt(self, program: &Program, groups: LineGroups) -> Option<String> {
        let why = why_unfair(program, groups).filter(|_| self != Self::Auto)?;
        let (count, name) = (groups.count(), &program.meta().name);
        Some(format!(
            "one line in {count} is no fair sample of {name}: {why}; `--sample auto` takes all \
             where it must"
        ))
    }

    /// The groups for another simulation beside results of one line in `one_in`, or of all: for
    /// `auto` the same, where the machine allows it.
    pub(crate) fn groups_beside(
        self,
        one_in: Option<u32>,
        program: &Program,
        machine: &Machine,
    ) -> Result<Option<LineGroups>, LabError> {
        match self {
            Self::Auto => Ok(one_in.and_then(|one_in| groups(program, machine, one_in))),
            asked => asked.groups(program, machine),
        }
    }
}

impl FromStr for Sampling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = || text.parse().ok().filter(|k: &u32| k.is_power_of_two() && *k <= 64);
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            _ => count()
                .map(Self::OneIn)
                .ok_or_else(|| "`off`, `auto` or a power of two up to 64 is needed".to_owned()),
        }
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::OneIn(one_in) => write!(f, "{one_in}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// That one line in so many cannot be taken, for one of the usual reasons or another.
fn cannot_divide(machine: &Machine, one_in: u32, other: &str) -> LabError {
    LabError::Usage(format!(
        "one line in {one_in} of {}: some cache has a number of sets that {one_in} does not \
         divide, or has no more than 64 classes of them{other}",
        machine.name
    ))
}

/// The groups of one line in so many, where the machine and the number of lines allow it.
fn groups(program: &Program, machine: &Machine, one_in: u32) -> Option<LineGroups> {
    let groups = sampled::groups(machine, program.meta().line_size, one_in);
    groups.filter(|groups| program.can_sample(*groups))
}

/// Why the groups are no fair samples, if they are not.
fn why_unfair(program: &Program, groups: LineGroups) -> Option<&'static str> {
    if program.heaviest_group(groups, threads()) > EVEN {
        Some("some lines, at a regular distance, are touched more often than others")
    } else if program.dependent_share(groups, threads()) > DEPENDENT {
        Some("loads wait for one another there, as along pointers, and it leaves most of them out")
    } else if program.atomic_share(groups, threads()) > ATOMIC {
        Some("many of its accesses are atomic operations, and a sample takes them for plain ones")
    } else if !program.has_room_for_hot(groups, threads()) {
        Some("a few lines that workers take from one another have too many of its touches")
    } else {
        None
    }
}

/// The group that a seed takes: another one for each, as far as there are.
fn group(groups: LineGroups, seed: u64) -> u32 {
    (seed.wrapping_sub(1) % u64::from(groups.count())) as u32
}

/// So many seeds' samples are taken at first, and all others together where these are not enough:
/// one pass through the recording does for any number.
const AT_FIRST: u64 = 8;

/// The samples of one program that some simulations need.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<(LineGroups, u32, Arc<Sample>)>);

impl Samples {
    /// Those that simulations with these groups and seeds need, each once; further seeds, up to
    /// `last`, are expected to follow.
    pub(crate) fn of(
        program: &Program,
        needed: impl Iterator<Item = (Option<LineGroups>, u64)>,
        last: u32,
    ) -> Self {
        let mut wanted: Vec<(LineGroups, RangeInclusive<u64>)> = Vec::new();
        for (groups, seed) in needed.filter_map(|(groups, seed)| Some((groups?, seed))) {
            match wanted.iter_mut().find(|(known, _)| *known == groups) {
                Some((_, seeds)) => *seeds = seed.min(*seeds.start())..=seed.max(*seeds.end()),
                None => wanted.push((groups, seed..=seed)),
            }
        }
        let samples = wanted.into_iter().flat_map(|(groups, seeds)| {
            let (first, most) = seeds.into_inner();
            let last = u64::from(last);
            let most = most.max(if most <= AT_FIRST { last.min(AT_FIRST) } else { last });
            let seeds = (first..=most).take(groups.count() as usize);
            let numbers: Vec<u32> = seeds.map(|seed| group(groups, seed)).collect();
            let samples = program.samples(groups, &numbers, threads());
            numbers.into_iter().zip(samples).map(move |(number, sample)| (groups, number, sample))
        });
        Self(samples.collect())
    }

    /// The sample that a simulation with these groups and this seed takes.
    pub(crate) fn get(&self, groups: Option<LineGroups>, seed: u64) -> Option<&Sample> {
        let number = group(groups?, seed);
        let found = self.0.iter().find(|(of, n, _)| (Some(*of), *n) == (groups, number));
        found.map(|(_, _, sample)| &**sample)
    }
}

#[cfg(test)]
mod tests {
    use befit_program::{Declared, Meta, ProgramBuilder, RawTouch, ScopeId};

    use super::*;
    use crate::testing;

    #[test]
    fn what_is_asked_for_is_read_and_printed_alike() {
        for text in ["off", "auto", "16", "1"] {
            assert_eq!(text.parse::<Sampling>().unwrap().to_string(), text);
        }
        for bad in ["", "3", "128", "0", "-2", "Auto"] {
            assert!(bad.parse::<Sampling>().unwrap_err().contains("power of two"), "{bad}");
        }
    }

    #[test]
    fn a_small_program_and_a_machine_that_cannot_be_divided_are_simulated_whole() {
        let (program, machine) = (testing::program(), testing::machine(1));
        assert_eq!(Sampling::Auto.groups(&program, &machine).unwrap(), None);
        let four = Sampling::OneIn(4).groups(&program, &machine).unwrap();
        assert_eq!(four.map(LineGroups::count), Some(4));
        let odd: Machine = "l1:1(size=24KiB ways=8) pu:1".parse().unwrap();
        let error = Sampling::OneIn(32).groups(&program, &odd).unwrap_err().to_string();
        assert!(error.starts_with("one line in 32"), "{error}");
    }

    #[test]
    fn a_machine_that_cannot_be_divided_as_asked_is_known_without_a_program() {
        let odd: Machine = "l1:1(size=24KiB ways=8) pu:1".parse().unwrap();
        let check = |sampling: Sampling| sampling.check(&odd, Bytes(64));
        let error = check(Sampling::OneIn(32)).unwrap_err();
        assert!(error.is_usage() && error.to_string().starts_with("one line in 32"), "{error}");
        for good in [Sampling::OneIn(16), Sampling::OneIn(1), Sampling::Off, Sampling::Auto] {
            assert!(check(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn of_a_chain_of_pointers_all_lines_are_simulated() {
        let chain = |dependent: bool| {
            let meta = Meta { name: "chain".into(), line_size: Bytes(64), filter: 1 };
            let mut builder = ProgramBuilder::new(meta);
            for i in 0..4_000_000u64 {
                let line = i * 27_409 % 100_003;
                let touch = RawTouch::dependent_on_last(line);
                match dependent {
                    true => builder.touches(&[touch]),
                    false => builder.touch(line, false, false),
                }
            }
            builder.finish().unwrap()
        };
        let machine = testing::machine(1);
        let groups = |program: &Program| Sampling::Auto.groups(program, &machine).unwrap();
        assert!(groups(&chain(false)).is_some());
        let chain = chain(true);
        assert_eq!(groups(&chain), None);
        let two = Sampling::OneIn(2).groups(&chain, &machine).unwrap().unwrap();
        assert!(Sampling::OneIn(2).doubt(&chain, two).unwrap().contains("wait for one another"));
    }

    /// Tasks that read lines of their own, and after so many change one of `words` words that are
    /// all tasks'.
    fn words(words: u64, after: u64, atomic: bool) -> Program {
        let meta = Meta { name: "words".into(), line_size: Bytes(64), filter: 1 };
        let mut builder = ProgramBuilder::new(meta);
        for task in 0..8 {
            builder.fork(ScopeId(1), Declared::default()).unwrap();
            for i in 0..520_000 {
                match i % after {
                    0 => builder.touch((i / after * 7919 + task) % words, true, false),
                    _ => builder.touch(100_000 + task * 50_000 + i % 50_000, false, false),
                }
            }
            builder.end().unwrap();
        }
        if atomic {
            (0..words).for_each(|word| builder.atomic(word));
        }
        builder.sync(ScopeId(1)).unwrap();
        builder.finish().unwrap()
    }

    #[test]
    fn where_atomic_operations_are_many_all_lines_are_simulated() {
        let (auto, machine) = (Sampling::Auto, testing::machine(1));
        for (after, atomic, sampled) in [(20, true, false), (20, false, true), (500, true, true)] {
            let program = words(2000, after, atomic);
            let groups = auto.groups(&program, &machine).unwrap();
            assert_eq!(groups.is_some(), sampled, "{after} {atomic}");
        }
        let two = Sampling::OneIn(2).groups(&words(2000, 20, true), &machine).unwrap().unwrap();
        let doubt = Sampling::OneIn(2).doubt(&words(2000, 20, true), two).unwrap();
        assert!(doubt.contains("atomic operations"), "{doubt}");
    }

    #[test]
    fn a_hot_line_with_too_many_touches_for_a_sample_makes_it_larger() {
        let machine = testing::machine(1);
        let count = |program: &Program| {
            let groups = Sampling::Auto.groups(program, &machine).unwrap();
            groups.map(LineGroups::count)
        };
        // One touch in 40 is of the hot line, or one in 2: more than a half has room for.
        assert_eq!((count(&words(1, 40, true)), count(&words(1, 2, true))), (Some(2), Some(2)));
        let program = words(1, 2, true);
        let four = Sampling::OneIn(4).groups(&program, &machine).unwrap().unwrap();
        let doubt = Sampling::OneIn(4).doubt(&program, four).unwrap();
        assert!(doubt.contains("take from one another"), "{doubt}");
    }

    #[test]
    fn where_a_stride_favours_some_lines_all_are_simulated() {
        let with = |stride: u64| {
            let meta = Meta { name: "walks".into(), line_size: Bytes(64), filter: 1 };
            let mut builder = ProgramBuilder::new(meta);
            for i in 0..2_000_000 {
                builder.touch(i % 50_000, false, false);
                builder.touch(100_000 + i * stride % (1 << 19), true, false);
            }
            builder.finish().unwrap()
        };
        let machine = testing::machine(1);
        for (stride, one_in) in [(1, Some(2)), (63, Some(2)), (64, None)] {
            let (program, auto) = (with(stride), Sampling::Auto);
            let groups = auto.groups(&program, &machine).unwrap();
            assert_eq!(groups.map(LineGroups::count), one_in, "{stride}");
            let four = Sampling::OneIn(4).groups(&program, &machine).unwrap().unwrap();
            let doubt = Sampling::OneIn(4).doubt(&program, four);
            assert_eq!(doubt.is_some(), one_in.is_none(), "{stride}");
            assert_eq!(auto.doubt(&program, four), None);
        }
    }

    #[test]
    fn what_is_tried_beside_results_is_sampled_as_they_are() {
        let (program, machine) = (testing::program(), testing::machine(1));
        let count = |sampling: Sampling, one_in| {
            let groups = sampling.groups_beside(one_in, &program, &machine).unwrap();
            groups.map(LineGroups::count)
        };
        assert_eq!(count(Sampling::Auto, Some(2)), Some(2));
        assert_eq!(count(Sampling::Auto, None), None);
        assert_eq!(count(Sampling::OneIn(4), Some(2)), Some(4));
    }

    #[test]
    fn seeds_take_all_groups_in_turn() {
        let groups = LineGroups::new(0, 64, 4).unwrap();
        assert_eq!([1, 2, 3, 4, 5].map(|seed| group(groups, seed)), [0, 1, 2, 3, 0]);
    }
}
