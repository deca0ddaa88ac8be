//! A measured machine's file as text.

use super::{Calibration, Measured, Peer, Rrm, Verified};
use crate::{
    Width,
    columns::{Columns, digits},
};

/// Writes it as text that ends in a line feed.
pub fn render(measured: &Measured, width: Width) -> String {
    let Measured { model, threads, kernel, .. } = measured;
    let mut sections = vec![format!("{model}, {threads} threads, {kernel}\n")];
    sections.extend(measured.calibration.as_ref().map(|found| machine(found, width)));
    let rrm = measured.rrm();
    if !rrm.is_empty() {
        sections.push(predicted(&rrm, width));
    }
    if let Some(verified) = &measured.verified {
        sections.push(kernels(&verified.results, width));
    }
    if let Some(idle) = &measured.idle {
        let title = "idle pools: microseconds of the processor a call, by threads of the pool";
        let cells = idle.idle.iter().map(|pool| {
            let row = format!("{}, {}", pool.workload, pool.runtime);
            (row, pool.threads, format!("{:.1}", pool.cpu_seconds.median * 1e6))
        });
        sections.push(by_threads(title, "workload, runtime", cells, width));
    }
    let peers = measured.all_peers();
    if !peers.is_empty() {
        let title = "programs beside other runtimes: milliseconds, by threads; in brackets over \
                     rayon's";
        let cells = peers.iter().map(|peer| {
            let is_rayons = |other: &&&Peer| {
                (&other.program, other.threads) == (&peer.program, peer.threads)
                    && other.runtime == "rayon"
            };
            let rayon = peers.iter().find(is_rayons).filter(|rayon| rayon.runtime != peer.runtime);
            let over = rayon.map_or_else(String::new, |rayon| {
                format!(" ({:.2})", peer.seconds.median / rayon.seconds.median)
            });
            let row = format!("{}, {}", peer.program, peer.runtime);
            (row, peer.threads, digits(peer.seconds.median * 1e3) + &over)
        });
        sections.push(by_threads(title, "program, runtime", cells, width));
    }
    let missing = measured.missing();
    if !missing.is_empty() {
        sections.push(missing.join("\n") + "\n");
    }
    width.wrap(&sections.join("\n"))
}

/// What the system claims, and what was found.
fn machine(found: &Calibration, width: Width) -> String {
    let mut rows = vec![
        ("clock, one core".to_owned(), digits(found.claimed_mhz), digits(found.mhz.value), "MHz"),
        ("clock, all cores".to_owned(), String::new(), digits(found.mhz_all.value), "MHz"),
    ];
    for level in &found.levels {
        let (name, kib) = (level.level, |bytes: f64| format!("{:.0}", bytes / 1024.0));
        let capacity = (kib(level.claimed), kib(level.capacity.value));
        rows.push((format!("L{name} capacity"), capacity.0, capacity.1, "KiB"));
        rows.push((format!("L{name} latency"), String::new(), digits(level.latency.value), "ns"));
    }
    rows.push(("memory latency".to_owned(), String::new(), digits(found.memory.value), "ns"));
    for (threads, figure) in &found.bandwidth {
        let name = format!("bandwidth, {threads} threads");
        rows.push((name, String::new(), digits(figure.value), "GB/s"));
    }
    let mut columns = Columns::new(&rows, "", |row| row.0.clone());
    columns.add("claimed", |row| row.1.clone());
    columns.add("found", |row| row.2.clone());
    columns.add("", |row| row.3.to_owned());
    let mut text = columns.table(width) + "\n";
    if !found.noisy.is_empty() {
        text += &format!("noisy: {}\n", found.noisy.join("; "));
    }
    if let Some(machine) = &found.machine {
        text += &format!("as a machine of `befit sim --machine`:\n{machine}\n");
    }
    text
}

