//! The programs of the matrix, their sizes, and which of them our own policy was designed on.
//!
//! Which programs are kept apart was chosen before that policy was written. Nobody looked at how it
//! does on them while it changed, so that they show how it does on a program that nobody has seen.

use std::{fmt, str::FromStr};

use befit_machine::{Bytes, ClusterId, Machine};
use serde::{Serialize, Serializer};

use crate::{KernelSource, LabError, Source};

/// A size of a program's data, against all last-level caches of a machine together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataSize {
    /// A quarter of them.
    Below,
    /// As much as they hold.
    At,
    /// Four times as much.
    Above,
    /// The same on every machine: programs with hardly any data, and those of the user.
    Fixed,
}

impl DataSize {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::At => "at",
            Self::Above => "above",
            Self::Fixed => "fixed",
        }
    }

    /// So much of `caches`.
    fn of(self, caches: Bytes) -> Bytes {
        Bytes(match self {
            Self::Below => caches.0 / 4,
            Self::At | Self::Fixed => caches.0,
            Self::Above => caches.0 * 4,
        })
    }
}

impl FromStr for DataSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Below, Self::At, Self::Above, Self::Fixed];
        let found = all.into_iter().find(|size| size.name() == text);
        found.ok_or_else(|| format!("one of {} is needed", all.map(Self::name).join(", ")))
    }
}

impl fmt::Display for DataSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for DataSize {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// How the data of a program grow with its n.
#[derive(Clone, Copy, Debug)]
enum Data {
    /// Bytes for each of n.
    Linear(u64),
    /// The same, for an n that is a power of two: the largest that is not too large.
    Powers(u64),
    /// Bytes for each of n².
    Square(u64),
    /// There are hardly any; this is n.
    Few(u64),
}

impl Data {
    /// The n whose data are so large.
    fn n(self, bytes: Bytes) -> u64 {
        match self {
            Self::Linear(each) => (bytes.0 / each).max(1),
            Self::Powers(each) => 1 << (bytes.0 / each).max(1).ilog2(),
            Self::Square(each) => (bytes.0 / each).isqrt().max(1),
            Self::Few(n) => n,
        }
    }
}

/// Where a program comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// A kernel whose cut-offs shrink with a model of it.
    Kernel,
    /// A kernel whose leaves have the same size always.
    FixedLeaves,
    /// A program that uses rayon, in `compat/programs`.
    Rayon,
}

/// A program of the matrix.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProgram {
    /// As users type it: a kernel, perhaps with settings, or the binary of a program on rayon.
    pub name: &'static str,
    /// True if nobody looked at it while our own policy was designed.
    pub kept_apart: bool,
    /// True if the short matrix has it.
    quick: bool,
    origin: Origin,
    data: Data,
    sizes: &'static [DataSize],
}

use DataSize::{Above, At, Below, Fixed};

/// Work grows with the data.
const ALL_SIZES: &[DataSize] = &[Below, At, Above];
/// Work grows with the third power of the order, the data with the second: beyond the caches it
/// would take too long.
const CUBIC: &[DataSize] = &[Below, At];
const FIXED: &[DataSize] = &[Fixed];

impl MatrixProgram {
    /// All of them: first those that our own policy was designed on, then those kept apart.
    ///
    /// Bytes for each of n are those of the arrays that the program makes. Stencils go over their
    /// data 24 times, as in the short form of the study that has them.
    pub const ALL: [Self; 26] = [
        Self::kernel("rrm", Data::Linear(16), ALL_SIZES).quick(),
        Self::kernel("rgm", Data::Linear(20), ALL_SIZES),
        Self::kernel("quicksort", Data::Linear(16), ALL_SIZES),
        Self::kernel("samplesort", Data::Linear(16), ALL_SIZES).quick(),
        Self::kernel("quadtree", Data::Linear(32), ALL_SIZES),
        Self::fixed_leaves("heat:iterations=24", Data::Linear(8192), ALL_SIZES).quick(),
        Self::fixed_leaves("heat-ub:iterations=24", Data::Linear(8192), ALL_SIZES),
        Self::fixed_leaves("fft", Data::Powers(40), ALL_SIZES).quick(),
        Self::fixed_leaves("mandelbrot", Data::Few(512), FIXED).quick(),
        Self::fixed_leaves("queens", Data::Few(12), FIXED),
        Self::fixed_leaves("ga", Data::Few(128), FIXED),
        Self::fixed_leaves("bst", Data::Few(32_767), FIXED),
        Self::fixed_leaves("array-abc", Data::Few(1000), FIXED),
        Self::fixed_leaves("array-windows", Data::Few(4096), FIXED),
        Self::rayon("fourier", Data::Powers(40), ALL_SIZES),
        Self::rayon("n-body", Data::Few(2000), FIXED),
        Self::kernel("rgm-leaf", Data::Linear(20), ALL_SIZES).apart(),
        Self::kernel("aware-samplesort", Data::Linear(16), ALL_SIZES).apart(),
        Self::kernel("matmul", Data::Square(24), CUBIC).apart().quick(),
        Self::fixed_leaves("sor:iterations=24", Data::Linear(4096), ALL_SIZES).apart().quick(),
        Self::fixed_leaves("sor-ub:iterations=24", Data::Linear(4096), ALL_SIZES).apart(),
        Self::fixed_leaves("ge", Data::Square(8), CUBIC).apart(),
        Self::fixed_leaves("ge-ub", Data::Square(8), CUBIC).apart(),
        Self::fixed_leaves("knapsack", Data::Few(26), FIXED).apart(),
        Self::rayon("floyd-warshall", Data::Square(4), &[Below]).apart(),
        Self::rayon("merge-sort", Data::Linear(16), ALL_SIZES).apart(),
    ];

