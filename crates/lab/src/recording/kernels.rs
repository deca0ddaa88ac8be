//! befit's own kernels: their names, and where their sources are.

use befit_catalog::{CatalogError, Kernel, Variant};
use befit_record::{Build, Target};

use super::RecordingJob;
use crate::{LabError, sources::checkout};

/// A kernel of befit's own and its input, or a small model of a large run of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSource {
    /// Its name, one of [`kernels`].
    pub name: String,
    /// Its size; without one, the kernel's default, divided by `shrink` too.
    pub n: Option<u64>,
    /// The seed of whatever is random in its input; without one, the kernel's default.
    pub seed: Option<u64>,
    /// By how much the cut-offs, and a default size, are divided; 1 for the kernel itself.
    pub shrink: u32,
}

impl KernelSource {
    /// The kernel `name` with its default input.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), n: None, seed: None, shrink: 1 }
    }
}

/// The largest size that is recorded. A recording numbers cache lines with 32 bits; with this many
/// elements, of 8 to 32 bytes, they are enough for every kernel, and no machine that simulates has
/// the memory for more.
const MOST: u64 = 1 << 32;

/// A kernel and the input to run it on.
#[derive(Debug)]
pub(super) struct Chosen {
    kernel: Variant,
    n: u64,
    seed: Option<u64>,
    shrink: u32,
}

/// The kernels, each with one line about it.
pub fn kernels() -> Vec<(&'static str, &'static str)> {
    Kernel::ALL.iter().map(|kernel| (kernel.name, kernel.about)).collect()
}

/// The kernels that have settings besides their size, each with these and their values, of which
/// the first is usual.
pub fn kernel_settings() -> Vec<(&'static str, String)> {
    let those = Kernel::ALL.iter().filter(|kernel| !kernel.settings.is_empty());
    those.map(|kernel| (kernel.name, kernel.describe_settings())).collect()
}

/// The kernel that `source` names, if there is one and it can have that size.
pub(super) fn find(source: &KernelSource) -> Result<Chosen, LabError> {
    let KernelSource { name, n, seed, shrink } = source;
    let kernel = Variant::find(name).map_err(|error| match error {
        CatalogError::Setting { .. } => LabError::Usage(error.to_string()),
        _ => {
            let known: Vec<_> = Kernel::ALL.iter().map(|kernel| kernel.name).collect();
            LabError::Usage(format!("unknown kernel '{name}'; known: {}", known.join(", ")))
        }
    })?;
    // Under a name with settings the default size is not divided.
    let usual =
        Kernel::find(name).map_or(kernel.kernel.default_n, |k| k.shrunk_n(*shrink as usize));
    match n.unwrap_or(usual as u64) {
        n @ 1..=MOST => Ok(Chosen { kernel, n, seed: *seed, shrink: (*shrink).max(1) }),
        n => Err(LabError::Usage(format!(
            "kernel {name} cannot have --n {n}: 1 to {MOST} can be recorded"
        ))),
    }
}

/// Whether a word that may be a kernel's name or a file's is a file's: kernels have neither dots
/// nor slashes in their names.
pub fn names_file(word: &str) -> bool {
    word.contains(['.', '/'])
}

/// The usual factor by which a kernel of its default size is shrunk where it is simulated; 1 for a
/// kernel that does not exist.
pub fn usual_shrink(name: &str) -> u32 {
    Kernel::find(name).map_or(1, |kernel| kernel.usual_shrink() as u32)
}

/// The n at which the kernel `name` is verified; `None` of an unknown one.
pub fn verified_n(name: &str) -> Option<u64> {
    Variant::find(name).ok().map(|variant| variant.kernel.verified_n() as u64)
}

/// The n of a smaller run of the kernel `name`, from which the work of a run at `n` is learnt; `n`
/// for an unknown one.
pub fn learning_n(name: &str, n: u64) -> u64 {
    Variant::find(name).map_or(n, |variant| variant.kernel.learning_n(n as usize) as u64)
}

