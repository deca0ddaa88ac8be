//! What rayon's variables say, where befit stands in for rayon (feature `rayon-variables`).

use std::ffi::OsString;

/// How many threads a pool has whose builder does not say. As in rayon what is no number counts as
/// nothing, and 0 means the default.
pub(crate) fn threads(variable: impl Fn(&str) -> Option<OsString>) -> Option<usize> {
    if !cfg!(feature = "rayon-variables") {
        return None;
    }
    let number = |name| variable(name)?.to_str()?.parse::<usize>().ok();
    number("RAYON_NUM_THREADS")
        .or_else(|| number("RAYON_RS_NUM_CPUS"))
        .filter(|threads| *threads > 0)
}
