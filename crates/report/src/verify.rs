//! Predicted beside measured times: as a table, JSON (`befit.verify/1`) or CSV.

use std::fmt::Write;

use befit_lab::{Contradiction, Verdict, Verified, VerifyResult};

use crate::{
    Format, ReportError, Width,
    columns::{Columns, digits},
    csv, json,
};

/// Writes `verified` as text that ends in a line feed.
///
/// # Errors
/// When a result cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(verified: &Verified, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&table(verified, width))),
        Format::Json => json("befit.verify/1", verified),
        Format::Csv => csv::render(&verified.results),
    }
}

fn table(verified: &Verified, width: Width) -> String {
    let results = &verified.results[..];
    if results.is_empty() {
        return String::new();
    }
    let machine = &verified.machine;
    let mut columns = Columns::new(results, "\nprogram", |r| r.command.clone());
    columns.name("\nthreads", |r| r.threads.to_string());
    columns.name("\nscheduler", |r| r.scheduler.to_string());
    columns.add("predicted,\nms", |r| digits(r.predicted));
    columns.add("measured,\nms", |r| digits(r.measured.median));
    columns.add("\nmin", |r| digits(r.measured.min));
    columns.add("\nmax", |r| digits(r.measured.max));
    columns.add("\nratio", |r| format!("{:.2}", r.ratio));
    if results.iter().any(|r| r.threads != results[0].threads) {
        columns.add("speed-up,\npredicted", |r| format!("{:.2}", r.predicted_speed_up));
        columns.add("\nmeasured", |r| format!("{:.2}", r.measured_speed_up));
    }
    let head = format!("predicted on {}, its figures: {}", machine.name, machine.figures);
    let mut text = format!("{head}\n\n{}\n\n", columns.table(width));
    // Writing to a String cannot fail.
    for program in results.chunk_by(|a, b| a.command == b.command) {
        let _ = writeln!(text, "{}", verdict(program));
    }
    let _ = writeln!(text, "\n{}", summary(verified));
    for contradiction in verified.contradicted.iter().flatten() {
        let _ = writeln!(text, "{}", contradicted(contradiction));
    }
    if let Some(suspect) = &verified.suspect {
        let _ = writeln!(
            text,
            "suspect: with {} {} of {} programs are within 0.8 to 1.25 instead of {}; the mean \
             error is a factor of {:.2} instead of {:.2}",
            suspect.change,
            suspect.within,
            suspect.programs,
            suspect.within_before,
            suspect.error,
            suspect.error_before
        );
    } else if verified.searched && verified.far > 0 {
        let _ = writeln!(
            text,
            "no single figure of the machine, doubled or halved, puts more programs within range"
        );
    }
    text
}

/// One line on one program: its worst ratio, and whether its speed-ups hold.
fn verdict(results: &[VerifyResult]) -> String {
    let off = |r: &VerifyResult| r.ratio.max(f64::MIN_POSITIVE).ln().abs();
    let Some(worst) = results.iter().max_by(|a, b| off(a).total_cmp(&off(b))) else {
        return String::new();
    };
    let mut line = format!("{}: {}", worst.command, worst.verdict);
    if worst.verdict != Verdict::Good {
        let (threads, ratio) = (worst.threads, worst.ratio);
        let _ = write!(line, ", {ratio:.2} of the measured time on {threads}");
        line += if threads == 1 { " thread" } else { " threads" };
    }
    for result in results.iter().filter(|result| !result.speed_up_holds()) {
        let (predicted, measured) = (result.predicted_speed_up, result.measured_speed_up);
        let _ = write!(
            line,
            "; speed-up to {} threads under {} {predicted:.2}, measured {measured:.2}",
            result.threads, result.scheduler
        );
    }
    let work = &worst.work;
    let _ = match work.share {
        _ if work.assumed => write!(line, "; its work is not measured but assumed"),
        0.0 => write!(line, "; its work is the mean of that of other tasks in {}", work.from),
        _ if work.same => write!(line, "; its work was measured in the run that is verified"),
        share => write!(line, "; {:.0}% of its work was learnt from {}", share * 100.0, work.from),
    };
    line
}

fn summary(verified: &Verified) -> String {
    let (all, within, far) = (verified.results.len(), verified.within, verified.far);
    let worst = verified.worst().map_or(String::new(), |worst| {
        format!("; the worst is {} on {} at {:.2}", worst.command, worst.threads, worst.ratio)
    });
    format!("{within} of {all} within 0.8 to 1.25, {far} outside of 0.67 to 1.5{worst}")
}

/// One line on a figure of the machine that is not this machine's.
fn contradicted(contradiction: &Contradiction) -> String {
    let Contradiction { figure, unit, claimed, found } = contradiction;
    let [claimed, median, low, high] =
        [*claimed, found.median, found.quartiles.0, found.quartiles.1].map(digits);
    let mut line = format!(
        "wrong figure: {figure} is {claimed} {unit} in the machine's description; {median} \
         ({low} to {high}) were found here"
    );
    if found.is_noisy() {
        line += ", but that differs too much to be trusted: leave the machine alone";
    }
    line
}

#[cfg(test)]
mod tests {
    use befit_lab::{LearntWork, Spread, VerifyMachine};
    use befit_sched::SchedulerKind;

    use super::*;

    /// A program that takes twice as long as predicted.
    fn far() -> Verified {
        let spread = |time| Spread { min: time, median: time, max: time };
        let result = VerifyResult {
            program: "rrm".to_owned(),
            command: "rrm".to_owned(),
            threads: 2,
            scheduler: SchedulerKind::Ws,
            predicted: 1.0,
            predicted_spread: spread(1.0),
            measured: spread(2.0),
            runs: 1,
            as_described: true,
            ratio: 0.5,
            verdict: Verdict::of(0.5),
            predicted_speed_up: 1.0,
            measured_speed_up: 1.0,
            work: LearntWork { from: "rrm".to_owned(), share: 1.0, assumed: false, same: true },
        };
        let [name, asked, figures, tree] = ["here", "host", "as given", ""].map(str::to_owned);
        Verified {
            machine: VerifyMachine { name, asked, figures, tree },
            befit: "0.1.0",
            results: vec![result],
            within: 0,
            far: 1,
            failed: Vec::new(),
            contradicted: None,
            suspect: None,
            searched: true,
        }
    }

    #[test]
    fn that_no_figure_explains_the_ratios_is_said_only_after_a_search() {
        let says = |verified: &Verified| table(verified, Width::ANY).contains("no single figure");
        assert!(says(&far()) && !says(&Verified { searched: false, ..far() }));
    }
}
