//! From blobs to touches.

use super::code::{
    self, DEPENDENT, HISTORY, History, NEAR_END, RECENTLY, REPEAT, STACK, recent_slot, recent_step,
    slot, step,
};
use super::{KEPT, Slots};
use crate::Touch;
use crate::lines::Spans;
use crate::varint::Cursor;

/// Added to the dense numbers of stack lines while they stand in slots.
const ON_STACK: u64 = 1 << 32;

/// The touch that one token of a plain repeat makes; it moves on by `step` each period.
#[derive(Clone, Copy, Debug)]
struct Lane {
    touch: Touch,
    step: u32,
}

/// Lanes laid out for a short period.
const WIDTH: usize = 16;

const NO_TOUCH: Touch =
    Touch { line: 0, write: false, stack: false, streaming: false, dependent: false };

/// The touches of one strand, in order. [`Touches::next_batch`] and `for_each` are the fast ways to
/// have them.
///
/// ```
/// use befit_program::{Meta, ProgramBuilder, StrandId, Touch};
/// # use befit_machine::Bytes;
///
/// let meta = Meta { name: "sweep".into(), line_size: Bytes(64), filter: 2 };
/// let mut builder = ProgramBuilder::new(meta);
/// (1000..2000).for_each(|line| builder.touch(line, false, false));
/// let program = builder.finish()?;
///
/// let mut touches = program.touches(StrandId(0));
/// let mut batch = [Touch::default(); 256];
/// let mut streaming = 0;
/// loop {
///     let n = touches.next_batch(&mut batch);
///     if n == 0 {
///         break;
///     }
///     streaming += batch[..n].iter().filter(|touch| touch.streaming).count();
/// }
/// assert_eq!(streaming, 999);
/// # Ok::<(), befit_program::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Touches<'a> {
    cursor: Cursor<'a>,
    spans: &'a Spans,
    /// The place in the spans of the last far token.
    hint: u32,
    /// Dense lines.
    slots: Slots<u64>,
    /// The absolute line of the last far token.
    far: u64,
    history: History,
    /// Touches made, those of the current plain repeat counted at its beginning.
    at: u64,
    /// Touches left of the current repeat.
    run: u64,
    period: usize,
    /// The current repeat is plain: its touches come from `lanes`, `lane` next.
    plain: bool,
    lane: usize,
    /// The number of lanes: the period, or a multiple of a short period.
    width: usize,
    lanes: [Lane; HISTORY],
    /// Touches not yet given out.
    left: u64,
}

impl<'a> Touches<'a> {
    /// Of a blob that holds `touches` touches, made by an encoder or found good by
    /// [`super::check`].
    pub(crate) fn new(blob: &'a [u8], touches: u64, spans: &'a Spans) -> Self {
        Self {
            cursor: Cursor::new(blob),
            spans,
            hint: 0,
            slots: Slots::new(0),
            far: 0,
            history: History::new(),
            at: 0,
            run: 0,
            period: 1,
            plain: false,
            lane: 0,
            width: 1,
            lanes: [Lane { touch: NO_TOUCH, step: 0 }; HISTORY],
            left: touches,
        }
    }

    /// Fills `out` from its beginning with the next touches and returns their number, which is less
    /// than the length of `out` only at the strand's end. Constant time per touch, about a
    /// nanosecond while the touches repeat.
    pub fn next_batch(&mut self, out: &mut [Touch]) -> usize {
        let mut done = 0;
        while done < out.len() {
            if self.run > 0 {
                let n = self.run.min((out.len() - done) as u64) as usize;
                let part = &mut out[done..done + n];
                if self.plain {
                    self.copy_lanes(part);
                } else {
                    part.iter_mut().for_each(|touch| *touch = self.again());
                }
                self.run -= n as u64;
                done += n;
            } else {
                let Some(code) = self.cursor.byte() else { break };
                if code == REPEAT {
                    self.begin_repeat();
                } else if code == DEPENDENT {
                    let code = self.cursor.byte().unwrap_or(STACK);
                    out[done] = Touch { dependent: true, ..self.literal(code) };
                    done += 1;
                } else {
                    out[done] = self.literal(code);
                    done += 1;
                }
            }
        }
        self.left -= (done as u64).min(self.left);
        done
    }

    #[inline(always)]
    fn literal(&mut self, code: u8) -> Touch {
        if code < NEAR_END {
            return self.near(code);
        }
        // Never the other case: the blob was made, or checked.
        let (code, number) = code::read(&mut self.cursor, code).unwrap_or((STACK, 0));
        self.apply(code, number)
    }

    /// The token `period` places back once more.
    fn again(&mut self) -> Touch {
        let from = self.at - self.period as u64;
        self.apply(self.history.code(from), self.history.number(from))
    }

    #[inline(always)]
    fn apply(&mut self, code: u8, number: u64) -> Touch {
        match code {
            ..NEAR_END => self.near(code),
            NEAR_END..STACK => self.far(code, number),
            RECENTLY.. => self.recent(code, number),
            _ => self.stack(code, number),
        }
    }

    #[inline(always)]
    fn near(&mut self, code: u8) -> Touch {
        let slot = slot(code);
        let line = self.slots.kept[slot].wrapping_add(step(code));
        self.slots.kept[slot] = line;
        self.history.put(self.at, code);
        self.at += 1;
        touch(line, code, step(code))
    }

