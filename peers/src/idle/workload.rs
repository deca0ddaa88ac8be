//! What a pool does that is idle most of the time.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use clap::{ValueEnum, builder::PossibleValue};
use rustix::time::{ClockId, clock_gettime};

use crate::{Error, runtime::Runtime};

/// A workload: calls into a pool. The comments are the lines of `--help`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Workload {
    /// a call that does nothing, every 2 ms: how long it takes until it begins
    Wake,
    /// a join of two empty halves every ms
    #[value(name = "gap-1ms")]
    Gap1,
    /// a join of two empty halves every 10 ms
    #[value(name = "gap-10ms")]
    Gap10,
    /// a tree of 256 leaves of some 10 us each, every 5 ms
    Burst,
    /// 256 empty items cut as rayon's parallel iterators cut them, without gaps
    Iter,
    /// a join of two empty halves, without gaps
    Join,
}

/// What a workload took, without the gaps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sample {
    /// The processor time of the whole process per call, gaps included.
    pub(crate) cpu: Duration,
    /// From a call to its return: the median of the calls. For [`Workload::Wake`], to its begin.
    pub(crate) wall: Duration,
}

/// Leaves of a burst; items of an iterator.
const LEAVES: usize = 256;
/// Multiplications of a leaf of a burst that need one another, some 10 µs.
const ROUNDS: u32 = 7_000;

impl Workload {
    /// As users type it.
    pub(crate) fn name(self) -> String {
        self.described().get_name().to_owned()
    }

    /// One line on what it does.
    pub(crate) fn about(self) -> String {
        self.described().get_help().map(|help| help.ansi().to_string()).unwrap_or_default()
    }

    fn described(self) -> PossibleValue {
        self.to_possible_value().expect("no workload is hidden")
    }

    /// How many calls a run makes: it takes a second, or less.
    pub(crate) fn calls(self) -> u32 {
        match self {
            Self::Wake | Self::Gap1 => 400,
            Self::Gap10 => 60,
            Self::Burst => 100,
            Self::Iter => 4_000,
            Self::Join => 20_000,
        }
    }

    fn gap(self) -> Duration {
        Duration::from_millis(match self {
            Self::Wake => 2,
            Self::Gap1 => 1,
            Self::Gap10 => 10,
            Self::Burst => 5,
            Self::Iter | Self::Join => 0,
        })
    }

    /// Makes so many calls on `runtime`, of so many threads, which sleep when it begins.
    ///
    /// # Errors
    /// [`Error::WrongResult`].
    pub(crate) fn run<R: Runtime>(
        self,
        runtime: &R,
        threads: usize,
        calls: u32,
    ) -> Result<Sample, Error> {
        for _ in 0..10 {
            self.call(runtime, threads)?;
        }
        thread::sleep(Duration::from_millis(50));
        let mut walls = Vec::with_capacity(calls as usize);
        let before = processor_time();
        for _ in 0..calls {
            if !self.gap().is_zero() {
                thread::sleep(self.gap());
            }
            walls.push(self.call(runtime, threads)?);
        }
        // What a call leaves behind belongs to it: threads that spin before they sleep.
        thread::sleep(Duration::from_millis(5));
        let cpu = (processor_time() - before) / calls;
        walls.sort_unstable();
        Ok(Sample { cpu, wall: walls[(walls.len() - 1) / 2] })
    }

    fn call<R: Runtime>(self, runtime: &R, threads: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        let counted = match self {
            Self::Wake => return Ok(runtime.install(None, |_| start.elapsed())),
            Self::Gap1 | Self::Gap10 | Self::Join => runtime.install(None, |cx| {
                let (a, b) = R::join(cx, |_| black_box(1), |_| black_box(1));
                a + b
            }),
            Self::Burst => runtime.install(None, |cx| tree::<R>(cx, LEAVES, LEAVES, work)),
            Self::Iter => {
                runtime.install(None, |cx| tree::<R>(cx, LEAVES, threads, || black_box(1)))
            }
        };
        let wall = start.elapsed();
        let expected = if matches!(self, Self::Burst | Self::Iter) { LEAVES } else { 2 };
        if counted != expected {
            return Err(Error::WrongResult(format!("{counted} leaves, must be {expected}")));
        }
        Ok(wall)
    }
}

/// Counts `items` by `leaf`, in halves and halves of these. Forks as long as `pieces`, halved each
/// time as well, are left: as rayon's parallel iterators do where nothing is stolen.
fn tree<R: Runtime>(
    cx: &mut R::Context<'_>,
    items: usize,
    pieces: usize,
    leaf: impl Fn() -> usize + Copy + Send + Sync,
) -> usize {
    if items == 1 || pieces == 0 {
        return (0..items).map(|_| leaf()).sum();
    }
    let (half, pieces) = (items / 2, pieces / 2);
    let (a, b) = R::join(
        cx,
        |cx: &mut R::Context<'_>| tree::<R>(cx, half, pieces, leaf),
        |cx: &mut R::Context<'_>| tree::<R>(cx, items - half, pieces, leaf),
    );
    a + b
}

/// Works for some 10 µs, and counts as one.
#[inline(never)]
fn work() -> usize {
    let mut x = black_box(1_u64);
    for _ in 0..ROUNDS {
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 32);
    }
    usize::from(black_box(x) != 0)
}

/// What all threads of this process have used so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