    const fn kernel(name: &'static str, data: Data, sizes: &'static [DataSize]) -> Self {
        Self { name, kept_apart: false, quick: false, origin: Origin::Kernel, data, sizes }
    }

    const fn fixed_leaves(name: &'static str, data: Data, sizes: &'static [DataSize]) -> Self {
        Self { origin: Origin::FixedLeaves, ..Self::kernel(name, data, sizes) }
    }

    const fn rayon(name: &'static str, data: Data, sizes: &'static [DataSize]) -> Self {
        Self { origin: Origin::Rayon, ..Self::kernel(name, data, sizes) }
    }

    const fn apart(self) -> Self {
        Self { kept_apart: true, ..self }
    }

    const fn quick(self) -> Self {
        Self { quick: true, ..self }
    }

    /// Those that `names` name: programs, with or without settings, or `designed`, `apart`, `all`.
    /// Without names all, or those of the short matrix.
    ///
    /// # Errors
    /// [`LabError::Usage`] for a name that is not known.
    pub fn choose(names: &[String], quick: bool) -> Result<Vec<Self>, LabError> {
        let known = |name: &String| {
            let is_named = |program: &Self| program.name == name || program.short_name() == name;
            match &name[..] {
                "all" | "designed" | "apart" => Ok(()),
                _ if Self::ALL.iter().any(is_named) => Ok(()),
                _ => {
                    let known = Self::ALL.map(|program| program.short_name()).join(", ");
                    let what = "known: all, designed, apart";
                    Err(LabError::Usage(format!("unknown program '{name}'; {what}, {known}")))
                }
            }
        };
        names.iter().try_for_each(known)?;
        let chosen = |program: &Self| {
            let names_it = |name: &String| match &name[..] {
                "all" => true,
                "designed" => !program.kept_apart,
                "apart" => program.kept_apart,
                name => name == program.name || name == program.short_name(),
            };
            match names {
                [] => !quick || program.quick,
                names => names.iter().any(names_it),
            }
        };
        Ok(Self::ALL.into_iter().filter(chosen).collect())
    }

    /// The name without settings.
    pub fn short_name(&self) -> &'static str {
        self.name.split(':').next().unwrap_or(self.name)
    }

    /// Those of its sizes that are `asked` for. Without any that are, all; in the short matrix one.
    pub(super) fn sizes(&self, quick: bool, asked: &[DataSize]) -> Vec<DataSize> {
        if !asked.is_empty() {
            return self.sizes.iter().copied().filter(|size| asked.contains(size)).collect();
        }
        let one = if self.sizes.contains(&At) { At } else { self.sizes[0] };
        self.sizes.iter().copied().filter(|size| !quick || *size == one).collect()
    }

    /// The size called so; if it has none such, that of the short matrix.
    #[cfg(test)]
    pub(crate) fn nearest(&self, size: &str) -> Vec<DataSize> {
        let found = self.sizes.iter().find(|own| own.name() == size);
        found.map_or_else(|| self.sizes(true, &[]), |own| vec![*own])
    }

    /// The program as it is recorded for `machine` at `size`, with the machine `shrink` times
    /// smaller.
    pub(super) fn on(
        &self,
        machine: &Machine,
        size: DataSize,
        shrink: u32,
    ) -> Result<Row, LabError> {
        let caches = Bytes(last_level(machine).0 / u64::from(shrink));
        let n = self.data.n(size.of(caches));
        // Of a program with hardly any data nothing need be shrunk; of one whose leaves are as long
        // as ever, not what scheduling costs.
        let (shrink, costs_shrink) = match (size, self.origin) {
            (Fixed, _) => (1, 1),
            (_, Origin::Kernel) => (shrink, shrink),
            _ => (shrink, 1),
        };
        let source = match self.origin {
            Origin::Kernel | Origin::FixedLeaves => {
                let kernel = KernelSource::new(self.name);
                Source::Kernel(KernelSource { n: Some(n), shrink: costs_shrink, ..kernel })
            }
            Origin::Rayon => Source::of_rayon(self.name, n)?,
        };
        Ok(Row {
            name: self.short_name().to_owned(),
            kept_apart: self.kept_apart,
            size,
            source,
            weight: if size == Fixed { FIXED_WEIGHT } else { size.of(caches).0 },
            shrink,
            costs_shrink,
        })
    }
}

