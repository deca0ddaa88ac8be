//! Progress on stderr: a bar where it is a terminal, a line per stage where it is not.

use std::{io::IsTerminal, path::Path, time::Duration};

use befit_lab::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{complain, pass_on};

const BAR: &str = "{msg} {wide_bar} {human_pos} of {human_len} line touches, {eta} left";

const SPINNER: &str = "{spinner} {msg}: {human_pos} line touches, {elapsed}";

const MEASURING: &str = "{msg} {wide_bar} {percent} %, {eta} left";

const RUNS: &str = "{msg} {wide_bar} {human_pos} of {human_len} runs, {eta} left";

/// Shows what the lab is doing.
pub(crate) struct Display {
    bar: ProgressBar,
    terminal: bool,
}

impl Display {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        Self { bar, terminal: std::io::stderr().is_terminal() }
    }

    /// A stage begins, of `length`; 0 if that is not known.
    fn begin(&self, message: String, template: &str, length: u64) {
        if !self.terminal {
            return complain(&message);
        }
        self.hide(); // till all is set, so that nothing half set is drawn
        self.bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        self.bar.set_message(message);
        self.bar.set_length(length);
        self.bar.reset();
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        if length == 0 {
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Leaves stderr to others.
    fn hide(&self) {
        self.bar.disable_steady_tick();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}

impl Progress for Display {
    fn building(&self, what: &str, instrumented: bool) {
        self.hide(); // cargo shows its own progress
        let how = if instrumented { " with instrumentation" } else { "" };
        complain(&format!("building {what}{how}"));
    }
    fn measuring(&self) {
        self.begin("measuring this machine".to_owned(), MEASURING, 1000);
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
        self.begin(message, RUNS, runs as u64);
    }
    fn said(&self, text: &str) {
        self.bar.finish_and_clear();
        pass_on(text);
    }
    fn recording(&self, what: &str, shown: bool) {
        let message = format!("recording {what}");
        // A line that is drawn again and again would garble what the program writes.
        if shown { complain(&message) } else { self.begin(message, SPINNER, 0) }
    }
    fn timing(&self, what: &str, number: usize, of: usize) {
        let message = format!("timing {what} without instrumentation, run {number} of {of}");
        self.begin(message, "{spinner} {msg}, {elapsed}", 0);
    }
    fn recorded_before(&self, what: &str, file: &Path) {
        self.note(&format!("{what} was recorded before: {}", file.display()));
    }
    fn simulating(&self, what: &str, runs: usize, touches: u64) {
        let times = if runs == 1 { String::new() } else { format!(", {runs} times") };
        self.begin(format!("simulating {what}{times}"), BAR, touches);
    }
    fn advance(&self, by: u64) {
        self.bar.inc(by);
    }
    fn finished(&self) {
        self.bar.finish_and_clear();
    }
    fn note(&self, text: &str) {
        self.bar.suspend(|| complain(text));
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
