//! The file of learned sizes that `BEFIT_SIZES` names.

use std::{
    ffi::OsStr,
    io::Write,
    path::Path,
    sync::{Arc, OnceLock},
};

use befit_sched::sizes::SizeTable;

/// The table in `file`: the first call in the process reads it, and says so on stderr if it cannot;
/// later ones return the same.
pub(crate) fn once_from(file: &OsStr) -> Option<Arc<SizeTable>> {
    static TABLE: OnceLock<Option<Arc<SizeTable>>> = OnceLock::new();
    let read_or_tell = || match SizeTable::load(Path::new(file)) {
        Ok(table) => Some(Arc::new(table)),
        Err(what) => {
            let file = file.display();
            // A failure to write to stderr has nowhere to be reported.
            writeln!(std::io::stderr(), "befit: BEFIT_SIZES: {file}: {what}; going on without")
                .ok();
            None
        }
    };
    TABLE.get_or_init(read_or_tell).clone()
}
