//! The same series-parallel programs on both engines, with sizes that lie.

use std::{
    ops::Range,
    sync::{
        atomic::{AtomicU32, AtomicU64, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use befit::{ThreadPool, fit, join, scope};
use befit_machine::Bytes;
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};
use befit_sched::Policy;
use befit_sim::Settings;

use crate::{
    Case, PATIENCE,
    watch::{self, Waiting, Watched},
};

/// Runs a random series-parallel program for each seed, in the simulator and on a pool of one to
/// eight threads. The sizes that its tasks declare have nothing to do with what they touch.
///
/// # Panics
/// Where a strand does not run exactly once, begins before something has ended that it waits for,
/// is handed out more often than it became ready, or is left; or where a program does not come to
/// its end. What is handed out too often on threads ends the process, as
/// [`on_threads`](crate::on_threads) says.
pub fn on_both_engines<P: Policy + Clone + 'static>(policy: &P, seeds: Range<u64>) {
    for seed in seeds {
        let (mut case, part, strands) = program(seed);
        simulate(&case, policy, &part, strands);
        on_pool(&mut case, policy, &part, strands, PATIENCE);
    }
}

/// The case of a seed, and its program with the number of its strands.
pub(crate) fn program(seed: u64) -> (Case, Part, u32) {
    let mut case = Case::new(seed);
    let mut strands = 0;
    let part = Part::random(&mut case.random, 6, &mut strands);
    (case, part, strands)
}

/// The half on threads. A computation that takes longer than `patience` hangs.
pub(crate) fn on_pool<P: Policy + Clone + 'static>(
    case: &mut Case,
    policy: &P,
    part: &Part,
    strands: u32,
    patience: Duration,
) {
    let (pool, waiting) = watch::pool(case, policy);
    let ran = run(pool, part.clone(), strands, patience);
    part.check(&ran);
    assert_eq!(waiting.left(), [""; 0], "nothing is left");
}

/// A part of a program.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A strand, by number, which does so many operations.
    Strand(u32, u32),
    /// One after the other.
    Series(Vec<Part>),
    /// Tasks with what they declare; they end before the part does.
    Parallel(Vec<(Option<u64>, Part)>),
}

impl Part {
    fn random(random: &mut fastrand::Rng, depth: u32, strands: &mut u32) -> Self {
        if depth == 0 || *strands > 300 || random.u32(..6) == 0 {
            *strands += 1;
            return Self::Strand(*strands - 1, random.u32(..2000));
        }
        let parts = random.usize(1..5);
        if random.bool() {
            return Self::Series(
                (0..parts).map(|_| Self::random(random, depth - 1, strands)).collect(),
            );
        }
        let part = |_| (lie(random), Self::random(random, depth - 1, strands));
        Self::Parallel((0..parts).map(part).collect())
    }

    /// The first beginning and the last end, of those of all strands.
    ///
    /// # Panics
    /// Where something begins before what stands before it in a series has ended.
    fn check(&self, ran: &[(u64, u64)]) -> (u64, u64) {
        match self {
            Self::Strand(number, _) => ran[*number as usize],
            Self::Series(parts) => {
                let spans: Vec<_> = parts.iter().map(|part| part.check(ran)).collect();
                for pair in spans.windows(2) {
                    assert!(pair[0].1 < pair[1].0, "a strand begins after what it waits for");
                }
                (spans[0].0, spans[spans.len() - 1].1)
            }
            Self::Parallel(parts) => {
                let spans = parts.iter().map(|(_, part)| part.check(ran));
                spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("a part at least")
            }
        }
    }

    fn build(&self, builder: &mut ProgramBuilder, scopes: &mut u32) {
        match self {
            Self::Strand(number, operations) => {
                builder.touch(4096 + u64::from(*number), true, false);
                builder.work(u64::from(*operations), 1, 1);
            }
            Self::Series(parts) => parts.iter().for_each(|part| part.build(builder, scopes)),
            Self::Parallel(parts) => {
                *scopes += 1;
                let scope = ScopeId(*scopes);
                for (size, part) in parts {
                    let declared = Declared { size: size.map(Bytes), strand: None };
                    builder.fork(scope, declared).expect("a fork");
                    part.build(builder, scopes);
                    builder.end().expect("an end");
                }
                builder.sync(scope).expect("a sync");
            }
        }
    }

