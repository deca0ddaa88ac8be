//! befit's own kernels: their names, and where their sources are.

use befit_kernels::Kernel;
use befit_record::Build;

use super::{Job, checkout};
use crate::LabError;

/// The largest size that is recorded. A recording numbers cache lines with 32 bits; with this many elements, of 8 to 32 bytes, they are
/// enough for every kernel, and no machine that simulates has the memory for more.
const MOST: u64 = 1 << 32;

/// A kernel and the size to run it at.
#[derive(Debug)]
pub(super) struct Chosen {
    kernel: Kernel,
    n: u64,
}

/// The kernels, each with one line about it.
pub fn kernels() -> Vec<(&'static str, &'static str)> {
    Kernel::ALL.iter().map(|kernel| (kernel.name, kernel.about)).collect()
}

/// The kernel `name` at size `n`, or at its default size.
pub(super) fn find(name: &str, n: Option<u64>) -> Result<Chosen, LabError> {
    let kernel = Kernel::find(name).map_err(|_| LabError::UnknownKernel {
        name: name.to_owned(),
        known: kernels().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
    })?;
    match n.unwrap_or(kernel.default_n as u64) {
        n @ 1..=MOST => Ok(Chosen { kernel, n }),
        n => Err(LabError::BadSize { kernel: name.to_owned(), n, why: format!("1 to {MOST} can be recorded") }),
    }
}

impl Chosen {
    /// How it is built and run as it is: without instrumentation, on as many threads as it likes, and able to read lstopo's files.
    pub(super) fn native(&self) -> Result<(Build, Vec<String>), LabError> {
        Ok((Build { plain: true, features: Some("xml".to_owned()), ..self.build()? }, self.arguments()))
    }

    /// How it is built and run to be recorded.
    pub(super) fn job(&self) -> Result<Job, LabError> {
        let (build, arguments) = (self.build()?, self.arguments());
        let name = arguments.join(" ");
        // One thread: a recorded run is serial, and its pool need not have more.
        let arguments = [arguments, vec!["--threads".to_owned(), "1".to_owned()]].concat();
        Ok(Job { build, arguments, name: Some(name), shown: false, folder: None, threads: None })
    }

    fn build(&self) -> Result<Build, LabError> {
        let folder = checkout("kernels");
        let manifest = folder.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(LabError::SourcesGone { folder });
        }
        Ok(Build { manifest_path: Some(manifest), bin: Some("befit-kernels".to_owned()), ..Build::default() })
    }

    fn arguments(&self) -> Vec<String> {
        vec![self.kernel.name.to_owned(), "--n".to_owned(), self.n.to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_its_own_size_unless_another_is_given() {
        assert_eq!(find("rrm", None).unwrap().n, 10_000_000);
        assert_eq!(find("rrm", Some(5)).unwrap().n, 5);
    }

    #[test]
    fn an_unknown_kernel_is_answered_with_the_known_ones() {
        let error = find("rmm", None).unwrap_err();
        assert_eq!(error.to_string(), "unknown kernel 'rmm'; known: rrm, rgm, rgm-leaf");
        assert!(error.is_usage());
    }

    #[test]
    fn a_size_that_cannot_be_recorded_is_refused() {
        for n in [0, MOST + 1, u64::MAX] {
            let error = find("rrm", Some(n)).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(&n.to_string()), "{error}");
        }
    }

    #[test]
    fn the_sources_are_where_this_was_compiled() {
        assert!(checkout("kernels").join("Cargo.toml").is_file());
    }
}
