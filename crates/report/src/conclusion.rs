//! What a comparison means, in sentences under its table.

use std::fmt::Write;

use befit_lab::{Cause, Change, Choice, Conclusion, Interval, Loss, Suggestion};

use crate::{Width, columns::percent};

/// So many causes are told of each scheduler.
const CAUSES: usize = 3;

/// Seeds that leave a wider interval than this much more or less do not show two times as equal.
const CLOSE: f64 = 0.02;

/// What operations take longer on shared or slow cores is told if it is this share of the time.
const SHARED: f64 = 0.03;

/// Paragraphs are no wider.
const WIDTH: usize = 100;

/// The conclusion as paragraphs, at most `width` wide.
pub(crate) fn text(of: &Conclusion, width: Width) -> String {
    let width = width.at_most(WIDTH);
    let paragraphs = paragraphs(of);
    let paragraphs = paragraphs.iter().map(|paragraph| width.wrap(&format!("  {paragraph}")));
    format!("conclusion\n{}", paragraphs.collect::<String>())
}

/// The conclusion's paragraphs.
pub(crate) fn paragraphs(of: &Conclusion) -> Vec<String> {
    let mut text = Vec::new();
    text.push(choice(of));
    let of_best: Vec<_> = of.losses.iter().filter(|f| !f.more_than_best).collect();
    text.push(limits(of, &of_best));
    text.extend(slower(of));
    text.extend(of.suggestions.iter().map(|suggestion| tried(of, suggestion)));
    if of.suggestions.is_empty()
        && let Some(next) = of_best.first().and_then(|loss| untried(loss.cause))
    {
        text.push(format!("Next (not simulated): {next}."));
    }
    if !of.in_vain.is_empty() {
        // Some differ only in what their names leave out, and need not stand side by side.
        let mut all: Vec<String> = Vec::new();
        for name in of.in_vain.iter().map(|(change, _)| name(change)) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        text.push(format!("Simulated, with no gain to rely on: {}.", all.join("; ")));
    }
    if of.simulations > 0 {
        text.push(format!(
            "({} further simulations; at most {} were allowed)",
            of.simulations, of.budget
        ));
    }
    text
}

fn choice(of: &Conclusion) -> String {
    let choice = &of.choice;
    let others = choice.alike.iter().filter(|kind| **kind != choice.best);
    let others: Vec<_> = others.map(|kind| kind.name()).collect();
    let points = choice.alike_within.map(|half| format!("{:.1}", 100.0 * half));
    let too_wide = choice.alike_within.is_some_and(|half| half > CLOSE);
    if choice.no_difference {
        return match (&others[..], points) {
            ([], _) => format!("Only {} was simulated.", choice.best),
            (_, Some(points)) if too_wide => format!(
                "Not known: the seeds differ by more than the schedulers do (±{points} points). \
                 More seeds may show it (--seeds)."
            ),
            (_, Some(points)) => {
                format!("No difference: all schedulers take as long (±{points} points).")
            }
            (_, None) => "No difference: all schedulers take as long.".to_owned(),
        };
    }
    let gain = match choice.ratio {
        Some(ratio) => format!(": {} than with the first scheduler", less(ratio)),
        // Less than that the choice takes for none.
        None => ": no other takes at least 1 % less time".to_owned(),
    };
    let alike = match (&others[..], points) {
        ([], _) => String::new(),
        (all, Some(points)) if too_wide => format!(
            " Whether it is faster than {} is not known (±{points} points): more seeds may \
             show it.",
            all.join(", ")
        ),
        ([one], _) => format!(" As far as the seeds show, {one} takes as long, or within 1 %."),
        (all, _) => {
            let all = all.join(", ");
            format!(" As far as the seeds show, {all} take as long, or within 1 %.")
        }
    };
    format!("Use {}{gain}.{alike}", choice.best)
}

/// "12.3% ±1.0 less time".
fn less(ratio: Interval) -> String {
    let points = |share: f64| format!("{:.1}", 100.0 * share);
    let (gain, half) = (1.0 - ratio.estimate, ratio.half());
    let word = if gain < 0.0 { "more" } else { "less" };
    format!("{}% ±{} {word} time", points(gain.abs()), points(half))
}

/// Where the best scheduler's time goes.
fn limits(of: &Conclusion, losses: &[&Loss]) -> String {
    let Choice { best, work, shared_cores, .. } = &of.choice;
    let mut text = format!(
        "Under {best} the workers run the program's own operations for {} of the time",
        percent(*work)
    );
    if *shared_cores >= SHARED {
        let _ = write!(
            text,
            ", and for {} more because cores are shared by workers, or slower than others",
            percent(*shared_cores)
        );
    }
    text.push('.');
    if !losses.is_empty() {
        // Those that weigh most, and those that take longer than one of these.
        let (first, others) = losses.split_at(losses.len().min(CAUSES));
        let least = first.iter().map(|loss| loss.share).fold(1.0, f64::min);
        let longer = others.iter().filter(|loss| loss.share > least);
        let rest: Vec<_> = first.iter().chain(longer).map(|f| cause(f)).collect();
        let _ = write!(text, " Most of the rest: {}.", rest.join("; "));
    }
    text
}

