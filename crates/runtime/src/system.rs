//! What the runtime asks of Linux: on which CPUs threads may run, where their stacks lie, and how
//! large a page is.

pub(crate) use imp::{affinity, current_cpu, page, set_affinity, stack};

#[cfg(target_os = "linux")]
mod imp {
    use std::{
        mem::{MaybeUninit, size_of_val},
        ops::Range,
    };

    use libc::{c_ulong, cpu_set_t, pid_t};

    const BITS: usize = c_ulong::BITS as usize;
    /// A bit for each CPU, as the kernel wants them; for as many as it can have.
    type Mask = [c_ulong; 8192 / BITS];

    /// The online CPUs on which a thread may run, in ascending order: the calling one, or that of
    /// this number. None where the system does not say.
    pub(crate) fn affinity(thread: Option<u32>) -> Option<Vec<usize>> {
        let thread = pid_t::try_from(thread.unwrap_or(0)).ok()?;
        let mut mask: Mask = [0; _];
        let bytes = size_of_val(&mask);
        let place: *mut cpu_set_t = mask.as_mut_ptr().cast();
        // SAFETY: the kernel writes at most so many bytes to `place`, which is `mask`, all of it
        // ours and of no invalid bit pattern. A mask that it has no room for is refused.
        let refused = unsafe { libc::sched_getaffinity(thread, bytes, place) };
        let is_set = |cpu: &usize| mask[cpu / BITS] >> (cpu % BITS) & 1 == 1;
        (refused == 0).then(|| (0..mask.len() * BITS).filter(is_set).collect())
    }

    /// Lets the calling thread run on `cpus` only, if there are any. A refusal is ignored.
    pub(crate) fn set_affinity(cpus: &[usize]) {
        let mut mask: Mask = [0; _];
        for cpu in cpus {
            if let Some(word) = mask.get_mut(cpu / BITS) {
                *word |= 1 << (cpu % BITS);
            }
        }
        if cpus.is_empty() {
            return;
        }
        let place: *const cpu_set_t = mask.as_ptr().cast();
        // SAFETY: the kernel reads so many bytes at `place`, which is all of `mask`.
        unsafe { libc::sched_setaffinity(0, size_of_val(&mask), place) };
    }

    /// The CPU that the calling thread runs on at the moment.
    pub(crate) fn current_cpu() -> Option<usize> {
        // SAFETY: it takes nothing and touches no memory of ours.
        let cpu = unsafe { libc::sched_getcpu() };
        usize::try_from(cpu).ok()
    }

    /// The bytes of a page.
    pub(crate) fn page() -> Option<u64> {
        // SAFETY: it touches no memory of ours, and returns -1 for what it does not know.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        u64::try_from(bytes).ok()
    }

    /// Where the calling thread's own stack may lie; none where the system does not say. That of a
    /// main thread is read from a file.
    pub(crate) fn stack() -> Option<Range<usize>> {
        if cfg!(miri) {
            return None;
        }
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        // SAFETY: it takes nothing and touches no memory of ours.
        let this = unsafe { libc::pthread_self() };
        // SAFETY: the thread runs, and the attributes, which are written, are ours.
        let refused = unsafe { libc::pthread_getattr_np(this, attributes.as_mut_ptr()) };
        if refused != 0 {
            return None;
        }
        let (mut at, mut bytes) = (std::ptr::null_mut(), 0);
        // SAFETY: the attributes were written above; it writes to `at` and `bytes`.
        let refused = unsafe {
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut at, &raw mut bytes)
        };
        // SAFETY: they were written above, and are not used any more.
        unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
        (refused == 0).then(|| at.addr()..at.addr() + bytes)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::ops::Range;

    pub(crate) fn affinity(_: Option<u32>) -> Option<Vec<usize>> {
        None
    }

    pub(crate) fn set_affinity(_: &[usize]) {}

    pub(crate) fn current_cpu() -> Option<usize> {
        None
    }

    pub(crate) fn page() -> Option<u64> {
        None
    }

    pub(crate) fn stack() -> Option<Range<usize>> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_pinned_runs_there_and_says_so() {
        let allowed = affinity(None).unwrap();
        assert!(allowed.is_sorted() && !allowed.is_empty());
        let last = *allowed.last().unwrap();
        std::thread::spawn(move || {
            set_affinity(&[last]);
            assert_eq!((affinity(None).unwrap(), current_cpu()), (vec![last], Some(last)));
            // The whole machine has no such CPU, so nothing changes.
            set_affinity(&[]);
            set_affinity(&[1 << 20]);
            assert_eq!(affinity(None).unwrap(), [last]);
        })
        .join()
        .unwrap();
        assert_eq!(affinity(None).unwrap(), allowed);
        assert!(page().unwrap().is_power_of_two());
    }

    #[test]
    #[cfg_attr(miri, ignore = "nothing says where a stack lies")]
    fn a_thread_s_stack_is_as_large_as_was_asked_for_and_holds_its_variables() {
        let started = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
            let variable = 0u8;
            let stack = stack().unwrap();
            assert!(stack.contains(&(&raw const variable).addr()));
            assert!((1 << 19..1 << 22).contains(&stack.len()), "{stack:?}");
        });
        started.unwrap().join().unwrap();
    }
}
