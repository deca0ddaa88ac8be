//! `BEFIT_STATS=FILE`: the counts of all pools of this process, as JSON (`befit.stats/2`, see
//! docs/json.md).
//!
//! The file is written when a pool ends, so that a process that is killed later leaves something.
//! It is written again when the process ends, for the global pool and for others that are still
//! there. A process that ends without exit handlers (a signal, `abort`, `_exit`) leaves the file of
//! the last pool that ended, at most a moment ([`PAUSE`]) old.

use std::{
    env,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, OnceLock, Weak},
    time::{Duration, Instant},
};

use super::{
    file::Target,
    json::{self, About},
};
use crate::{ThreadPoolBuildError, backend::Registry};

/// Further pools are counted, but not listed.
const MOST_POOLS: usize = 1000;

/// Pools that end in quicker succession are not each worth a file.
const PAUSE: Duration = Duration::from_millis(100);

/// The statistics of one process.
#[derive(Debug)]
struct Kept {
    /// Its number. Not under the lock: in a process that is forked from it, that may be held by a
    /// thread that is not there.
    process: u32,
    state: Mutex<State>,
}

/// The statistics so far, where they are wanted.
#[derive(Debug)]
struct State {
    pools: Vec<Pool>,
    left_out: usize,
    target: Target,
    written: Option<Instant>,
}

#[derive(Debug)]
enum Pool {
    Living(Weak<Registry>),
    /// Its JSON.
    Ended(String),
}

/// Set by the first pool of the process; `None` inside if nothing is wanted.
static KEPT: OnceLock<Option<Kept>> = OnceLock::new();

/// None also in a process that was forked from the one whose statistics they are. It writes
/// nothing: the pools and the file are its parent's.
fn state() -> Option<MutexGuard<'static, State>> {
    let kept = KEPT.get()?.as_ref()?;
    if kept.process != std::process::id() {
        return None;
    }
    Some(kept.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Whether statistics are wanted. The first call decides.
///
/// # Errors
/// If they cannot be written where the variable says.
pub(crate) fn wanted() -> Result<bool, ThreadPoolBuildError> {
    if let Some(decided) = KEPT.get() {
        return Ok(decided.is_some());
    }
    let error = |what| ThreadPoolBuildError::Environment { variable: "BEFIT_STATS", what };
    let mut kept = None;
    if let Some(value) = env::var_os("BEFIT_STATS").filter(|value| !value.is_empty()) {
        let value = value.to_str().ok_or_else(|| error("it is not UTF-8".to_owned()))?;
        let process = std::process::id();
        let target = Target::new(value, process).map_err(error)?;
        let (pools, left_out, written) = (Vec::new(), 0, None);
        let state = Mutex::new(State { pools, left_out, target, written });
        kept = Some(Kept { process, state });
    }
    let wanted = kept.is_some();
    if KEPT.set(kept).is_ok() && wanted {
        // Where it is refused, the file is written when pools end, and no later.
        let _ = call_at_exit(at_exit);
    }
    Ok(KEPT.get().is_some_and(Option::is_some))
}

/// A pool has been built.
pub(crate) fn began(pool: &Arc<Registry>) {
    let Some(mut state) = state() else { return };
    if state.pools.len() < MOST_POOLS {
        state.pools.push(Pool::Living(Arc::downgrade(pool)));
    } else {
        state.left_out += 1;
    }
}

/// All threads of a pool have ended.
pub(crate) fn ended(pool: &Registry) {
    let Some(mut state) = state() else { return };
    let is_it = |listed: &Pool| match listed {
        Pool::Living(living) => std::ptr::eq(living.as_ptr(), pool),
        Pool::Ended(_) => false,
    };
    let Some(listed) = state.pools.iter_mut().find(|listed| is_it(listed)) else { return };
    *listed = Pool::Ended(show(pool, true));
    if state.target.is_file() && state.written.is_none_or(|at| at.elapsed() >= PAUSE) {
        state.write();
        state.written = Some(Instant::now());
    }
}

extern "C" fn at_exit() {
    // Nothing may unwind into C.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(mut state) = state() {
            state.write();
        }
    }));
}

