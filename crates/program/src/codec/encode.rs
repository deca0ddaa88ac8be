//! From touches to blobs.

use super::Slots;
use super::code::{
    DEPENDENT, FAR, FAR1, FAR2, FAR3, HISTORY, History, NEAR_END, RECENTLY, REPEAT, STACK,
    STEPPED_LIMIT, recent_slot, recent_step, slot, step,
};
use crate::lines::{LINE_LIMIT, PAGE_LINES, PageSet};
use crate::varint::{self, zigzag};

/// Added to stack lines: keeps them apart from shared lines, and away from being their neighbours.
const STACK_KEY: u64 = 1 << 60;
/// A slot that holds nothing: near to no line.
const EMPTY: u64 = 1 << 62;

/// Encodes one strand after another into a growing buffer.
///
/// While the touches repeat with a period they are only counted; a touch that breaks the period is
/// looked up in the slots, and a token like it within the last [`HISTORY`] ones gives the next
/// period to expect.
#[derive(Debug)]
pub(crate) struct Encoder {
    slots: Slots<u64>,
    /// The recent slot in which to look for a line, by [`hash`]; an entry may be out of date.
    recent: [u8; 256],
    /// The line of the last far token.
    far: u64,
    history: History,
    /// Touches of all strands so far: tokens are numbered through, so that nothing need be cleared
    /// between strands.
    at: u64,
    /// `at` when the strand began.
    start: u64,
    /// The expected token is the one this many places back; 0 if none is expected.
    period: u64,
    /// So many touches in a row were as expected; they are not yet written.
    run: u64,
    /// The place where each near code was last used.
    last_near: [u64; NEAR_END as usize],
    /// The place where a far number was last used, by its low bits.
    last_far: [u64; 256],
    pub(crate) pages: PageSet,
    /// The largest key touched: the deepest stack line, if any was touched.
    top: u64,
    /// A line that no address has, if one was touched.
    pub(crate) bad: Option<u64>,
    /// All bytes written, those of ended strands first.
    pub(crate) out: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(EMPTY),
            recent: [0; 256],
            far: 0,
            history: History::new(),
            // So that "never used", 0, lies before every strand.
            at: 1,
            start: 1,
            period: 0,
            run: 0,
            last_near: [0; NEAR_END as usize],
            last_far: [0; 256],
            pages: PageSet::new(),
            top: 0,
            bad: None,
            out: Vec::new(),
        }
    }

    /// Touches since the strand began.
    pub(crate) fn touches(&self) -> u64 {
        self.at - self.start
    }

    /// Ends the strand: all of it is in [`Self::out`], and the next touch begins a new one.
    pub(crate) fn end(&mut self) {
        self.flush();
        if self.at != self.start {
            self.slots = Slots::new(EMPTY);
            self.far = 0;
            self.start = self.at;
        }
    }

    /// The deepest stack line plus one.
    pub(crate) fn stack_lines(&self) -> u64 {
        self.top.checked_sub(STACK_KEY).map_or(0, |deepest| deepest + 1)
    }

    /// Adds a touch. A few operations while the touches repeat.
    #[inline]
    pub(crate) fn touch(&mut self, line: u64, write: bool, stack: bool) {
        let key = if stack { line | STACK_KEY } else { line };
        if self.period != 0 {
            let code = self.history.code(self.at - self.period);
            if code < NEAR_END
                && code & 1 == write as u8
                && self.slots.kept[slot(code)].wrapping_add(step(code)) == key
            {
                self.slots.kept[slot(code)] = key;
                self.history.put(self.at, code);
                self.last_near[code as usize] = self.at;
                self.at += 1;
                self.run += 1;
                self.note_near(key);
                return;
            }
        }
        self.irregular(line, key, write);
    }

    /// Adds a load from `line` whose address came out of the line that was touched before.
    pub(crate) fn dependent(&mut self, line: u64) {
        // The marks would not come again with the tokens, so none is expected to.
        self.flush();
        self.note_bad(line);
        self.out.push(DEPENDENT);
        let (code, number) = self.find(line, false);
        put(&mut self.out, code, number);
        self.apply(code, number, line);
    }

    fn note_bad(&mut self, line: u64) {
        if line >= LINE_LIMIT {
            self.bad = Some(line);
        }
    }

    /// Notes a page when a stream may have just entered it, and the deepest stack line.
    #[inline]
    fn note_near(&mut self, key: u64) {
        self.top = self.top.max(key);
        if (key.wrapping_add(1)) % PAGE_LINES <= 1 && key < STACK_KEY {
            self.pages.insert_line(key);
        }
    }

    #[inline(never)]
    fn irregular(&mut self, line: u64, key: u64, write: bool) {
        self.note_bad(line);
        if self.period != 0 {
            let (code, number) = (
                self.history.code(self.at - self.period),
                self.history.number(self.at - self.period),
            );
            let expected = match code {
                ..NEAR_END => self.slots.kept[slot(code)].wrapping_add(step(code)),
                RECENTLY.. => {
                    self.slots.recent[recent_slot(number)].wrapping_add(recent_step(number))
                }
                STACK.. => number | STACK_KEY,
                _ => self.far.wrapping_add(number),
            };
            if expected == key && code & 1 == write as u8 {
                self.apply(code, number, key);
                self.run += 1;
                return;
            }
            self.flush();
        }
        let (code, number) = self.find(key, write);
        put(&mut self.out, code, number);
        let (at, last) = (self.at, self.last(code, number));
        if last >= self.start
            && at - last <= HISTORY as u64
            && self.history.code(last) == code
            && (code < NEAR_END || self.history.number(last) == number)
        {
            self.period = at - last;
        }
        self.apply(code, number, key);
    }

    /// The token for a touch that breaks the pattern: near before recent before far.
    fn find(&self, key: u64, write: bool) -> (u8, u64) {
        let write = write as u8;
        let near = |line: &u64| key.wrapping_sub(*line).wrapping_add(1) <= 2;
        if let Some(slot) = self.slots.kept.iter().position(near) {
            let step = [2, 0, 1][key.wrapping_sub(self.slots.kept[slot]).wrapping_add(1) as usize];
            return (step << 5 | (slot as u8) << 1 | write, 0);
        }
        for (step, line) in [(1, key.wrapping_sub(1)), (2, key.wrapping_add(1)), (0, key)] {
            let slot = usize::from(self.recent[hash(line)]);
            if self.slots.recent[slot] == line {
                return (RECENTLY | write, step << 6 | slot as u64);
            }
        }
        if key >= STACK_KEY {
            (STACK | write, key - STACK_KEY)
        } else {
            (FAR | write, key.wrapping_sub(self.far))
        }
    }

    /// The place where a token like this was last used.
    fn last(&mut self, code: u8, number: u64) -> u64 {
        if code < NEAR_END {
            self.last_near[code as usize]
        } else {
            self.last_far[number as usize % 256]
        }
    }

    /// Applies a token's effects on all that is remembered.
    fn apply(&mut self, code: u8, number: u64, key: u64) {
        if code < NEAR_END {
            self.slots.kept[slot(code)] = key;
            self.history.put(self.at, code);
            self.last_near[code as usize] = self.at;
            self.note_near(key);
        } else {
            self.history.put_far(self.at, code, number);
            self.last_far[number as usize % 256] = self.at;
            if code >= RECENTLY {
                if recent_step(number) != 0 {
                    let (driven_out, slot) = self.slots.keep(key);
                    self.recent[hash(driven_out)] = slot as u8;
                }
                self.note_near(key);
            } else {
                self.recent[hash(key)] = self.slots.enter(key) as u8;
                if code < STACK {
                    self.far = key;
                    self.pages.insert_line(key);
                } else {
                    self.top = self.top.max(key);
                }
            }
        }
        self.at += 1;
    }

    /// Writes the touches that were only counted, as a repeat or, if that is shorter, one by one.
    fn flush(&mut self) {
        let (run, period) = (self.run, self.period);
        (self.run, self.period) = (0, 0);
        if run < 4 {
            let begin = self.out.len();
            for at in self.at - run..self.at {
                put(&mut self.out, self.history.code(at), self.history.number(at));
            }
            if self.out.len() - begin <= 3 {
                return;
            }
            self.out.truncate(begin);
        }
        let plain = run > STEPPED_LIMIT && self.history.is_plain(self.at, period);
        let mut left = run;
        while left > 0 {
            let count = if plain { left } else { left.min(STEPPED_LIMIT) };
            self.out.extend([REPEAT, period as u8]);
            varint::put(&mut self.out, count);
            left -= count;
        }
    }
}

/// A byte's worth of a line's number (Fibonacci hashing).
#[inline]
const fn hash(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

fn put(out: &mut Vec<u8>, code: u8, number: u64) {
    if code < NEAR_END {
        out.push(code);
        return;
    }
    if code >= STACK {
        out.push(code);
        if code >= RECENTLY {
            out.push(number as u8)
        } else {
            varint::put(out, number)
        }
        return;
    }
    let (number, write) = (zigzag(number as i64), code & 1);
    let bytes = number.to_le_bytes();
    let [low, middle, high, top, ..] = bytes;
    match number {
        0..0x800 => out.extend([FAR1 + (middle << 1 | write), low]),
        0x800..0x40_0000 => out.extend([FAR2 + (high << 1 | write), low, middle]),
        0x40_0000..0x400_0000 => out.extend([FAR3 + (top << 1 | write), low, middle, high]),
        _ => {
            out.push(code);
            varint::put(out, number);
        }
    }
}
