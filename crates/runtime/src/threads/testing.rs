//! What the tests of several folders share.

use std::{
    any, env, fmt,
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Output},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, ForkOrder, Handle, Policy, Ready, Scheduler, Strand, TaskInfo, Tiers,
};

use crate::{
    Options, SchedulerKind, ThreadPool, ThreadPoolBuilder, WaitPolicy, join,
    threads::worker::Worker,
};

/// Machines as text: flat, one socket, two sockets, chiplets, three levels, unlike what the tests
/// run on.
pub(crate) const MACHINES: [&str; 5] = [
    "pu:8",
    "l3:1(size=8MiB) core:8 l2:1(size=256KiB) pu:1",
    "pack:2 l3:1(size=1MiB) core:4 l2:1(size=64KiB) l1:1(size=16KiB) pu:1",
    "pack:1 l3:4(size=512KiB) core:2 l2:1(size=64KiB) pu:1",
    "pack:2 l3:2(size=256KiB) l2:2(size=32KiB) l1:1(size=4KiB) pu:2",
];

/// All schedulers. Under Miri, to which a test of all is hours, one of each family.
pub(crate) fn schedulers() -> impl Iterator<Item = SchedulerKind> {
    use SchedulerKind::{CatsS, Homes, Sb, Ws};
    let chosen = |kind: &SchedulerKind| !cfg!(miri) || [Ws, Sb, CatsS, Homes].contains(kind);
    SchedulerKind::ALL.into_iter().filter(chosen)
}

/// The machines that a test runs on. Under Miri, one of two sockets.
fn machines() -> &'static [&'static str] {
    if cfg!(miri) { &MACHINES[2..3] } else { &MACHINES }
}

/// Those of the machines that a test meets with this scheduler and so many threads: see
/// [`on_every_pool`].
fn machines_in_turn(
    scheduler: SchedulerKind,
    threads: usize,
) -> impl Iterator<Item = &'static str> {
    let mut hasher = DefaultHasher::new();
    // The thread that runs a test has its name.
    (thread::current().name(), scheduler, threads).hash(&mut hasher);
    let (hash, all) = (hasher.finish() as usize, machines());
    // Each step goes round all: they are a prime number.
    let (first, step) = (hash % MACHINES.len(), 1 + hash / MACHINES.len() % (MACHINES.len() - 1));
    let count = if env::var_os("BEFIT_EVERY_MACHINE").is_some() { MACHINES.len() } else { 2 };
    (0..count.min(all.len())).map(move |turn| all[(first + turn * step) % all.len()])
}

/// So much, or so little under Miri, which runs a test some thousand times more slowly.
pub(crate) const fn or_under_miri<T: Copy>(usual: T, under_miri: T) -> T {
    if cfg!(miri) { under_miri } else { usual }
}

/// A pool on a machine given as text.
pub(crate) fn pool(scheduler: SchedulerKind, machine: &str, threads: usize) -> ThreadPool {
    builder(scheduler, machine, threads).build().unwrap()
}

/// What builds such a pool.
pub(crate) fn builder(
    scheduler: SchedulerKind,
    machine: &str,
    threads: usize,
) -> ThreadPoolBuilder {
    let machine = machine.parse().unwrap();
    ThreadPoolBuilder::new().scheduler(scheduler).machine(machine).num_threads(threads)
}

/// Calls `test` for each scheduler, with 1, 2 and 7 threads.
pub(crate) fn for_each_kind(test: impl Fn(SchedulerKind, usize)) {
    let threads: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 7] };
    for scheduler in schedulers() {
        let _watchdog = watchdog(MINUTE);
        threads.iter().for_each(|threads| test(scheduler, *threads));
    }
}

/// Calls `test` with a pool of each scheduler, with 1, 2 and 7 threads, on two of the machines:
/// which, a hash of the test's name, the scheduler and the number of threads says, so that each
/// such pool is met by about two tests in five, the same each time. On each machine if the variable
/// `BEFIT_EVERY_MACHINE` is set, as `.ci/long` does.
pub(crate) fn on_every_pool(test: impl Fn(&ThreadPool) + Sync) {
    for_each_kind(|scheduler, threads| {
        let machines = machines_in_turn(scheduler, threads);
        machines.for_each(|machine| test(&pool(scheduler, machine, threads)));
    });
}

