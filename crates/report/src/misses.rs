//! Misses by line of the source, as a table, JSON (`befit.misses/1`), CSV, or callgrind's format.

use std::{collections::BTreeMap, fmt::Write};

use befit_lab::{CodeLine, MissesBy, ProgramMisses, Shares};

use crate::{
    Format, ReportError, Width,
    columns::{Columns, Scale},
    comparison::recorded,
    csv, json,
    sizes::bytes,
    width::end_of,
};

/// Writes `misses` as text that ends in a line feed, the table with at most `rows` rows of either
/// kind. JSON is the contract `befit.misses/1`; CSV has the lines of code of the JSON, a row each.
///
/// # Errors
/// As [`crate::render`].
pub fn render(misses: &ProgramMisses, rows: usize, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&tables(misses, rows, width))),
        Format::Json => json("befit.misses/1", misses),
        Format::Csv => csv::render(&misses.code),
    }
}

/// One row of either table.
struct Row {
    name: String,
    detail: String,
    shares: Shares,
}

/// The length of names in tables: of longer ones the end is shown.
const LONGEST: usize = 34;

fn tables(misses: &ProgramMisses, rows: usize, width: Width) -> String {
    let ProgramMisses { program, machine, scheduler, total, .. } = misses;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{program} on {machine} under {scheduler}, one simulated run");
    let lines = |count: u64| Scale::millions([count].into_iter()).show(count);
    let _ = writeln!(
        text,
        "{} M lines of {} from memory, {} M from other last-level caches\n",
        lines(total.memory),
        bytes(misses.line_bytes),
        lines(total.other_caches)
    );
    let title = match misses.by {
        MissesBy::Line => "line of the source",
        MissesBy::Fork => "tasks forked at",
    };
    let code = misses.code.iter().map(|line| Row {
        name: at(line.file.as_deref(), line.line, "not known"),
        detail: line.function.clone().unwrap_or_default(),
        shares: line.shares,
    });
    table(&mut text, title, "function", code.collect(), (rows, total), width);
    text.push('\n');
    let data = misses.data.iter().map(|block| {
        let other = match block.kind {
            "stack" => "stacks",
            _ => "all other data",
        };
        Row {
            name: at(block.file.as_deref(), block.line, other),
            detail: if block.bytes.0 == 0 { String::new() } else { bytes(block.bytes) },
            shares: block.shares,
        }
    });
    table(&mut text, "data made at", "bytes", data.collect(), (rows, total), width);
    if let Some(share) = misses.recorded {
        let _ = writeln!(text, "\n{}", recorded(share));
    }
    if misses.by == MissesBy::Fork {
        text.push_str(
            "\nThe recording has no lines that touch: `befit record --lines` records them.\n",
        );
    }
    text
}

fn table(
    text: &mut String,
    title: &str,
    detail: &str,
    mut rows: Vec<Row>,
    (most, total): (usize, &Shares),
    width: Width,
) {
    let rest = rows.split_off(most.min(rows.len()));
    if let [first, more @ ..] = &rest[..] {
        let add = |a: Shares, b: &Row| Shares {
            memory: a.memory + b.shares.memory,
            other_caches: a.other_caches + b.shares.other_caches,
            other_sockets: a.other_sockets + b.shares.other_sockets,
            to_and_fro: a.to_and_fro + b.shares.to_and_fro,
            false_sharing: a.false_sharing + b.shares.false_sharing,
        };
        let shares = more.iter().fold(first.shares, add);
        rows.push(Row { name: format!("{} more", rest.len()), detail: String::new(), shares });
    }
    rows.push(Row { name: "all".to_owned(), detail: String::new(), shares: *total });
    let all = total.misses().max(1) as f64;
    let scale = Scale::millions([total.memory, total.other_caches, total.to_and_fro].into_iter());
    let mut columns = Columns::new(&rows, &format!("\n{title}"), |row: &Row| row.name.clone());
    columns
        .add("of all\nmisses", |row| format!("{:.1}%", 100.0 * row.shares.misses() as f64 / all));
    columns.add("from\nmemory, M", |row| scale.show(row.shares.memory));
    columns.add("other\ncaches, M", |row| scale.show(row.shares.other_caches));
    columns.add("other\nsockets, M", |row| scale.show(row.shares.other_sockets));
    columns.add("to and\nfro, M", |row| scale.show(row.shares.to_and_fro));
    columns.minor("falsely\nshared, M", |row| scale.show(row.shares.false_sharing));
    columns.minor(&format!("\n{detail}"), |row| row.detail.clone());
    let _ = writeln!(text, "{}", columns.narrow(width));
}

