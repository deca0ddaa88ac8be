//! Progress on stderr: a line that is drawn again and again where it is a terminal; elsewhere a
//! line for each stage, and one more every half minute.

use std::{
    io::IsTerminal,
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use befit_lab::{Progress, building_line, timing_line};
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{
    manner::manner,
    output::{complain, pass_on},
};

/// The time between two lines on a stage where stderr is no terminal.
const EVERY: Duration = Duration::from_secs(30);

/// What a stage counts, and how it is drawn on a terminal.
struct Stage {
    template: &'static str,
    unit: &'static str,
}

const BUILD: Stage =
    Stage { template: "{spinner} {msg}: {human_pos} crates in {elapsed}{prefix}", unit: "crates" };
const SIMULATION: Stage = Stage {
    template: "{msg} {wide_bar} {human_pos} of {human_len} line touches, {eta} left",
    unit: "line touches",
};
const RECORDING: Stage = Stage {
    template: "{spinner} {msg}: {human_pos} line touches, {elapsed}",
    unit: "line touches",
};
const TIMING: Stage = Stage { template: "{spinner} {msg}, {elapsed}", unit: "" };
const MEASURING: Stage =
    Stage { template: "{msg} {wide_bar} {percent} %, {eta} left", unit: "‰" };
const RUNS: Stage = Stage {
    template: "{msg} {wide_bar} {human_pos} of {human_len} runs, {eta} left",
    unit: "runs",
};

/// Shows what the lab is doing.
pub(crate) struct Display {
    bar: ProgressBar,
    terminal: bool,
    /// Ends the lines on the present stage when it is dropped.
    beat: Mutex<Option<Sender<()>>>,
}

impl Display {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        Self { bar, terminal: std::io::stderr().is_terminal(), beat: Mutex::new(None) }
    }

    /// A stage begins, of `length`; 0 if that is not known.
    fn begin(&self, message: String, stage: &Stage, length: u64) {
        self.hide(); // till all is set, so that nothing half set is drawn
        if manner().quiet() {
            return;
        }
        let style = ProgressStyle::with_template(stage.template);
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar.set_message(message.clone());
        self.bar.set_prefix("");
        self.bar.set_length(length);
        self.bar.reset();
        if !self.terminal {
            complain(&message);
            return self.set_beat(Some(beats(self.bar.clone(), message, stage.unit, EVERY)));
        }
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        if length == 0 {
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Leaves stderr to others.
    fn hide(&self) {
        self.set_beat(None);
        self.bar.disable_steady_tick();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }

    fn end(&self) {
        self.set_beat(None);
        self.bar.finish_and_clear();
    }

    fn set_beat(&self, beat: Option<Sender<()>>) {
        *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = beat;
    }
}

/// Says how far `bar` is, each time that `every` has gone by, until the result is dropped.
fn beats(bar: ProgressBar, message: String, unit: &'static str, every: Duration) -> Sender<()> {
    let (stop, stopped) = channel();
    let begin = Instant::now();
    thread::spawn(move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let (position, length) = (bar.position(), bar.length().unwrap_or(0));
            complain(&so_far(&message, unit, begin.elapsed(), position, length));
        }
    });
    stop
}

/// How far a stage is after a time, and how much longer it takes at that pace, if its length is
/// known.
fn so_far(message: &str, unit: &str, after: Duration, position: u64, length: u64) -> String {
    let after_text = HumanDuration(after);
    match (position, length) {
        (0, _) => format!("{message}: {after_text} so far"),
        (_, 0) => format!("{message}: {} {unit} in {after_text}", HumanCount(position)),
        _ => {
            let left = after.mul_f64(length.saturating_sub(position) as f64 / position as f64);
            let percent = 100 * position.min(length) / length;
            format!("{message}: {percent} % in {after_text}, about {} left", HumanDuration(left))
        }
    }
}

impl Progress for Display {
    fn building(&self, what: &str, instrumented: bool) {
        let message = building_line(what, instrumented);
        if manner().verbose() {
            self.hide();
            return complain(&message);
        }
        self.begin(message, &BUILD, 0);
    }
    fn built(&self, line: &str) {
        if manner().verbose() {
            return pass_on(&format!("{line}\n"));
        }
        if let Some(name) = line.trim_start().strip_prefix("Compiling ") {
            self.bar.inc(1);
            self.bar.set_prefix(format!(", now {}", name.split(' ').next().unwrap_or(name)));
        }
    }
    fn build_failed(&self, said: &str) {
        self.end();
        if !manner().verbose() {
            pass_on(&format!("{said}\n"));
        }
    }
    fn measuring(&self) {
        self.begin("measuring this machine".to_owned(), &MEASURING, 1000);
    }
    fn measured(&self, share: f64) {
        self.bar.set_position((share * 1e3) as u64);
    }
    fn running(&self, what: &str, runs: usize) {
        let message = if self.terminal {
            format!("running {what}")
        } else {
            format!("running {what} {runs} times")
        };
        self.begin(message, &RUNS, runs as u64);
    }
    fn said(&self, text: &str) {
        self.end();
        pass_on(text);
    }
    fn recording(&self, what: &str, shown: bool) {
        let message = format!("recording {what}");
        // A line that is drawn again and again would garble what the program writes.
        if shown && self.terminal && !manner().quiet() {
            self.hide();
            complain(&message);
        } else {
            self.begin(message, &RECORDING, 0);
        }
    }
    fn timing(&self, what: &str, whole: bool, number: usize, of: usize) {
        let message = timing_line(what, whole);
        if self.terminal {
            self.begin(format!("{message}, run {number} of {of}"), &TIMING, 0);
        } else if number == 1 {
            self.begin(message, &TIMING, 0);
        }
    }
    fn recorded_before(&self, what: &str, file: &Path) {
        if !manner().quiet() {
            self.note(&format!("{what} was recorded before: {}", file.display()));
        }
    }
    fn simulating(&self, what: &str, runs: usize, touches: u64) {
        let times = if runs == 1 { String::new() } else { format!(", {runs} times") };
        self.begin(format!("simulating {what}{times}"), &SIMULATION, touches);
    }
    fn advance(&self, by: u64) {
        self.bar.inc(by);
    }
    fn finished(&self) {
        self.end();
    }
    fn note(&self, text: &str) {
        self.bar.suspend(|| complain(text));
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_on_a_stage_tells_how_much_longer_it_takes() {
        let so_far = |position, length| {
            so_far("simulating rrm", "line touches", Duration::from_secs(30), position, length)
        };
        assert_eq!(so_far(0, 100), "simulating rrm: 30 seconds so far");
        assert_eq!(so_far(25, 100), "simulating rrm: 25 % in 30 seconds, about 2 minutes left");
        assert_eq!(so_far(4000, 0), "simulating rrm: 4,000 line touches in 30 seconds");
        // More than was expected.
        assert_eq!(so_far(120, 100), "simulating rrm: 100 % in 30 seconds, about 0 seconds left");
    }
}