/// Calls `test` with a pool of each scheduler, on a machine given as text.
pub(crate) fn on_each_scheduler(machine: &str, threads: usize, test: impl Fn(&ThreadPool)) {
    on_each(schedulers(), machine, threads, test);
}

/// The same, but for `static` and `adws`: under these a task waits for the worker that it is bound
/// or sent to.
pub(crate) fn on_each_that_steals(machine: &str, threads: usize, test: impl Fn(&ThreadPool)) {
    let steals =
        |kind: &SchedulerKind| !matches!(kind, SchedulerKind::Static | SchedulerKind::Adws);
    on_each(schedulers().filter(steals), machine, threads, test);
}

fn on_each(
    kinds: impl Iterator<Item = SchedulerKind>,
    machine: &str,
    threads: usize,
    test: impl Fn(&ThreadPool),
) {
    for kind in kinds {
        let _watchdog = watchdog(MINUTE);
        test(&pool(kind, machine, threads));
    }
}

/// Calls `test` with a pool of one thread under each scheduler on each machine: there the order can
/// be seen.
pub(crate) fn on_one_thread(test: impl Fn(&ThreadPool)) {
    machines().iter().for_each(|machine| on_each_scheduler(machine, 1, &test));
}

/// Calls `test` with pools of 1, 2 and 7 threads whose waiting workers are held to descendants,
/// under each scheduler that can do that.
pub(crate) fn with_descendants(test: impl Fn(&ThreadPool)) {
    use SchedulerKind::{Batch, Cab, Hws, Mts, Sb, SbD, Static};
    for kind in schedulers().filter(|k| !matches!(k, Sb | SbD | Cab | Hws | Mts | Batch | Static)) {
        let _watchdog = watchdog(MINUTE);
        for threads in [1, 2, 7] {
            let builder = ThreadPoolBuilder::new().num_threads(threads).scheduler(kind);
            let builder = builder.machine("pack:2 l3:1(size=1MiB) core:4 pu:1".parse().unwrap());
            test(&builder.wait_policy(WaitPolicy::Descendants).build().unwrap());
        }
    }
}

/// Measures up to five times, until `holds`: other work on this machine can spoil some of them, or
/// keep a thread from running meanwhile. `measure` builds a new pool each time.
pub(crate) fn one_of_five<T: fmt::Debug>(measure: impl Fn() -> T, holds: impl Fn(&T) -> bool) {
    let mut measured = Vec::new();
    while !measured.last().is_some_and(&holds) {
        assert!(measured.len() < 5, "none of {measured:?}");
        measured.push(measure());
    }
}

/// The time that a test may take.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Ends the process with a message unless the result is dropped within `limit`, as a test that
/// hangs says nothing.
#[must_use]
pub(crate) fn watchdog(limit: Duration) -> mpsc::Sender<()> {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let (finished, wait) = mpsc::channel();
    thread::spawn(move || {
        // Looks are counted, not time: that goes on while a busy machine lets all threads wait.
        let look = Duration::from_millis(10);
        let mut looks = 0..limit.as_millis() / look.as_millis();
        let waits_on = |_| wait.recv_timeout(look) == Err(mpsc::RecvTimeoutError::Timeout);
        if !cfg!(miri) && looks.all(waits_on) {
            // Not `eprintln!`, whose output the test harness would keep.
            let _ = writeln!(std::io::stderr(), "{name} hangs: not finished within {limit:?}");
            std::process::abort();
        }
    });
    finished
}

