//! What is in a recording, in a few lines.

use std::fmt::Write;

use befit_program::Program;

/// Says what is in `program`, whose file has `file_bytes` bytes: a line each. Walks the task tree
/// once.
///
/// Work is the number of operations (loads, stores, basic blocks) of all strands, span those of the
/// longest chain of strands that must run one after another, and parallelism the one divided by the
/// other.
pub fn recording(program: &Program, file_bytes: u64) -> String {
    let stats = program.stats();
    let accesses = stats.work.loads + stats.work.stores;
    let mut text = format!("{}\n", program.meta().name);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<14}{value}"); // writing to a String cannot fail
    };
    line("tasks", stats.tasks.to_string());
    line("strands", stats.strands.to_string());
    line(
        "accesses",
        format!("{accesses} ({} loads, {} stores)", stats.work.loads, stats.work.stores),
    );
    line(
        "line touches",
        format!(
            "{} of {} lines of {}",
            stats.work.touches,
            program.lines(),
            program.meta().line_size
        ),
    );
    line("work", format!("{} operations", stats.operations));
    line("span", format!("{} operations", stats.span));
    line("parallelism", format!("{:.1}", stats.parallelism()));
    line("file", format!("{:.2} MiB", file_bytes as f64 / f64::from(1 << 20)));
    text
}