/// Why each slower scheduler is.
fn slower(of: &Conclusion) -> Vec<String> {
    let mut kinds = Vec::new();
    for loss in of.losses.iter().filter(|loss| loss.more_than_best) {
        if !kinds.contains(&loss.scheduler) {
            kinds.push(loss.scheduler);
        }
    }
    let of_kind = |kind| {
        let all = of.losses.iter().filter(move |f| f.more_than_best && f.scheduler == kind);
        let causes: Vec<_> = all.take(CAUSES).map(cause).collect();
        format!("{kind} spends more of its time: {}.", causes.join("; "))
    };
    kinds.into_iter().map(of_kind).collect()
}

/// One cause with its figures.
fn cause(loss: &Loss) -> String {
    let figure = |name: &str| loss.figures.get(name).copied().unwrap_or(0.0);
    let count = |name: &str| count(figure(name));
    let share = percent(loss.share);
    match loss.cause {
        Cause::IdleCaches => format!(
            "{share} idle, as the scheduler keeps what is ready for the workers under other caches \
             ({} of {} last-level caches have tasks of their own{})",
            count("caches_used"),
            count("caches"),
            match loss.figures.get("gain_without") {
                Some(gain) if *gain < CLOSE => "; no scheduler that was tried gains by using more",
                _ => "",
            }
        ),
        Cause::WrongSizes => format!(
            "{share} is due to declared sizes: with sizes as measured it is gone (`befit sizes`)"
        ),
        Cause::FalseSharing => format!(
            "{share} waiting for cache lines that several workers write ({} lines, up to {} tasks \
             each at once: false sharing, if they write words of their own)",
            count("lines"),
            count("writers")
        ),
        Cause::HotLine => format!(
            "{share} waiting for cache lines of which many tasks write one word (up to {} at once; \
             {} of it for one line)",
            count("writers"),
            percent(figure("share_of_first_line"))
        ),
        Cause::GrainTooSmall => format!(
            "{share} on scheduling, as tasks are too short: {} tasks that fork nothing have {} \
             operations each (their grain is too small)",
            count("tasks"),
            count("operations")
        ),
        Cause::InputTooSmall => format!(
            "{share} for want of tasks, or on spreading short ones: the input is too small ({} \
             tasks that fork nothing, {} operations each; parallelism T₁ / T∞ {})",
            count("tasks"),
            count("operations"),
            count("parallelism")
        ),
        Cause::Serial => format!(
            "{share} idle while code between forks runs alone (parallelism T₁ / T∞ {})",
            count("parallelism")
        ),
        Cause::Imbalance => format!(
            "{share} idle while the last of many tasks run (the longest has {} operations, the \
             mean {})",
            count("longest"),
            count("operations")
        ),
        Cause::Strides => {
            format!(
                "{share} waiting for cache lines at a constant distance, of which little is used"
            )
        }
        Cause::Bandwidth => {
            format!("{share} waiting for cache lines behind others on the same way (bandwidth)")
        }
        Cause::Memory => format!("{share} waiting for cache lines from memory (latency)"),
        Cause::OtherCaches => {
            format!("{share} waiting for cache lines from other last-level caches")
        }
        Cause::Caches => format!("{share} waiting for cache lines from caches of the same socket"),
        Cause::Walks => {
            format!("{share} finding pages that the TLB does not have (walks through page tables)")
        }
        Cause::Oversubscription => {
            format!("{share} is due to workers that share cores: with one worker a core it is gone")
        }
        Cause::PageFaults => {
            format!("{share} on pages that are touched for the first time (page faults)")
        }
    }
}

