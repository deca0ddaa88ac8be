//! CATS: Q. Chen, M. Guo, Z. Huang, *CATS: cache aware task-stealing based on online profiling in
//! multi-socket multi-core architectures* (ICS 2012): `cats`, the paper's policy taken literally,
//! and `cats-s`, which keeps subtrees on their socket, against `cilk-a`.

mod figures;
mod identity;
mod measure;
mod paper;

use befit_machine::Machine;
use befit_program::Program;

use self::measure::{Measured, measure};
use super::{Axis, Figure, Plot, PlotKind, Point, Reproduction, Request, Series, Table};
use crate::{LabError, Progress, Source, record};

/// The paper's machine.
const MACHINE: &str = "opteron-8380";
/// The order of `ge`, whose work grows with its third power: as many data as heat's and sor's 1024
/// rows. More rows are caches divided by as much.
const GE: u64 = 1024;
/// In the short form: by how much caches are divided, and the order then. A quarter of the data in
/// a quarter of the cache.
const QUICK_GE: (u32, u64) = (4, 512);

/// Repeats it.
pub(super) fn run(request: &Request, progress: &dyn Progress) -> Result<Reproduction, LabError> {
    let machine =
        request.machine.clone().unwrap_or_else(|| Machine::find(MACHINE).expect("a preset"));
    let seeds = request.seeds.map_or(if request.quick { 1 } else { 3 }, std::num::NonZeroU32::get);
    let mut study = Study {
        machine,
        seeds,
        quick: request.quick,
        progress,
        figures: Vec::new(),
        rows: table(),
        sizes: sizes(),
    };
    let mut changes = Vec::new();
    for reported in &paper::MEMORY_BOUND {
        let measured = study.at(reported.name, 1024, 8, seeds)?;
        figures::memory_bound(reported, &study.machine, &measured, &mut study.figures);
        changes.push((reported.name, measured));
    }
    let mut by_rows = Vec::new();
    if !request.quick {
        for (element, rows) in
            [(8, 2048), (8, 4096), (8, 8192), (16, 1024), (16, 2048), (16, 4096), (16, 8192)]
        {
            for reported in &paper::MEMORY_BOUND {
                let measured = study.at(reported.name, rows, element, 1)?;
                if (element, rows) == (8, 8192) {
                    figures::large(reported, &study.machine, &measured, &mut study.figures);
                }
                if element == 8 {
                    by_rows.push((
                        reported.name,
                        rows,
                        paper::change((measured[0].time, measured[2].time)),
                    ));
                }
            }
        }
    }
    for (name, n) in paper::CPU_BOUND {
        let program =
            record(&Source::Kernel { name: name.to_owned(), n: Some(n) }, false, progress)?;
        let measured = measure(&program, &study.machine, seeds, progress)?;
        figures::cpu_bound(name, &measured, &mut study.figures);
        study.show(&format!("{name} --n {n}"), &measured);
    }
    let plots = vec![
        bars("Time against cilk-a", &changes, |m| m.time),
        bars("L3 misses against cilk-a", &changes, Measured::last),
    ];
    let plots = if by_rows.is_empty() { plots } else { [plots, vec![lines(&by_rows)]].concat() };
    let iterations = if request.quick {
        "24 iterations"
    } else {
        "200 iterations where the paper gives figures (1024 and 8192 rows, 8-byte elements), elsewhere fewer the more rows there are (100 for 2048),"
    };
    Ok(Reproduction {
        study: request.study,
        machine: study.machine.name,
        quick: request.quick,
        notes: vec![
            format!(
                "heat and sor with {iterations}, the first of them cold and, under cats and cats-s, the one that is measured: it counts; medians of {seeds} seeds"
            ),
            "the paper names neither the number of iterations nor the size of elements: changes are compared, not counts".to_owned(),
            "L3 misses leave out what another private cache of the same socket served; such lines stand apart".to_owned(),
            "cats takes the paper literally, as docs/cats.md reads it; cats-s is ours".to_owned(),
            format!(
                "ge's work grows with the third power of its order: it has order {} and, in the place of more data, caches divided as the table says",
                if request.quick { QUICK_GE.1 } else { GE }
            ),
        ],
        figures: study.figures,
        tables: vec![study.rows, study.sizes],
        plots,
    })
}

/// What is gathered on the way.
struct Study<'a> {
    machine: Machine,
    seeds: u32,
    quick: bool,
    progress: &'a dyn Progress,
    figures: Vec<Figure>,
    rows: Table,
    sizes: Table,
}

