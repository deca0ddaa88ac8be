//! Plain lines: the names that the command line knows, and the contents of a recording.

use std::fmt::Write;

use befit_lab::{Finding, State, reproduce::Study};
use befit_program::{Begin, Class, End, Program, StrandId};
use befit_sched::SchedulerKind;

use crate::{
    columns::mib,
    width::{Width, beside},
};

/// The kernels with their settings, machines, schedulers and studies, each with a line about it.
pub fn names(width: Width) -> String {
    let schedulers = SchedulerKind::ALL.iter().map(|kind| (kind.name(), kind.about()));
    let mut text = String::new();
    section(&mut text, width, "Kernels", befit_lab::kernels());
    let title = "Settings of kernels, as in bst:node=24,layout=level; the first is usual";
    section(&mut text, width, title, befit_lab::kernel_settings());
    section(&mut text, width, "Machines", befit_machine::presets());
    section(&mut text, width, "Schedulers", schedulers);
    section(&mut text, width, "Studies", Study::ALL.map(|study| (study.name(), study.about())));
    text
}

fn section<A: AsRef<str>>(
    text: &mut String,
    width: Width,
    title: &str,
    entries: impl IntoIterator<Item = (&'static str, A)>,
) {
    let entries: Vec<_> = entries.into_iter().collect();
    let longest = entries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let gap = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{gap}{title}"); // writing to a String cannot fail
    for (name, about) in entries {
        *text += &beside(&format!("  {name:longest$}  "), about.as_ref(), width);
    }
}

/// What befit needs of this machine, a line each.
pub fn findings(findings: &[Finding], width: Width) -> String {
    let longest = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let line = |finding: &Finding| {
        let state = match finding.state {
            State::Good => "good",
            State::Note => "note",
            State::Missing => "missing",
        };
        beside(&format!("{state:7}  {:longest$}  ", finding.what), &finding.text, width)
    };
    findings.iter().map(line).collect()
}

/// Describes `program`, whose file has `file_bytes` bytes, in a few lines. It walks the task tree
/// once.
///
/// Work is the number of operations (loads, stores, basic blocks) of all strands. Span is that of
/// the longest chain of strands that must run one after another. Parallelism is work divided by
/// span.
pub fn recording(program: &Program, file_bytes: u64) -> String {
    let (stats, meta, lines) = (program.stats(), program.meta(), program.lines());
    let (loads, stores, touches) = (stats.work.loads, stats.work.stores, stats.work.touches);
    let entries = [
        ("tasks", stats.tasks.to_string()),
        ("strands", stats.strands.to_string()),
        ("accesses", format!("{} ({loads} loads, {stores} stores)", loads + stores)),
        ("line touches", format!("{touches} of {lines} lines of {}", meta.line_size)),
        ("work", format!("{} operations", stats.operations)),
        ("span", format!("{} operations", stats.span)),
        ("parallelism", format!("{:.1}", stats.parallelism())),
        ("file", format!("{} MiB", mib(file_bytes))),
    ];
    let lines = entries.map(|(name, value)| format!("  {name:<14}{value}\n"));
    format!("{}\n{}{}", meta.name, lines.concat(), work(program))
}

/// The classes that take most of a recording's time, a line each.
fn work(program: &Program) -> String {
    const MOST: usize = 20;
    let Some(run) = program.work_run() else {
        return "  uncalibrated: each operation takes what the machine says\n".to_owned();
    };
    let mut operations = vec![0.0; program.classes().len()];
    for strand in (0..program.strands()).map(StrandId) {
        let work = program.work(strand);
        let here = work.loads as f64 + work.stores as f64 + work.blocks as f64;
        operations[program.class(strand).0 as usize] += here;
    }
    let mut rows: Vec<(f64, u64, f64, &Class)> = program
        .classes()
        .iter()
        .zip(&run.classes)
        .zip(operations)
        .filter_map(|((class, work), operations)| {
            let work = work.as_ref()?;
            let time = operations * work.ps_per_operation;
            Some((time, work.strands, work.ps_per_operation, class))
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let total: f64 = rows.iter().map(|row| row.0).sum();
    let mut out = format!(
        "\ntimed on {} at {} MHz\n  {:>10}  {:>13}  {:>12}  strands\n",
        run.host, run.host_mhz, "strands", "share of time", "ps/operation"
    );
    for (time, strands, pace, class) in rows.into_iter().take(MOST) {
        let share = 100.0 * time / total.max(1.0);
        let (begin, end) = described(program, class);
        out += &format!("  {strands:>10}  {share:>12.1}%  {pace:>12.1}  {begin}, to {end}\n");
    }
    out
}

/// Where a class begins and ends, for people.
fn described(program: &Program, class: &Class) -> (String, String) {
    let (first, last) = (class.begin.place(), class.end.place());
    let (first, last) = (short(program.place(first)), short(program.place(last)));
    let begin = match class.begin {
        Begin::Task(_) => format!("start of {first}"),
        Begin::Child(_) => format!("after {first}"),
        Begin::Sync(_) => format!("after a sync in {first}"),
    };
    let end = match class.end {
        End::Fork(_) => format!("a fork of {last}"),
        End::Sync(_) => "a sync".to_owned(),
        End::Task(_) => "its end".to_owned(),
    };
    (begin, end)
}

/// A place without type arguments and what all closures end in, and its last two names.
fn short(place: &str) -> String {
    let plain = without_types(place);
    let names = plain.split("::").filter(|name| !name.is_empty() && *name != "{{closure}}");
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "the program".to_owned(),
        many => names[many.saturating_sub(2)..].join("::"),
    }
}

/// `place` without type arguments, and of `<A as B>` at its begin only `A`.
fn without_types(place: &str) -> String {
    let (mut plain, mut depth, mut in_trait, mut before) = (String::new(), 0_u32, false, ' ');
    for (at, c) in place.char_indices() {
        match c {
            '<' if at == 0 => {}
            '<' => depth += 1,
            '>' if before == '-' => {} // the arrow of a function's type
            '>' if depth > 0 => depth -= 1,
            '>' => in_trait = false,
            _ if depth > 0 || in_trait => {}
            ' ' if place[at..].starts_with(" as ") => in_trait = true,
            _ => plain.push(c),
        }
        before = c;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_place_is_its_last_two_names_without_types() {
        for (place, name) in [
            ("mine::sort::{{closure}}", "mine::sort"),
            ("mine::sort::<f64>::{{closure}}::{{closure}}", "mine::sort"),
            ("<mine::Dense as mine::Solver>::solve::{{closure}}", "Dense::solve"),
            ("<mine::Pair<A, B> as mine::Of<C>>::solve", "Pair::solve"),
            ("<mine::Dense>::solve", "Dense::solve"),
            ("mine::Matrix<f64>::multiply::{{closure}}", "Matrix::multiply"),
            ("mine::Each<fn(u32) -> Vec<u8>>::run", "Each::run"),
            ("", "the program"),
        ] {
            assert_eq!(short(place), name, "{place}");
        }
    }
}
