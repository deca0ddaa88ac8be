//! The file of learned sizes that `BEFIT_SIZES` names.

use std::{
    ffi::OsStr,
    fs::File,
    io::{Read, Write},
    path::Path,
    sync::{Arc, OnceLock},
};

use befit_sched::sizes::SizeTable;

/// So many bytes are read: one more than a table may have, so that its parser notices.
const LONGEST: u64 = (1 << 20) + 1;

/// The table in `file`: the first call in the process reads it, and says so on stderr if it cannot;
/// later ones return the same.
pub(crate) fn once_from(file: &OsStr) -> Option<Arc<SizeTable>> {
    static TABLE: OnceLock<Option<Arc<SizeTable>>> = OnceLock::new();
    let read_or_tell = || match read(Path::new(file)) {
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

fn read(file: &Path) -> Result<SizeTable, String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| error.to_string())?;
    text.parse().map_err(|error: befit_sched::sizes::SizeTableError| error.to_string())
}