impl Study<'_> {
    /// Simulates a memory-bound program with so many rows, and elements of so many bytes.
    fn at(
        &mut self,
        name: &str,
        rows: u64,
        element: u32,
        seeds: u32,
    ) -> Result<Vec<Measured>, LabError> {
        let is_ge = name.starts_with("ge");
        let (n, factor) = match (is_ge, self.quick) {
            (false, _) => (rows, 1),
            (true, false) => (GE, rows / GE),
            (true, true) => (QUICK_GE.1, u64::from(QUICK_GE.0) * rows / GE),
        };
        // Caches of a few lines cannot be made smaller: as they are, then.
        let machine =
            self.machine.clone().shrunk(factor as u32).unwrap_or_else(|_| self.machine.clone());
        let iterations = iterations(rows, element, self.quick);
        let settings = if is_ge {
            format!("element={element}")
        } else {
            format!("iterations={iterations},element={element}")
        };
        let source = Source::Kernel { name: format!("{name}:{settings}"), n: Some(n) };
        let program = record(&source, false, self.progress)?;
        let measured = measure(&program, &machine, seeds.min(self.seeds), self.progress)?;
        let caches = if machine.name == self.machine.name {
            String::new()
        } else {
            format!(", caches / {factor}")
        };
        self.show(&format!("{name} --n {n}, {element} B{caches}"), &measured);
        if element == 8 && rows == 1024 {
            self.compare_sizes(name, &program, &measured);
        }
        Ok(measured)
    }

    /// Adds rows to the table of measurements.
    fn show(&mut self, program: &str, measured: &[Measured]) {
        let millions = |lines: f64| format!("{:.3}", lines / 1e6);
        for of in measured {
            let level =
                |i: usize| of.misses.get(i).map_or("-".to_owned(), |lines| millions(*lines));
            self.rows.row([
                program.to_owned(),
                of.scheduler.name().to_owned(),
                format!("{:.2}", of.time / 1e6),
                format!("{:+.1}", paper::change((measured[0].time, of.time))),
                level(0),
                level(1),
                millions(of.last()),
                format!("{:+.1}", paper::change((measured[0].last(), of.last()))),
                millions(of.siblings),
                format!("{:.0}", 100.0 * of.stayed),
                format!("{:.1}", 100.0 * of.idle),
            ]);
        }
    }

    /// Sizes that `cats` calculated, beside what the subtrees touch.
    fn compare_sizes(&mut self, name: &str, program: &Program, measured: &[Measured]) {
        // Both measure the same first iteration; the one that cuts finer shows more.
        let finest = measured
            .iter()
            .filter_map(|of| of.tiers.as_ref())
            .max_by_key(|tiers| tiers.subtrees.len());
        let Some(tiers) = finest.filter(|tiers| tiers.partitions > 0) else { return };
        let mut worst: f64 = 0.0;
        for subtree in &tiers.subtrees {
            let Some(real) = identity::involved(program, &subtree.path) else { continue };
            let off = paper::change((real.0 as f64, subtree.soid.0 as f64));
            worst = if off.abs() > worst.abs() { off } else { worst };
            let path: Vec<_> = subtree.path.iter().map(u32::to_string).collect();
            self.sizes.row([
                name.to_owned(),
                path.join("."),
                format!("{:.1}", subtree.soid.0 as f64 / 1024.0),
                format!("{:.1}", real.0 as f64 / 1024.0),
                format!("{off:+.1}"),
            ]);
        }
        self.figures.push(figures::sizes(name, worst));
    }
}

/// How often heat and sor go over their data. In the long form 200 times for what the paper gives
/// figures of, and else as often as takes as long as 200 times over 1024 rows: the steady state is
/// reached after a few.
fn iterations(rows: u64, element: u32, quick: bool) -> u64 {
    match (quick, element, rows) {
        (true, ..) => 24,
        (false, 8, 1024 | 8192) => 200,
        _ => (200 * 1024 / rows).max(8),
    }
}

fn table() -> Table {
    Table::new(
        "Time and misses",
        [
            "program",
            "scheduler",
            "time, Mcycles",
            "against cilk-a, %",
            "L1 misses, M",
            "L2 misses, M",
            "L3 misses, M",
            "against cilk-a, %",
            "served by siblings, M",
            "leaves on the same socket, %",
            "idle, %",
        ],
    )
}

fn sizes() -> Table {
    Table::new(
        "Size of involved data of each subtree",
        ["program", "subtree", "calculated, KiB", "real, KiB", "difference, %"],
    )
}

fn bars(title: &str, changes: &[(&str, Vec<Measured>)], of: impl Fn(&Measured) -> f64) -> Plot {
    let series = (1..measure::SCHEDULERS.len()).map(|i| Series {
        name: measure::SCHEDULERS[i].name().to_owned(),
        points: changes
            .iter()
            .map(|(name, m)| Point::new(name, paper::change((of(&m[0]), of(&m[i])))))
            .collect(),
    });
    Plot {
        title: title.to_owned(),
        kind: PlotKind::Bars,
        x: Axis::linear("program"),
        y: Axis::linear("change, %"),
        series: series.collect(),
    }
}

/// Change of time under `cats-s` by rows.
fn lines(by_rows: &[(&str, u64, f64)]) -> Plot {
    let mut series: Vec<Series> = Vec::new();
    for (name, rows, change) in by_rows {
        let point = Point::new(rows, *change);
        match series.iter_mut().find(|series| series.name == *name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name: (*name).to_owned(), points: vec![point] }),
        }
    }
    Plot {
        title: "Time of cats-s against cilk-a".to_owned(),
        kind: PlotKind::Lines,
        x: Axis::log("rows"),
        y: Axis::linear("change, %"),
        series,
    }
}