/// rrm under each scheduler.
fn predicted(rrm: &[Rrm], width: Width) -> String {
    let first = &rrm[0];
    let time = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), digits);
    let ratio = |one: Option<f64>, other: Option<f64>| {
        let both = one.zip(other).map(|(one, other)| format!("{:.2}", one / other));
        both.unwrap_or_else(|| "-".to_owned())
    };
    let mut columns = Columns::new(rrm, "rrm of 1,000,000\nelements", |row| row.scheduler.clone());
    columns.add("predicted,\nms", |row| time(row.predicted));
    columns.add("measured,\nms", |row| time(row.measured));
    columns.add("\nratio", |row| ratio(row.predicted, row.measured));
    let against = |what: &str| format!("{what},\nvs {}", first.scheduler);
    columns.add(&against("predicted"), |row| ratio(row.predicted, first.predicted));
    columns.add(&against("measured"), |row| ratio(row.measured, first.measured));
    columns.table(width) + "\n"
}

/// The verified kernels.
fn kernels(results: &[Verified], width: Width) -> String {
    if results.is_empty() {
        return "No kernel was verified.\n".to_owned();
    }
    let mut columns = Columns::new(results, "\nprogram", |row| row.command.clone());
    columns.name("\nthreads", |row| row.threads.to_string());
    columns.add("predicted,\nms", |row| digits(row.predicted_ms));
    columns.add("measured,\nms", |row| digits(row.measured_ms.median));
    columns.add("\nratio", |row| format!("{:.2}", row.ratio));
    columns.add("speed-up,\npredicted", |row| format!("{:.2}", row.predicted_speed_up));
    columns.add("\nmeasured", |row| format!("{:.2}", row.measured_speed_up));
    let within = results.iter().filter(|row| row.is_within()).count();
    format!("{}\n{within} of {} within 0.8 to 1.25\n", columns.table(width), results.len())
}

/// A table with a row for each name and a column for each number of threads.
fn by_threads(
    title: &str,
    names: &str,
    cells: impl Iterator<Item = (String, usize, String)>,
    width: Width,
) -> String {
    let cells: Vec<_> = cells.collect();
    let (mut rows, mut threads) = (Vec::new(), Vec::new());
    for (row, number, _) in &cells {
        if !rows.contains(row) {
            rows.push(row.clone());
        }
        if !threads.contains(number) {
            threads.push(*number);
        }
    }
    threads.sort_unstable();
    let mut columns = Columns::new(&rows, names, Clone::clone);
    for number in threads {
        columns.add(&number.to_string(), |row| {
            let cell = cells.iter().find(|cell| cell.0 == *row && cell.1 == number);
            cell.map_or_else(|| "-".to_owned(), |cell| cell.2.clone())
        });
    }
    format!("{title}\n{}\n", columns.table(width))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{empty, sample};
    use super::*;

    #[test]
    fn every_part_has_its_rows() {
        let text = render(&sample(), Width::ANY);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [
            "A Processor @ 3.00GHz, 4 threads, Linux 6.1",
            "clock, one core 2600 3200 MHz",
            "L3 capacity 32768 8192 KiB",
            "memory latency 120.5 ns",
            "bandwidth, 4 threads 40.00 GB/s",
            "sb 3.000 4.000 0.75 0.75 0.80",
            "rrm --n 1000000 4 4.500 3.000 1.50 2.11 3.33",
            "1 of 2 within 0.8 to 1.25",
            "join, rayon 20.0 90.0",
            "fib, befit-ws 400.0 (0.50) 100.0 (0.40)",
        ] {
            let row: Vec<&str> = row.split_whitespace().collect();
            assert!(rows.contains(&row), "{row:?}\n{text}");
        }
    }

    #[test]
    fn of_a_machine_of_which_nothing_came_back_that_is_said() {
        let text = render(&empty(), Width::ANY);
        assert_eq!(text.lines().filter(|line| line.ends_with("missing.")).count(), 6, "{text}");
    }
}
