//! The work run: a plain build of the program, timed strand by strand.

use std::{
    io,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use befit_program::{ClassId, Program, Step, StrandId, Timing};

use super::{
    RecordError, StreamError,
    run::run_reading,
    stream::{self, Stream, VERSION, WORK_MAGIC},
};

#[cfg(test)]
mod tests;

/// A run of more than this is not repeated.
const LONG: Duration = Duration::from_secs(10);
/// So often the others are run,
const REPEATS: usize = 3;
/// and those that take a moment more often, for about so long: they are over before a disturbance
/// of the machine is.
const MOMENT: Duration = Duration::from_secs(1);
const MOST_REPEATS: usize = 10;
/// Before a run, and again where a run was disturbed, the machine may be quiet soon: all waiting
/// for one program takes this at most,
const PATIENCE: Duration = Duration::from_secs(20);
/// with a look so often.
const PAUSE: Duration = Duration::from_millis(30);

/// What serial runs without instrumentation took.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Timed {
    /// By [`StrandId`]: the least time of the runs, without the price of an event, and the page
    /// faults of that run.
    pub strands: Vec<Timing>,
    /// Picoseconds of all regions together, in a run without a clock between them: in that of the
    /// median time, for runs differ by where the system places their pages.
    pub total_ps: u64,
    /// Picoseconds of processor time that all regions used in that run: less than they took if
    /// other programs ran meanwhile.
    pub regions_ps: u64,
    /// The same of the whole process; 0 if it did not say.
    pub process_ps: u64,
    /// The page faults of that run's regions.
    pub faults_total: u64,
    /// The number of regions.
    pub regions: u64,
    /// What an event cost, in picoseconds; it is taken off already.
    pub event_price: u64,
    /// By how much of their time the runs disagree: the larger of what the classes' times differ
    /// by, between every other run and the rest, and the totals of the two best runs. 0 where there
    /// was only one run of each kind.
    pub apart: f64,
    /// The machine was quiet before and after the runs that the totals are of.
    pub undisturbed: bool,
}

/// What is told of the runs, and asked between them.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// A run begins: whether regions are timed as a whole, its number among these, and how many
    /// there are.
    pub progress: &'a dyn Fn(bool, usize, usize),
    /// Whether the machine is as fast as usual at the moment: before a run if it is told `true`,
    /// and after it if `false`.
    pub is_quiet: &'a dyn Fn(bool) -> bool,
}

/// Runs what `command` makes, a program of a [`Build`](super::Build) with `work` set, up to twenty
/// times, and times the strands of `program`, its recording. Where the machine is disturbed it
/// waits, for twenty seconds at most in all, and runs it up to forty times: of the totals those
/// count before and after which the machine was quiet, if there is one.
///
/// # Errors
/// As [`record`](super::record), and [`StreamError::Differs`] if the program does not fork as it
/// did when it was recorded.
pub fn time(
    command: &dyn Fn() -> Command,
    program: &Program,
    quiet: bool,
    watch: Watch<'_>,
) -> Result<Timed, RecordError> {
    let mut patience = Patience(PATIENCE);
    let run = |total: bool, number: usize, of: usize| {
        (watch.progress)(total, number, of);
        let mut command = command();
        // With any value.
        command.env_remove("BEFIT_RECORD_TOTAL");
        if total {
            command.env("BEFIT_RECORD_TOTAL", "1");
        }
        let expected = (!total).then_some(program);
        run_reading(command, quiet, |from| read(from, expected, program.strands() as usize))
    };
    patience.wait(watch.is_quiet);
    let begin = Instant::now();
    let mut timed = run(false, 1, REPEATS)?;
    let repeats = repeats(begin.elapsed());
    let mut others: Option<Timed> = None;
    for number in 2..=repeats {
        patience.wait(watch.is_quiet);
        let run = run(false, number, repeats)?;
        match &mut others {
            _ if number % 2 == 1 => timed.take_less(run),
            Some(others) => others.take_less(run),
            None => others = Some(run),
        }
    }
    let mut apart = 0.0;
    if let Some(others) = others {
        apart = classes_apart(program, &timed.strands, &others.strands);
        timed.take_less(others);
    }
    let (mut totals, mut disturbed) = (Vec::new(), Vec::new());
    while totals.len() < repeats && disturbed.len() < 2 * repeats {
        let before = patience.wait(watch.is_quiet);
        let total = run(true, totals.len() + 1, repeats)?;
        if before && (watch.is_quiet)(false) {
            totals.push(total)
        } else {
            disturbed.push(total)
        }
        // No more than usual if waiting is of no use.
        if patience.is_over() && totals.len() + disturbed.len() >= repeats {
            break;
        }
    }
    let undisturbed = !totals.is_empty();
    if !undisturbed {
        totals = disturbed;
    }
    totals.sort_by_key(|total| total.total_ps);
    if let [best, second, ..] = &totals[..] {
        apart = apart.max(second.total_ps as f64 / best.total_ps.max(1) as f64 - 1.0);
    }
    let Timed { total_ps, regions_ps, process_ps, faults_total, .. } =
        totals.swap_remove((totals.len() - 1) / 2);
    Ok(Timed { total_ps, regions_ps, process_ps, faults_total, apart, undisturbed, ..timed })
}

/// What is left of the time to wait in.
struct Patience(Duration);

impl Patience {
    /// Waits until the machine is quiet; returns whether it is.
    fn wait(&mut self, is_quiet: &dyn Fn(bool) -> bool) -> bool {
        loop {
            if is_quiet(true) {
                return true;
            }
            if self.is_over() {
                return false;
            }
            thread::sleep(PAUSE);
            self.0 = self.0.saturating_sub(PAUSE);
        }
    }

