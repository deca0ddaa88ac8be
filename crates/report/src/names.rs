//! What can be named on the command line.

use std::fmt::Write;

use befit_lab::reproduce::Study;
use befit_sched::SchedulerKind;

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