/// `src/main.rs:12`, the end of it where it is long.
pub(crate) fn at(file: Option<&str>, line: Option<u32>, unknown: &str) -> String {
    let (Some(file), Some(line)) = (file, line) else { return unknown.to_owned() };
    end_of(&format!("{file}:{line}"), LONGEST)
}

/// The lines of code in the format of valgrind's callgrind, version 1, which KCachegrind opens:
/// <https://valgrind.org/docs/manual/cl-format.html>. Lines that are not known are those of the
/// file `???`.
pub fn callgrind(misses: &ProgramMisses) -> String {
    let mut text = String::from("# callgrind format\nversion: 1\n");
    let ProgramMisses { program, machine, scheduler, total, .. } = misses;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "creator: befit-{}", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "cmd: {}", one_line(program));
    let _ = writeln!(text, "desc: Machine: {}", one_line(machine));
    let _ = writeln!(text, "desc: Scheduler: {}", one_line(scheduler));
    text.push_str("positions: line\n");
    for (name, meaning) in [
        ("Memory", "lines from memory"),
        ("Caches", "lines from other last-level caches"),
        ("Sockets", "lines from other sockets"),
        ("Fro", "lines that go to and fro between workers"),
        ("False", "falsely shared lines of these"),
    ] {
        let _ = writeln!(text, "event: {name} : {meaning}");
    }
    text.push_str("event: Misses = Memory + Caches : lines from outside of the last-level cache\n");
    text.push_str("events: Memory Caches Sockets Fro False\n");
    let costs = |shares: &Shares| {
        let Shares { memory, other_caches, other_sockets, to_and_fro, false_sharing } = shares;
        format!("{memory} {other_caches} {other_sockets} {to_and_fro} {false_sharing}")
    };
    let _ = writeln!(text, "summary: {}", costs(total));
    let mut functions: BTreeMap<(&str, &str), Vec<&CodeLine>> = BTreeMap::new();
    for line in &misses.code {
        let unknown = "???";
        let file = line.file.as_deref().unwrap_or(unknown);
        let function = line.function.as_deref().unwrap_or(unknown);
        functions.entry((file, function)).or_default().push(line);
    }
    for ((file, function), mut lines) in functions {
        let _ = writeln!(text, "\nfl={}\nfn={}", one_line(file), one_line(function));
        lines.sort_by_key(|line| line.line);
        for line in lines {
            let _ = writeln!(text, "{} {}", line.line.unwrap_or(0), costs(&line.shares));
        }
    }
    let _ = writeln!(text, "\ntotals: {}", costs(total));
    text
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
pub(crate) mod tests {
    use befit_lab::DataBlock;
    use befit_machine::{Bytes, Cycles};

    use super::*;

    pub(crate) fn misses() -> ProgramMisses {
        let shares = |memory, other_caches| Shares { memory, other_caches, ..Shares::default() };
        let line = |file: &str, line, shares| CodeLine {
            file: Some(file.to_owned()),
            line: Some(line),
            function: Some("main".to_owned()),
            shares,
        };
        let nowhere = CodeLine { file: None, line: None, function: None, shares: shares(0, 5) };
        let (code, total) = (shares(3_000_000, 1_000_000), shares(3_000_007, 1_000_005));
        ProgramMisses {
            program: "mine 5".to_owned(),
            machine: "xeon-7560".to_owned(),
            scheduler: "ws".to_owned(),
            seed: 1,
            line_bytes: Bytes(64),
            time_cycles: Cycles(10),
            by: MissesBy::Line,
            recorded: Some(0.5),
            total,
            code: vec![line("src/main.rs", 12, code), line("src/a.rs", 3, shares(7, 0)), nowhere],
            data: vec![DataBlock {
                kind: "other",
                file: None,
                line: None,
                function: None,
                blocks: 0,
                bytes: Bytes(0),
                shares: total,
            }],
        }
    }

    #[test]
    fn tables_fit_80_columns_and_rows_that_are_left_out_are_added_up() {
        let text = render(&misses(), 1, Format::Table(Width::columns(80))).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for expected in
            ["src/main.rs:12", "2 more", "all other data", "100.0%", "recorded: 50.0% of"]
        {
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn callgrind_s_lines_stand_by_file_and_function_and_its_totals_at_both_ends() {
        let text = callgrind(&misses());
        assert!(text.contains("fl=src/main.rs\nfn=main\n12 3000000 1000000 0 0 0\n"), "{text}");
        assert!(text.contains("fl=???\nfn=???\n0 0 5 0 0 0\n"), "{text}");
        assert!(text.contains("summary: 3000007 1000005 0 0 0\n"), "{text}");
        assert!(text.ends_with("totals: 3000007 1000005 0 0 0\n"), "{text}");
    }
}