/// How long a program with hardly any data takes, in bytes of another one's.
const FIXED_WEIGHT: u64 = 4 << 20;

/// A program at one size, on one machine.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(super) kept_apart: bool,
    pub(super) size: DataSize,
    pub(crate) source: Source,
    /// How long its simulation takes, against that of others.
    pub(super) weight: u64,
    /// How many times smaller the machine's caches are.
    pub(crate) shrink: u32,
    /// How many times cheaper scheduling is: as many times as the program's leaves are shorter.
    pub(crate) costs_shrink: u32,
}

impl Row {
    /// A program of the user's, on machines as they are.
    pub(super) fn own(source: &Source, name: String) -> Self {
        Self {
            name,
            kept_apart: false,
            size: Fixed,
            source: source.clone(),
            weight: FIXED_WEIGHT,
            shrink: 1,
            costs_shrink: 1,
        }
    }
}

/// What the machine's last-level caches hold together.
pub(crate) fn last_level(machine: &Machine) -> Bytes {
    let outermost = &machine.cluster(ClusterId::ROOT).children;
    Bytes(outermost.iter().map(|id| machine.cluster(*id).size().0).sum())
}

#[cfg(test)]
mod tests {
    use befit_catalog::Variant;

    use super::*;

    fn find(name: &str) -> MatrixProgram {
        let found = MatrixProgram::choose(&[name.to_owned()], false).unwrap();
        assert_eq!(found.len(), 1, "{name}");
        found[0]
    }

    #[test]
    fn every_kernel_is_in_the_matrix_and_ten_programs_are_kept_apart() {
        for (kernel, _) in crate::kernels() {
            find(kernel);
        }
        let kernels = MatrixProgram::ALL.into_iter().filter(|p| p.origin != Origin::Rayon);
        for program in kernels {
            Variant::find(program.name).unwrap();
        }
        assert_eq!(MatrixProgram::ALL.iter().filter(|program| program.kept_apart).count(), 10);
    }

    #[test]
    fn programs_are_chosen_by_name_and_by_group_and_others_give_the_list() {
        let choose = |names: &[&str], quick| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            MatrixProgram::choose(&names, quick).map(|chosen| chosen.len())
        };
        assert_eq!(choose(&[], false).unwrap(), MatrixProgram::ALL.len());
        assert_eq!(choose(&["designed"], false).unwrap(), 16);
        assert_eq!(choose(&["apart", "rrm"], false).unwrap(), 11);
        assert_eq!((choose(&[], true).unwrap(), choose(&["apart"], true).unwrap()), (7, 10));
        // Named, it is in the short matrix, too.
        assert_eq!(choose(&["rgm"], true).unwrap(), 1);
        let error = choose(&["rrn"], false).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("apart, rrm, rgm"), "{error}");
    }

    #[test]
    fn data_are_below_at_and_above_all_last_level_caches_together() {
        let machine = Machine::find("xeon-7560").unwrap();
        let mib = 1 << 20;
        for (size, bytes) in [(Below, 3 * mib), (At, 12 * mib), (Above, 48 * mib)] {
            let row = find("rrm").on(&machine, size, 8).unwrap();
            let Source::Kernel(KernelSource { n: Some(n), shrink, .. }) = row.source else {
                panic!()
            };
            assert_eq!((16 * n, shrink, row.shrink, row.costs_shrink), (bytes, 8, 8, 8));
        }
        let row = find("heat").on(&machine, At, 8).unwrap();
        assert_eq!((row.shrink, row.costs_shrink), (8, 1), "its leaves do not shrink");
        let row = find("queens").on(&machine, Fixed, 8).unwrap();
        assert_eq!((row.shrink, row.costs_shrink), (1, 1));
    }

    #[test]
    fn an_n_gives_as_many_data_as_asked_for_and_powers_of_two_no_more() {
        assert_eq!(Data::Linear(16).n(Bytes(160)), 10);
        assert_eq!(Data::Square(8).n(Bytes(8 * 99 * 99)), 99);
        assert_eq!(Data::Powers(40).n(Bytes(40 * 1000)), 512);
        assert_eq!([Below, At, Above].map(|size| Data::Few(7).n(size.of(Bytes(64)))), [7; 3]);
    }
}
