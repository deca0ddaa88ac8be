//! Checks that a blob that was read from a file is one that an encoder could have made. Decoding it
//! then cannot leave the spans, and gives as many touches as were announced.
//!
//! Time is proportional to the blob's length, whatever the number of touches: a plain repeat is
//! judged by its first and its last period.

use super::code::{
    self, DEPENDENT, HISTORY, History, NEAR_END, RECENTLY, REPEAT, STACK, STEPPED_LIMIT,
    recent_slot, recent_step, slot, step,
};
use super::{KEPT, Slots};
use crate::lines::Spans;
use crate::varint::Cursor;

/// A fault of a blob, and the number of its bytes after which it showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

/// A remembered line, and the stretch that it may move in.
#[derive(Clone, Copy)]
struct Known {
    line: u64,
    first: u64,
    lines: u64,
}

impl Known {
    const EMPTY: Self = Self { line: 0, first: 0, lines: 0 };

    fn moved(self, by: u64) -> Option<Self> {
        let line = self.line.wrapping_add(by);
        (line.wrapping_sub(self.first) < self.lines).then_some(Self { line, ..self })
    }

    /// As [`Self::moved`], by `step`, `times` times.
    fn moved_often(self, step: u64, times: u64) -> Option<Self> {
        let by = i128::from(step as i64) * i128::from(times);
        let line = u64::try_from(i128::from(self.line) + by).ok()?;
        self.moved(line.wrapping_sub(self.line))
    }
}

struct Checker<'a> {
    cursor: Cursor<'a>,
    spans: &'a Spans,
    stack_lines: u32,
    hint: u32,
    slots: Slots<Known>,
    far: u64,
    history: History,
    at: u64,
}

const CUT: &str = "a token is cut off, or unknown";
const OUTSIDE: &str = "a touch lies outside the touched pages";
const LEAVES: &str = "a near touch leaves the touched pages";
const BELOW: &str = "a touch lies below the deepest stack line";

/// Checks that `blob` decodes to exactly `touches` touches, all in `spans` or above `stack_lines`.
pub(crate) fn check(
    blob: &[u8],
    touches: u64,
    spans: &Spans,
    stack_lines: u32,
) -> Result<(), Fault> {
    match count(blob, touches, spans, stack_lines)? {
        counted if counted == touches => Ok(()),
        _ => Err(Fault { at: blob.len(), what: "it holds fewer touches than announced" }),
    }
}

/// The number of touches, at most `most`, that `blob` decodes to.
pub(super) fn count(blob: &[u8], most: u64, spans: &Spans, stack_lines: u32) -> Result<u64, Fault> {
    let mut checker = Checker {
        cursor: Cursor::new(blob),
        spans,
        stack_lines,
        hint: 0,
        slots: Slots::new(Known::EMPTY),
        far: 0,
        history: History::new(),
        at: 0,
    };
    checker.all(most).map_err(|what| Fault { at: checker.cursor.at(), what })?;
    Ok(checker.at)
}