/// A whole number, in millions or thousands where it is long; one decimal if it is small.
fn count(number: f64) -> String {
    match number {
        n if n >= 1e7 => format!("{:.0} M", n / 1e6),
        n if n >= 1e4 => format!("{:.0} k", n / 1e3),
        n if n < 100.0 && n.fract() != 0.0 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

fn tried(of: &Conclusion, suggestion: &Suggestion) -> String {
    let Suggestion { change, scheduler, ratio, seeds } = suggestion;
    let under = match change {
        Change::Scheduler => String::new(),
        _ if *scheduler == of.choice.best => String::new(),
        _ => format!(" under {scheduler}"),
    };
    let what = match change {
        Change::Scheduler => format!("--sched {scheduler}"),
        Change::Sigma { sigma } => format!(
            "{} (tasks of at most {:.0} % of a cache are bound to it)",
            name(change),
            100.0 * sigma
        ),
        change => name(change),
    };
    let less = less(*ratio);
    format!("Try {what}{under}: {less} than {} (simulated, {seeds} seeds).", of.choice.best)
}

/// A change in a few words.
fn name(change: &Change) -> String {
    match change {
        Change::Scheduler => "other schedulers".to_owned(),
        Change::Sigma { sigma } => format!("--sigma {sigma}"),
        Change::Sizes => "declaring sizes as measured".to_owned(),
        Change::OneWorkerACore => "one worker a core".to_owned(),
        Change::Sockets { sockets } => format!("--sockets {sockets}"),
        Change::OwnLines { lines: 1 } => {
            "a copy for each worker of the line that goes to and fro".to_owned()
        }
        Change::OwnLines { lines } => {
            let lines = count(*lines as f64);
            format!("a copy for each worker of the {lines} lines that go to and fro")
        }
        Change::Coarser { times, operations } => {
            let operations = count(*operations as f64);
            format!("tasks of at least {operations} operations, {times} times longer than now")
        }
        Change::FirstTouch => "memory near the worker that touches a page first".to_owned(),
        Change::HugePages => "huge pages".to_owned(),
    }
}

/// What else may help, which a simulation of this recording cannot tell.
fn untried(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Serial => "forking in the code that runs alone",
        Cause::Strides => "walking along lines, or storing the data in the order of the walk",
        Cause::Imbalance => "forking more in the longest tasks, or starting them first",
        Cause::InputTooSmall => "a larger input, or fewer workers",
        Cause::Bandwidth | Cause::Memory | Cause::Caches => {
            "doing more with each line while it is in a cache"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use befit_sched::SchedulerKind::{Pws, Sb, Ws};

    use super::*;

    /// A conclusion that ws is best, and these take as long, to so many points.
    fn conclusion(alike: &[befit_sched::SchedulerKind], alike_within: Option<f64>) -> Conclusion {
        Conclusion {
            command: "walk".to_owned(),
            machine: "one".to_owned(),
            choice: Choice {
                best: Ws,
                ratio: None,
                alike: alike.to_vec(),
                no_difference: true,
                alike_within,
                cycles: 100,
                work: 0.5,
                shared_cores: 0.0,
            },
            losses: Vec::new(),
            suggestions: Vec::new(),
            in_vain: Vec::new(),
            simulations: 0,
            budget: 0,
        }
    }

    #[test]
    fn too_few_seeds_are_not_taken_for_no_difference() {
        let said = |alike: &[_], within| choice(&conclusion(alike, within));
        let same = said(&[Ws, Pws], Some(0.011));
        assert_eq!(same, "No difference: all schedulers take as long (±1.1 points).");
        let wide = said(&[Ws, Pws], Some(0.27));
        assert!(wide.starts_with("Not known:") && wide.contains("±27.0"), "{wide}");
        assert_eq!(said(&[Ws], None), "Only ws was simulated.");
    }

    #[test]
    fn regression_a_scheduler_that_is_a_little_faster_is_not_denied() {
        let said = |alike: &[_]| {
            let mut of = conclusion(alike, Some(0.003));
            of.choice.no_difference = false;
            choice(&of)
        };
        assert_eq!(
            said(&[Ws, Pws]),
            "Use ws: no other takes at least 1 % less time. As far as the seeds show, pws takes as \
             long, or within 1 %."
        );
        let several = said(&[Ws, Pws, Sb]);
        assert!(several.ends_with("pws, sb take as long, or within 1 %."), "{several}");
    }

    #[test]
    fn regression_what_to_do_next_is_against_a_cause_of_the_recommended_scheduler() {
        let loss = |cause, scheduler, share| Loss {
            cause,
            scheduler,
            more_than_best: scheduler != Ws,
            share,
            figures: Default::default(),
        };
        let losses = vec![loss(Cause::Imbalance, Pws, 0.4), loss(Cause::Strides, Ws, 0.2)];
        let said = paragraphs(&Conclusion { losses, ..conclusion(&[Ws], None) }).join("\n");
        assert!(said.contains("Next (not simulated): walking along lines"), "{said}");
    }

    #[test]
    fn what_was_tried_in_vain_is_named_once() {
        let in_vain = vec![
            (Change::Scheduler, Pws),
            (Change::Sigma { sigma: 1.0 }, Sb),
            (Change::Scheduler, Sb),
            (Change::Sizes, Sb),
        ];
        let said = paragraphs(&Conclusion { in_vain, ..conclusion(&[Ws], None) }).join("\n");
        let names = [Change::Scheduler, Change::Sigma { sigma: 1.0 }, Change::Sizes];
        for named in names.iter().map(name) {
            assert_eq!(said.matches(&named).count(), 1, "{named}: {said}");
        }
    }

    #[test]
    fn what_operations_take_longer_on_shared_cores_is_told() {
        let mut of = conclusion(&[Ws], None);
        assert!(limits(&of, &[]).ends_with("for 50.0% of the time."));
        of.choice.shared_cores = 0.4;
        let said = limits(&of, &[]);
        assert!(said.contains("and for 40.0% more because cores are shared"), "{said}");
    }
}