/// Runs `test`, the calling test, alone in a process of its own, and returns how that ended; `None`
/// in that process.
pub(crate) fn alone<T: Fn()>(test: T) -> Option<Output> {
    const VARIABLE: &str = "BEFIT_TEST_ALONE";
    if env::var_os(VARIABLE).is_some() {
        return None;
    }
    let name = any::type_name_of_val(&test).split_once("::").expect("a path in a crate").1;
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args([name, "--exact", "--nocapture"]).env(VARIABLE, "1").output();
    let output = output.unwrap();
    let found = String::from_utf8_lossy(&output.stdout).contains("running 1 test");
    assert!(found, "there is no test {name}");
    Some(output)
}

/// A Fibonacci number, with a fork for each call.
pub(crate) fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// What `f` panics with.
pub(crate) fn panic_of<T: 'static, R>(f: impl FnOnce() -> R) -> T {
    let result = catch_unwind(AssertUnwindSafe(f));
    *result.err().expect("it panics").downcast().expect("the panic is of this type")
}

/// Waits until `flag` is set.
pub(crate) fn wait_for(flag: &AtomicBool) {
    wait_until(|| flag.load(SeqCst));
}

/// Waits until `is_so` holds. It lets other threads run, but not the pool's other tasks.
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

/// Whether the other threads of the calling one's pool sleep, or are about to.
pub(crate) fn the_others_sleep() -> bool {
    Worker::with_current(|worker| {
        let worker = worker.expect("a thread of a pool");
        let mut others = (0..worker.engine().threads).filter(|thread| *thread != worker.thread());
        others.all(|thread| worker.engine().sleep.is_asleep(thread))
    })
}

/// What `numbers` are, in ascending order.
pub(crate) fn sorted(numbers: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<_> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicUsize, n: usize) {
    counter.fetch_add(n, SeqCst);
}

/// Counts how many of its [`Token`]s live.
#[derive(Debug, Default)]
pub(crate) struct Census {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

/// Something that a closure or a result can hold.
#[derive(Debug)]
pub(crate) struct Token<'a>(&'a Census);

impl Census {
    pub(crate) fn token(&self) -> Token<'_> {
        self.made.fetch_add(1, SeqCst);
        Token(self)
    }

    /// Everything that was made has been dropped.
    pub(crate) fn check_all(&self) {
        self.check(self.made.load(SeqCst));
    }

    /// Everything that was made has been dropped, once.
    pub(crate) fn check(&self, made: usize) {
        assert_eq!((self.made.load(SeqCst), self.dropped.load(SeqCst)), (made, made));
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

/// Work stealing that notes the tasks it is given, and may say other things of itself.
#[derive(Clone, Debug)]
pub(crate) struct Noting {
    tasks: Arc<Mutex<Vec<TaskInfo>>>,
    says: fn(Capabilities) -> Capabilities,
}

impl Noting {
    pub(crate) fn with(says: fn(Capabilities) -> Capabilities) -> Self {
        Self { tasks: Arc::default(), says }
    }

    /// The tasks so far, in order.
    pub(crate) fn tasks(&self) -> Vec<TaskInfo> {
        self.tasks.lock().unwrap().clone()
    }
}

#[derive(Debug)]
struct Notes<T>(Box<dyn Scheduler<T>>, Noting);

impl Policy for Noting {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Notes(SchedulerKind::Ws.build(machine, options), self.clone()))
    }
}

impl<T: Handle> Scheduler<T> for Notes<T> {
    fn name(&self) -> &'static str {
        "noting"
    }
    fn capabilities(&self) -> Capabilities {
        (self.1.says)(self.0.capabilities())
    }
    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        self.0.fork_order(parent)
    }
    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.1.tasks.lock().unwrap().push(ready.task);
        self.0.add(w, ready, env)
    }
    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.0.get(w, ask, env)
    }
    fn due(&self, w: WorkerId, env: &mut dyn Env) -> Option<Duration> {
        self.0.due(w, env)
    }
    fn has_own(&self, w: WorkerId) -> bool {
        self.0.has_own(w)
    }
    fn resume(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        self.0.resume(w, task, env);
    }
    fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) -> Option<ClusterId> {
        self.0.done(w, strand, env)
    }
    fn task_ended(&self, w: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        self.0.task_ended(w, task, env)
    }
    fn tiers(&self) -> Option<Tiers> {
        self.0.tiers()
    }
}