    fn is_over(&self) -> bool {
        self.0.is_zero()
    }
}

/// By how much the times of the classes differ, as a share of all.
fn classes_apart(program: &Program, some: &[Timing], others: &[Timing]) -> f64 {
    let mut sums = vec![[0.0; 2]; program.classes().len().max(1)];
    for (strand, both) in (0..program.strands()).map(StrandId).zip(some.iter().zip(others)) {
        let ClassId(class) = program.class(strand);
        let [a, b] = &mut sums[class as usize];
        *a += both.0.picoseconds as f64;
        *b += both.1.picoseconds as f64;
    }
    let differ: f64 = sums.iter().map(|[a, b]| (a - b).abs()).sum();
    let least: f64 = sums.iter().map(|[a, b]| f64::min(*a, *b)).sum();
    differ / least.max(1.0)
}

/// How often a program is run that takes so long.
fn repeats(run: Duration) -> usize {
    let in_a_moment = (MOMENT.as_secs_f64() / run.as_secs_f64().max(1e-3)) as usize;
    if run > LONG { 1 } else { in_a_moment.clamp(REPEATS, MOST_REPEATS) }
}

impl Timed {
    /// Of each strand the run in which it took less.
    fn take_less(&mut self, other: Self) {
        for (mine, theirs) in self.strands.iter_mut().zip(other.strands) {
            if theirs.picoseconds < mine.picoseconds {
                *mine = theirs;
            }
        }
        self.event_price = self.event_price.min(other.event_price);
    }
}

/// Reads a run's stream; matches it with the tree of `expected`, if its events are in it.
fn read(
    from: impl io::Read,
    expected: Option<&Program>,
    strands: usize,
) -> Result<Timed, StreamError> {
    let mut stream = Stream::new(from);
    hello(&mut stream)?;
    let mut steps = expected.map(Program::steps);
    let strands = vec![Timing::default(); strands];
    let mut timed = Timed {
        strands,
        total_ps: 0,
        regions_ps: 0,
        process_ps: 0,
        faults_total: 0,
        regions: 0,
        event_price: 0,
        apart: 0.0,
        undisturbed: true,
    };
    // The strands of the region that runs, with their ticks.
    let mut region: Vec<(StrandId, u64)> = Vec::new();
    let mut faults = 0;
    let mut words_at_region = stream.words;
    while stream.peek()?.is_some() {
        let word = stream.words;
        let Some((kind, argument)) = stream.event()? else {
            return Err(StreamError::Damaged(word, "a touch in a work run"));
        };
        match kind {
            stream::FORK | stream::END | stream::SYNC => {
                let Some(steps) = &mut steps else {
                    return Err(StreamError::Damaged(word, "an event that was not asked for"));
                };
                let strand = next(steps, kind).ok_or(StreamError::Differs(word))?;
                if let Some(strand) = strand {
                    region.push((strand, argument));
                    timed.strands[strand.0 as usize].faults = faults;
                }
                faults = 0;
            }
            stream::FAULTS => faults = u32::try_from(argument).unwrap_or(u32::MAX),
            stream::REGION => {
                let (time, ticks) = (stream.word()?, stream.word()?);
                timed.faults_total = timed.faults_total.saturating_add(stream.word()?);
                let used = stream.word()?.saturating_mul(1000);
                timed.regions_ps = timed.regions_ps.saturating_add(used);
                timed.total_ps = timed.total_ps.saturating_add(time.saturating_mul(1000));
                timed.regions += 1;
                let ps_per_tick = time as f64 * 1000.0 / ticks.max(1) as f64;
                timed.event_price = (argument as f64 * ps_per_tick) as u64;
                for (strand, ticks) in region.drain(..) {
                    let ps = (ticks as f64 * ps_per_tick) as u64;
                    timed.strands[strand.0 as usize].picoseconds = ps;
                }
                words_at_region = stream.words;
            }
            stream::PROCESS => {
                timed.process_ps = stream.word()?.saturating_mul(1000);
                words_at_region = stream.words;
            }
            stream::SKIPPED => return Err(StreamError::Differs(word)),
            _ => return Err(StreamError::Damaged(word, "no event of a work run")),
        }
    }
    if words_at_region != stream.words {
        return Err(StreamError::Truncated(stream.words));
    }
    if timed.regions == 0 {
        return Err(StreamError::NoRegion);
    }
    // Only the root's end may be left.
    let ended = steps.is_none_or(|mut steps| {
        steps.all(|step| matches!(step, Step::End(befit_program::TaskId(0)) | Step::Strand(_)))
    });
    if ended { Ok(timed) } else { Err(StreamError::Differs(stream.words)) }
}

/// The strand before the next event, if there is one; none if that is of another kind.
fn next(steps: &mut impl Iterator<Item = Step>, kind: u64) -> Option<Option<StrandId>> {
    let mut strand = None;
    loop {
        let found = match steps.next()? {
            Step::Strand(before) => {
                strand = Some(before);
                continue;
            }
            Step::Fork { .. } => stream::FORK,
            Step::End(_) => stream::END,
            Step::Sync(_) => stream::SYNC,
        };
        return (found == kind).then_some(strand);
    }
}

fn hello(stream: &mut Stream<impl io::Read>) -> Result<(), StreamError> {
    if stream.peek()?.is_none() {
        return Err(StreamError::Empty);
    }
    let Some((stream::HELLO, argument)) = stream.event()? else {
        return Err(StreamError::NotARecording);
    };
    match (stream.word()?, argument as u8) {
        (WORK_MAGIC, VERSION) => Ok(()),
        (WORK_MAGIC, other) => Err(StreamError::Version(other)),
        _ => Err(StreamError::NotARecording),
    }
}