    fn recent(&mut self, code: u8, number: u64) -> Touch {
        let step = recent_step(number);
        let line = self.slots.recent[recent_slot(number)].wrapping_add(step);
        if step != 0 {
            self.slots.keep(line);
        }
        self.history.put_far(self.at, code, number);
        self.at += 1;
        touch(line, code, step)
    }

    #[inline(always)]
    fn far(&mut self, code: u8, number: u64) -> Touch {
        self.far = self.far.wrapping_add(number);
        // Never the other case: the blob was made, or checked, with these spans.
        let line = self
            .spans
            .find(self.far, &mut self.hint)
            .and_then(|span| span.dense(self.far))
            .unwrap_or(0);
        self.slots.enter(u64::from(line));
        self.history.put_far(self.at, code, number);
        self.at += 1;
        Touch { line, write: code & 1 != 0, ..NO_TOUCH }
    }

    fn stack(&mut self, code: u8, number: u64) -> Touch {
        self.slots.enter(number | ON_STACK);
        self.history.put_far(self.at, code, number);
        self.at += 1;
        Touch { line: number as u32, write: code & 1 != 0, stack: true, ..NO_TOUCH }
    }

    fn begin_repeat(&mut self) {
        let period = u64::from(self.cursor.byte().unwrap_or(0));
        let count = self.cursor.varint().unwrap_or(0);
        if period == 0 || period > self.at.min(HISTORY as u64) {
            return;
        }
        (self.run, self.period, self.lane) = (count, period as usize, 0);
        self.plain = self.history.is_plain(self.at, period);
        if self.plain {
            self.lay_lanes(period, count);
            self.history.repeat(self.at, period, count);
            self.at += count;
        }
    }

    /// Lays out the touches of one period, and moves the slots to where all `count` touches leave
    /// them.
    fn lay_lanes(&mut self, period: u64, count: u64) {
        let begun = (count % period) as usize;
        let mut lines = self.slots.kept;
        let mut after_begun = lines;
        for i in 0..period as usize {
            if i == begun {
                after_begun = lines;
            }
            let code = self.history.code(self.at - period + i as u64);
            let slot = slot(code);
            lines[slot] = lines[slot].wrapping_add(step(code));
            self.lanes[i] = Lane { touch: touch(lines[slot], code, step(code)), step: slot as u32 };
        }
        let mut moved = [0u64; KEPT];
        for (slot, moved) in moved.iter_mut().enumerate() {
            *moved = lines[slot].wrapping_sub(self.slots.kept[slot]);
            self.slots.kept[slot] =
                after_begun[slot].wrapping_add(moved.wrapping_mul(count / period));
        }
        // Several periods at once, when they are short: copying them is faster.
        let repeats = if count >= HISTORY as u64 { (WIDTH / period as usize).max(1) } else { 1 };
        for i in 0..period as usize {
            let Lane { mut touch, step: slot } = self.lanes[i];
            let step = moved[slot as usize % KEPT] as u32;
            for repeat in 0..repeats {
                self.lanes[repeat * period as usize + i] =
                    Lane { touch, step: step.wrapping_mul(repeats as u32) };
                touch.line = touch.line.wrapping_add(step);
            }
        }
        self.width = period as usize * repeats;
    }

    /// The next touches of a plain repeat.
    fn copy_lanes(&mut self, out: &mut [Touch]) {
        fn copy(out: &mut [Touch], lanes: &mut [Lane]) {
            for (touch, lane) in out.iter_mut().zip(lanes) {
                *touch = lane.touch;
                lane.touch.line = lane.touch.line.wrapping_add(lane.step);
            }
        }
        let lanes = &mut self.lanes[..self.width];
        let (begun, out) = out.split_at_mut(out.len().min((self.width - self.lane) % self.width));
        copy(begun, &mut lanes[self.lane..]);
        self.lane = (self.lane + begun.len()) % self.width;
        if out.is_empty() {
            return;
        }
        let mut rounds = out.chunks_exact_mut(self.width);
        for round in &mut rounds {
            copy(round, lanes);
        }
        let rest = rounds.into_remainder();
        self.lane = rest.len();
        copy(rest, lanes);
    }
}

/// The touch that a near or recent token makes of `line`, `step` away from the slot's.
#[inline]
fn touch(line: u64, code: u8, step: u64) -> Touch {
    Touch {
        line: line as u32,
        write: code & 1 != 0,
        stack: line & ON_STACK != 0,
        streaming: step != 0,
        dependent: false,
    }
}

impl Iterator for Touches<'_> {
    type Item = Touch;

    fn next(&mut self) -> Option<Touch> {
        let mut one = [NO_TOUCH];
        (self.next_batch(&mut one) == 1).then_some(one[0])
    }

    /// Many at a time: `for_each` is several times faster than a `for` loop.
    fn fold<B, F: FnMut(B, Touch) -> B>(mut self, mut all: B, mut f: F) -> B {
        let mut batch = [NO_TOUCH; 128];
        loop {
            let made = self.next_batch(&mut batch);
            if made == 0 {
                return all;
            }
            for touch in &batch[..made] {
                all = f(all, *touch);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}
