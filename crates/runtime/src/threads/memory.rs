//! How much memory the process has in use.

use std::{
    cell::Cell,
    fs,
    time::{Duration, Instant},
};

use befit_machine::Bytes;

use crate::system;

/// For so long a figure is taken to be right.
const FRESH: Duration = Duration::from_millis(20);

/// The process's resident memory without mapped files, looked up now and then.
#[derive(Debug, Default)]
pub(super) struct MemoryInUse(Cell<Option<(Instant, Option<Bytes>)>>);

impl MemoryInUse {
    /// None where the system does not tell.
    pub(super) fn get(&self) -> Option<Bytes> {
        let now = Instant::now();
        match self.0.get() {
            Some((at, found)) if now.saturating_duration_since(at) < FRESH => found,
            _ => {
                let found = look_up();
                self.0.set(Some((now, found)));
                found
            }
        }
    }
}

/// The second and the third figure of the file are resident and shared pages.
fn look_up() -> Option<Bytes> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some(Bytes(resident.saturating_sub(shared).saturating_mul(system::page()?)))
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_grows_with_what_is_written() {
        let before = look_up().unwrap();
        let written = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = look_up().unwrap();
        // Other tests take and give memory meanwhile.
        assert!(after.0 > before.0 + (32 << 20), "{before:?} {after:?}");
        drop(written);
    }
}
