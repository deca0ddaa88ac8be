//! How a pool starts and ends.

use std::{marker::PhantomData, sync::Arc, thread::JoinHandle};

use super::{
    claim::{self, Claim},
    engine::{AnyPolicy, Engine},
    registry::Registry,
    worker::Worker,
};
use crate::{
    JoinThreadsError, SpawnThread, ThreadBuilder, ThreadPoolBuildError,
    api::{Decided, Settings},
    environment, stats,
};

/// What a [`ThreadPool`](crate::ThreadPool) holds; the pool ends when it is dropped.
pub(crate) struct Handle {
    registry: Arc<Registry>,
    threads: Vec<JoinHandle<()>>,
    /// The handle still keeps the pool running.
    open: bool,
    /// Thread 0 was lent by the program, which does not end with the pool.
    adopted: bool,
}

impl Handle {
    /// Builds a pool; `spawn` starts its threads. A thread that the program lends to it is still to
    /// [join it](Self::adopt_this_thread).
    pub(crate) fn build(
        decided: Decided,
        mut settings: Settings,
        mut spawn: impl SpawnThread,
    ) -> Result<Self, ThreadPoolBuildError> {
        let Decided { scheduler, built_in, policy, options, sizes, .. } = decided;
        let Decided { machine, detected, threads, pin, .. } = decided;
        let wanted = stats::process::wanted()?;
        let clock = environment::PROCESS.clock()?;
        let claim = Claim::new(pin, &machine, detected, threads);
        let inherits_a_place = claim::has_a_place();
        let (kind, policy): (_, &dyn AnyPolicy) = match &policy {
            Some(policy) => (None, &**policy),
            None => (Some(scheduler), &built_in),
        };
        let wait_policy = settings.wait_policy;
        let engine = Engine::new(kind, policy, machine, options, sizes, wait_policy, threads);
        if !engine.can_wait_as_asked() {
            return Err(ThreadPoolBuildError::WaitPolicy(engine.policy.name()));
        }
        let clock = settings.timed.unwrap_or(wanted).then_some(clock);
        let registry =
            Arc::new(Registry::new(engine, settings.seed, settings.handlers, claim, clock));
        let adopted = settings.use_current_thread;
        let handle = Self { registry, threads: Vec::new(), open: true, adopted };
        let mut starting = Starting { handle: Some(handle), left: threads };
        if adopted && let Some(name) = &mut settings.thread_name {
            // It may count the threads.
            name(0);
        }
        for index in usize::from(adopted)..threads {
            // It may panic: the thread has then not been started, and there is no start yet.
            let name = match &mut settings.thread_name {
                Some(name) => name(index),
                None => format!("befit-{index}"),
            };
            let handle = starting.handle.as_mut().expect("it is taken at the end only");
            if spawn.is_the_programs() {
                handle.registry.awaits_thread();
            }
            let start = Start {
                registry: Some(Arc::clone(&handle.registry)),
                inherits_a_place,
                is_awaited: spawn.is_the_programs(),
            };
            let stack_size = settings.stack_size;
            let thread = ThreadBuilder { start, index, name, stack_size, not_sync: PhantomData };
            // Should it not be run, it says so itself.
            starting.left -= 1;
            match spawn.spawn(thread) {
                Ok(thread) => handle.threads.extend(thread),
                Err(source) => return Err(ThreadPoolBuildError::Thread { index, source }),
            }
        }
        let handle = starting.done();
        stats::process::began(&handle.registry);
        Ok(handle)
    }

    /// Makes the calling thread, which has built the pool, its thread 0, if that was asked for.
    pub(crate) fn adopt_this_thread(&self) {
        if self.adopted {
            Worker::adopt_this_thread(Arc::clone(&self.registry));
        }
    }

    pub(crate) fn pool(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Ends the pool, once, and waits.
    pub(crate) fn end(&mut self) -> Result<(), JoinThreadsError> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        self.registry.release();
        Worker::with_current(|worker| {
            let own = worker.filter(|worker| Arc::ptr_eq(worker.registry(), &self.registry));
            if let Some(worker) = own {
                if !worker.is_adopted_and_free() {
                    self.let_go();
                    return Err(JoinThreadsError::InsidePool { index: worker.thread() });
                }
                // What only this thread can run keeps the pool running.
                worker.wait(&self.registry.stops[worker.thread()], None);
            }
            self.let_go();
            // The pool's last jobs may need the pool of this worker.
            self.registry.wait_for_end(worker);
            Ok(())
        })?;
        self.join_handles();
        Ok(())
    }

    /// Ends the pool without waiting.
    pub(crate) fn detach(&mut self) {
        self.open = false;
        self.registry.release();
        self.let_go();
    }

    /// Nobody waits for the end of a thread that was lent to the pool.
    fn let_go(&self) {
        if self.adopted {
            self.registry.threads_ended(1);
        }
    }

    fn join_handles(&mut self) {
        for thread in self.threads.drain(..) {
            // Threads of a pool do not panic: they abort.
            let _ = thread.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // One of its own threads does not wait.
        let _ = self.end();
    }
}

/// A pool some of whose threads have not been started. Should that fail, or a function of the
/// program's panic on the way, those that have been started end.
struct Starting {
    handle: Option<Handle>,
    /// The threads that have not been started, an adopted one included.
    left: usize,
}

impl Starting {
    fn done(mut self) -> Handle {
        self.handle.take().expect("it is taken here only")
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(handle) = &mut self.handle {
            handle.registry.threads_ended(self.left);
            // Nobody waits for them: the program may let them wait for those that never began.
            handle.open = false;
            handle.registry.release();
        }
    }
}

/// The start of a pool's thread. A thread that was never run is not waited for.
pub(crate) struct Start {
    /// None once it runs.
    registry: Option<Arc<Registry>>,
    /// The thread that starts it has its place from a pool, and it would have it, too.
    inherits_a_place: bool,
    /// See [`Registry::awaits_thread`].
    is_awaited: bool,
}

impl Start {
    /// Makes the calling thread thread `index` of the pool. Returns when the pool ends, at once if
    /// it has ended without this thread.
    pub(crate) fn run(mut self, index: usize, stack_size: Option<usize>) {
        let Some(registry) = self.registry.take() else { return };
        if self.is_awaited && !registry.thread_came() {
            return;
        }
        match &registry.claim {
            Some(claim) => claim.pin(index),
            None if self.inherits_a_place => claim::unpin(),
            None => {}
        }
        let worker = Worker::new(Arc::clone(&registry), index).with_stack(stack_size);
        worker.run_until(&registry.stops[index]);
        registry.threads_ended(1);
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.take()
            && (!self.is_awaited || registry.thread_came())
        {
            registry.threads_ended(1);
        }
    }
}