impl State {
    fn write(&mut self) {
        let show = |pool: &Pool| match pool {
            Pool::Ended(json) => Some(json.clone()),
            Pool::Living(pool) => Some(show(&*pool.upgrade()?, false)),
        };
        let pools: Vec<String> = self.pools.iter().filter_map(show).collect();
        let program = env::args_os().next().unwrap_or_default();
        let program = program.to_string_lossy();
        let text = json::document(&program, std::process::id(), self.left_out, &pools);
        match self.target.write(&text) {
            Ok(None) => {}
            // Where even stderr fails nobody is left to hear of it.
            Ok(Some(note)) => drop(writeln!(std::io::stderr(), "befit: {note}")),
            Err(error) => drop(writeln!(std::io::stderr(), "befit: statistics: {error}")),
        }
    }
}

fn show(pool: &Registry, ended: bool) -> String {
    let about = About {
        scheduler: pool.scheduler_name(),
        policy: pool.policy_name(),
        machine: pool.machine(),
        options: pool.options(),
        threads: pool.threads(),
        pinned: pool.is_pinned(),
        ended,
        tiers: pool.tiers(),
    };
    json::pool(&about, &pool.statistics(), pool.trace().as_ref())
}

/// Has the C library call `hook` when the process ends by `exit` or the return of `main`; returns
/// whether it will.
fn call_at_exit(hook: extern "C" fn()) -> bool {
    // SAFETY: this is the C standard's `int atexit(void (*)(void))`, which every C library that
    // `std` is linked with has.
    unsafe extern "C" {
        fn atexit(hook: extern "C" fn()) -> std::ffi::c_int;
    }
    // SAFETY: the declaration above is the C standard's; `hook` is a function of this program, so
    // it is there until the process ends, and it does not unwind: its only caller gives `at_exit`,
    // which catches every panic.
    unsafe { atexit(hook) == 0 }
}

#[cfg(all(test, not(any(befit_record, loom)), target_os = "linux"))]
mod tests {
    use std::{ffi::c_int, fs, thread};

    use super::*;
    use crate::threads::testing::alone;

    /// The status with which `child` ends; `None` if it does not within a minute.
    fn status_of(child: libc::pid_t) -> Option<c_int> {
        let ended = |_: u32| {
            thread::sleep(Duration::from_millis(10));
            let mut status = 0;
            // SAFETY: the status is written to a variable of this function.
            let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
            (ended == child).then_some(status)
        };
        let status = (0..6000).find_map(ended);
        if status.is_none() {
            // SAFETY: it has not been waited for, so the number is still the child's.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        status
    }

    #[test]
    #[cfg_attr(miri, ignore = "it cannot fork")]
    fn regression_a_forked_process_does_not_wait_at_its_end_for_a_lock_of_its_parent() {
        let test = regression_a_forked_process_does_not_wait_at_its_end_for_a_lock_of_its_parent;
        if let Some(output) = alone(test) {
            return assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stats.json");
        let process = std::process::id();
        let target = Target::new(file.to_str().unwrap(), process).unwrap();
        let state = State { pools: Vec::new(), left_out: 0, target, written: None };
        KEPT.set(Some(Kept { process, state: Mutex::new(state) })).unwrap();
        let held = super::state();
        // SAFETY: the child does what is called at a process's end, which takes no lock and no
        // memory there, and then ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            at_exit();
            // SAFETY: it ends the child, and nothing else.
            unsafe { libc::_exit(0) };
        }
        assert_eq!(status_of(child), Some(0));
        assert!(!fs::exists(&file).unwrap());
        drop(held);
        at_exit();
        assert!(fs::exists(&file).unwrap());
    }
}