impl Checker<'_> {
    fn all(&mut self, touches: u64) -> Result<(), &'static str> {
        while let Some(code) = self.cursor.byte() {
            if code == REPEAT {
                self.repeat(touches)?;
            } else if code == DEPENDENT {
                let code = self.cursor.byte().filter(|code| ![REPEAT, DEPENDENT].contains(code));
                self.literal(code.ok_or("a mark of a dependent touch without a token")?)?;
            } else {
                self.literal(code)?;
            }
            if self.at > touches {
                return Err("it holds more touches than announced");
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn literal(&mut self, code: u8) -> Result<(), &'static str> {
        if code < NEAR_END {
            return self.near(code);
        }
        let (code, number) = code::read(&mut self.cursor, code).ok_or(CUT)?;
        self.apply(code, number)
    }

    #[inline(always)]
    fn apply(&mut self, code: u8, number: u64) -> Result<(), &'static str> {
        match code {
            ..NEAR_END => self.near(code),
            NEAR_END..STACK => self.far(code, number),
            RECENTLY.. => self.recent(code, number),
            _ => self.stack(code, number),
        }
    }

    #[inline(always)]
    fn near(&mut self, code: u8) -> Result<(), &'static str> {
        let slot = slot(code);
        self.slots.kept[slot] = self.slots.kept[slot].moved(step(code)).ok_or(LEAVES)?;
        self.history.put(self.at, code);
        self.at += 1;
        Ok(())
    }

    fn recent(&mut self, code: u8, number: u64) -> Result<(), &'static str> {
        if number >> 6 == 3 {
            return Err("unknown token");
        }
        let step = recent_step(number);
        let line = self.slots.recent[recent_slot(number)].moved(step).ok_or(LEAVES)?;
        if step != 0 {
            self.slots.keep(line);
        }
        self.history.put_far(self.at, code, number);
        self.at += 1;
        Ok(())
    }

    #[inline(always)]
    fn far(&mut self, code: u8, number: u64) -> Result<(), &'static str> {
        self.far = self.far.wrapping_add(number);
        let span = self.spans.find(self.far, &mut self.hint).ok_or(OUTSIDE)?;
        self.slots.enter(Known { line: self.far, first: span.first, lines: span.lines });
        self.history.put_far(self.at, code, number);
        self.at += 1;
        Ok(())
    }

    fn stack(&mut self, code: u8, number: u64) -> Result<(), &'static str> {
        let known = Known { line: number, first: 0, lines: u64::from(self.stack_lines) };
        self.slots.enter(known.moved(0).ok_or(BELOW)?);
        self.history.put_far(self.at, code, number);
        self.at += 1;
        Ok(())
    }

    fn repeat(&mut self, touches: u64) -> Result<(), &'static str> {
        let period = u64::from(self.cursor.byte().ok_or(CUT)?);
        let count = self.cursor.varint().ok_or(CUT)?;
        if period == 0 || period > self.at.min(HISTORY as u64) {
            return Err("a repeat reaches back before the strand's beginning, or too far");
        }
        if count == 0 || count > touches.saturating_sub(self.at) {
            return Err("a repeat makes more touches than announced, or none");
        }
        if self.history.is_plain(self.at, period) {
            self.plain(period, count).ok_or("a repeat leaves the touched pages")?;
            self.history.repeat(self.at, period, count);
            self.at += count;
            return Ok(());
        }
        if count > STEPPED_LIMIT {
            return Err("a repeat with far touches is too long");
        }
        for _ in 0..count {
            let from = self.at - period;
            self.apply(self.history.code(from), self.history.number(from))?;
        }
        Ok(())
    }

    /// Moves the slots as a plain repeat does; none when any of its touches lies outside. A slot
    /// moves evenly from period to period, so if the first and the last touch of a token are
    /// inside, so are those between.
    fn plain(&mut self, period: u64, count: u64) -> Option<()> {
        let mut moved = [0u64; KEPT];
        for back in 1..=period {
            let code = self.history.code(self.at - back);
            moved[slot(code)] = moved[slot(code)].wrapping_add(step(code));
        }
        let (whole, begun) = (count / period, count % period);
        let before = self.slots.kept;
        let mut lines = before;
        let mut after_begun = before;
        for i in 0..period {
            if i == begun {
                after_begun = lines;
            }
            let code = self.history.code(self.at - period + i);
            let slot = slot(code);
            if whole == 0 && i >= begun {
                continue;
            }
            lines[slot] = lines[slot].moved(step(code))?;
            lines[slot].moved_often(moved[slot], whole + u64::from(i < begun) - 1)?;
        }
        for slot in 0..KEPT {
            self.slots.kept[slot].line =
                after_begun[slot].line.wrapping_add(moved[slot].wrapping_mul(whole));
        }
        Some(())
    }
}
