//! The forms in which results are printed.

mod json;
mod table;

use crate::{args::Format, contest::Results};

/// The results in a format, ending with a line break.
pub(crate) fn render(results: &Results, format: Format) -> String {
    match format {
        Format::Table => table::render(results),
        Format::Json => json::render(results),
    }
}

#[cfg(test)]
pub(crate) fn example() -> Results {
    use befit::SchedulerKind;

    use crate::{
        contest::{Entry, Spread},
        cpp::CppRuntime,
        runtime::RuntimeKind,
    };

    let ran =
        |runtime, min, median, max| Entry { runtime, outcome: Ok(Spread { min, median, max }) };
    Results {
        program: "fib",
        n: 38,
        threads: 2,
        repeats: 7,
        entries: vec![
            ran(RuntimeKind::Serial, 0.098, 0.1, 0.125),
            ran(RuntimeKind::Befit(SchedulerKind::Ws), 0.24, 0.25, 0.26),
            ran(RuntimeKind::Rayon, 0.99, 1.0, 1.01),
            Entry {
                runtime: RuntimeKind::Cpp(CppRuntime::Tbb),
                outcome: Err("oneTBB (Debian: libtbb-dev) was not found".to_owned()),
            },
        ],
    }
}
