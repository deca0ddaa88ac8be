//! How far a sweep is, and how long it will take.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// Tells on stderr how far a sweep is: each second on a terminal, else each half minute.
#[derive(Debug)]
pub(crate) struct Meter {
    begin: Instant,
    next: Instant,
    terminal: bool,
    /// Line touches to simulate, and those that are simulated.
    all: u64,
    done: u64,
}

impl Meter {
    /// For simulations of so many line touches together.
    pub(crate) fn new(all: u64) -> Self {
        let (begin, terminal) = (Instant::now(), io::stderr().is_terminal());
        Self { begin, next: begin + Duration::from_secs(1), terminal, all, done: 0 }
    }

    /// So many touches more are simulated.
    pub(crate) fn advance(&mut self, touches: u64) {
        self.done += touches;
    }

    /// Writes a line if it is time.
    pub(crate) fn show(&mut self, done: usize, of: usize, failed: usize) {
        if Instant::now() < self.next {
            return;
        }
        let line = line(done, of, failed, self.left());
        let (end, pause) = if self.terminal { ("\r", 1) } else { ("\n", 30) };
        let _ = write!(io::stderr(), "befit: {line:<60}{end}");
        self.next = Instant::now() + Duration::from_secs(pause);
    }

    /// The seconds left, at the pace so far.
    fn left(&self) -> Option<f64> {
        let rest = self.all.saturating_sub(self.done) as f64;
        (self.done > 0).then(|| self.begin.elapsed().as_secs_f64() * rest / self.done as f64)
    }
}

fn line(done: usize, of: usize, failed: usize, left: Option<f64>) -> String {
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let left = left.map_or(String::new(), |seconds| format!(", {} left", span(seconds)));
    format!("{done} of {of} simulations{failed}{left}")
}

fn span(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_many_are_done_and_how_long_the_rest_takes() {
        assert_eq!(line(3, 500, 0, None), "3 of 500 simulations");
        assert_eq!(line(3, 500, 2, Some(61.2)), "3 of 500 simulations, 2 failed, 1 min 2 s left");
        assert_eq!([0.0, 59.0, 7260.0].map(span), ["0 s", "59 s", "2 h 1 min"]);
    }
}
