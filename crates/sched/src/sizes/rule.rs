//! Which of its sizes a task goes by: one rule for all engines.

use befit_machine::Bytes;

use super::Predicted;

/// Size and largest strand of a task, as [`TaskInfo::child`](crate::TaskInfo::child) takes them:
/// what it declares, else what was learned of it; where neither is known, none, and it inherits its
/// parent's. `learned` is not asked where a size is declared.
pub fn known(
    size: Option<Bytes>,
    strand: Option<Bytes>,
    learned: impl FnOnce() -> Option<Predicted>,
) -> (Option<Bytes>, Option<Bytes>) {
    if size.is_some() {
        return (size, strand);
    }
    learned()
        .map_or((None, strand), |found| (Some(found.size), Some(strand.unwrap_or(found.strand))))
}
