//! Plain lines: the names that the command line knows, and the contents of a recording.

use std::fmt::Write;

use befit_lab::reproduce::Study;
use befit_program::Program;
use befit_sched::SchedulerKind;

use crate::columns::mib;

/// The kernels, machines, schedulers and studies, each with a line about it.
pub fn names() -> String {
    let schedulers = SchedulerKind::ALL.iter().map(|kind| (kind.name(), kind.about()));
    let mut text = String::new();
    section(&mut text, "Kernels", befit_lab::kernels());
    section(&mut text, "Machines", befit_machine::presets());
    section(&mut text, "Schedulers", schedulers);
    section(&mut text, "Studies", Study::ALL.map(|study| (study.name(), study.about())));
    text
}

fn section<A: AsRef<str>>(
    text: &mut String,
    title: &str,
    entries: impl IntoIterator<Item = (&'static str, A)>,
) {
    let entries: Vec<_> = entries.into_iter().collect();
    let width = entries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let gap = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{gap}{title}"); // writing to a String cannot fail
    for (name, about) in entries {
        let _ = writeln!(text, "  {name:width$}  {}", about.as_ref());
    }
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
    format!("{}\n{}", meta.name, lines.concat())
}