    fn run(&self, clock: &Clock) {
        match self {
            Self::Strand(number, operations) => clock.strand(*number, *operations),
            Self::Series(parts) => parts.iter().for_each(|part| part.run(clock)),
            Self::Parallel(parts) => match &parts[..] {
                [(Some(a), left), (Some(b), right)] => {
                    let (a, b) = (*a as usize, *b as usize);
                    join(fit(a, || left.run(clock)), fit(b, || right.run(clock)));
                }
                [(_, left), (_, right)] => _ = join(|| left.run(clock), || right.run(clock)),
                _ => scope(|scope| {
                    for (size, part) in parts {
                        match size {
                            Some(size) => scope.spawn_fit(*size as usize, |_| part.run(clock)),
                            None => scope.spawn(|_| part.run(clock)),
                        }
                    }
                }),
            },
        }
    }
}

/// From nothing to more than any machine has, or nothing said.
fn lie(random: &mut fastrand::Rng) -> Option<u64> {
    match random.u32(..6) {
        0 => None,
        1 => Some(0),
        2 => Some(u64::MAX),
        _ => Some(random.u64(..) >> random.u32(..64)),
    }
}

/// The half in virtual time.
pub(crate) fn simulate<P: Policy + Clone>(case: &Case, policy: &P, part: &Part, strands: u32) {
    let watched = Watched { policy: policy.clone(), waiting: Waiting::default() };
    let meta = Meta { name: "series-parallel".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    part.build(&mut builder, &mut 0);
    let program: Program = builder.finish().expect("a well-formed program");
    let waiting = watched.waiting.clone();
    let settings = Settings { options: case.options, ..Settings::new(watched, case.seed) };
    let outcome = befit_sim::run(&program, &case.machine, &settings, &|_| {});
    let outcome = outcome.expect("the program ends, no sooner than its span allows");
    assert_eq!(outcome.strands, u64::from(program.strands()), "each strand runs once");
    assert_eq!(outcome.tasks, u64::from(program.tasks()), "each task runs");
    assert_eq!(outcome.levels[0].accesses.0, u64::from(strands), "each touch is made once");
    assert_eq!(waiting.left(), [""; 0], "nothing is left");
}

/// Tells the order of things.
struct Clock {
    next: AtomicU64,
    /// Of each strand, when it began and ended, and how often it ran.
    strands: Vec<(AtomicU64, AtomicU64, AtomicU32)>,
}

impl Clock {
    fn strand(&self, number: u32, operations: u32) {
        let (begin, end, times) = &self.strands[number as usize];
        begin.store(self.next.fetch_add(1, SeqCst), SeqCst);
        for operation in 0..operations {
            std::hint::black_box(operation);
        }
        times.fetch_add(1, SeqCst);
        end.store(self.next.fetch_add(1, SeqCst), SeqCst);
    }
}

/// Runs the program on the pool; returns when each strand began and ended.
fn run(pool: ThreadPool, part: Part, strands: u32, patience: Duration) -> Vec<(u64, u64)> {
    let (sender, receiver) = mpsc::channel();
    let computation = thread::spawn(move || {
        let strands = (0..strands).map(|_| Default::default()).collect();
        let clock = Clock { next: AtomicU64::new(1), strands };
        pool.install(|| part.run(&clock));
        drop(pool);
        // Only a test that has given up does not listen.
        let _ = sender.send(());
        clock
    });
    if receiver.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("the computation ends");
    }
    let clock = computation.join().expect("the computation does not panic");
    let strand = |(begin, end, times): (AtomicU64, AtomicU64, AtomicU32)| {
        assert_eq!(times.into_inner(), 1, "each strand runs once");
        (begin.into_inner(), end.into_inner())
    };
    clock.strands.into_iter().map(strand).collect()
}