/// The program of all kernels.
fn program() -> Result<Target, LabError> {
    let target = Target { bin: Some("befit-kernels".to_owned()), ..Target::default() };
    let build = Build { target, ..Build::default() };
    if build.is_built() {
        return Ok(build.target);
    }
    Ok(Target { manifest_path: Some(checkout("kernels/Cargo.toml")?), ..build.target })
}

impl Chosen {
    /// The build without instrumentation, on as many threads as the program likes and able to read
    /// lstopo's files, and the arguments.
    pub(super) fn native(&self) -> Result<(Build, Vec<String>), LabError> {
        let features = Some("xml,counters".to_owned());
        let target = Target { features, ..program()? };
        Ok((Build { plain: true, target, ..Build::default() }, self.arguments()))
    }

    /// The build and the run to be recorded.
    pub(super) fn job(&self) -> Result<RecordingJob, LabError> {
        let setting = |name: &str, what: &str| format!("profile.release.package.{name}.{what}");
        // Neither build spends time in these once a region has begun.
        let work_config: Vec<_> =
            ["befit-machine", "befit-sched"].map(|name| setting(name, "opt-level=0")).into();
        // Instrumented code is for one run: rather built on all cores than well by one.
        let config = ["befit", "befit-kernels"].map(|name| setting(name, "codegen-units=16"));
        let config = [&work_config[..], &config].concat();
        let build = Build { target: program()?, config, ..Build::default() };
        let arguments = self.arguments();
        let name = arguments.join(" ");
        // One thread: a recorded run is serial, and its pool need not have more.
        let arguments = [arguments, vec!["--threads".to_owned(), "1".to_owned()]].concat();
        Ok(RecordingJob {
            build,
            work_config,
            arguments,
            kernel: Some(name),
            ..RecordingJob::default()
        })
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.kernel.name.clone(), "--n".to_owned(), self.n.to_string()];
        if let Some(seed) = self.seed {
            arguments.extend(["--seed".to_owned(), seed.to_string()]);
        }
        if self.shrink > 1 {
            arguments.extend(["--shrink".to_owned(), self.shrink.to_string()]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, n: Option<u64>, shrink: u32) -> KernelSource {
        KernelSource { n, shrink, ..KernelSource::new(name) }
    }

    #[test]
    fn an_unknown_kernel_gives_the_known_ones() {
        for shrink in [1, 16] {
            let error = find(&source("rmm", None, shrink)).unwrap_err();
            let known = "unknown kernel 'rmm'; known: rrm, rgm, rgm-leaf";
            assert!(error.is_usage() && error.to_string().starts_with(known), "{error}");
        }
    }

    #[test]
    fn a_setting_that_a_kernel_does_not_have_gives_those_it_has() {
        let error = find(&source("bst:node=21", None, 1)).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("node=20|24"), "{error}");
        assert_eq!(find(&source("bst:node=24", Some(7), 1)).unwrap().arguments()[0], "bst:node=24");
    }

    #[test]
    fn a_kernel_has_its_own_size_or_the_given_one_and_a_model_a_part_and_smaller_cut_offs() {
        let arguments =
            |name, n, shrink| find(&source(name, n, shrink)).unwrap().arguments().join(" ");
        assert_eq!(arguments("rrm", None, 1), "rrm --n 10000000");
        assert_eq!(arguments("rrm", Some(5), 1), "rrm --n 5");
        assert_eq!(arguments("rrm", None, 16), "rrm --n 625000 --shrink 16");
        assert_eq!(arguments("rrm", Some(5), 16), "rrm --n 5 --shrink 16");
        assert_eq!(arguments("matmul", None, 16), "matmul --n 1280 --shrink 16");
    }

    #[test]
    fn a_kernel_has_the_given_seed_or_its_own() {
        let seeded = KernelSource { seed: Some(7), ..source("rgm", Some(5), 1) };
        assert_eq!(find(&seeded).unwrap().arguments().join(" "), "rgm --n 5 --seed 7");
    }

    #[test]
    fn a_size_that_cannot_be_recorded_is_refused() {
        for n in [0, MOST + 1, u64::MAX] {
            let error = find(&source("rrm", Some(n), 1)).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(&n.to_string()), "{error}");
        }
    }
}
