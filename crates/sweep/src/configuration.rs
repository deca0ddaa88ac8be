//! What one simulation is a function of, besides the recording.

use std::cmp::Ordering;

use befit_lab::LabError;
use befit_machine::{Machine, MachineError};
use befit_sched::{OptionChoices, Options, SchedulerKind};
use serde_json::{Map, Value as Json};

use crate::column::{self, Cell, Value, configuration_columns};

/// One simulation: a row's first columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Configuration {
    /// A recording's path, or a kernel with its arguments: `rrm --n 1000000`.
    pub program: String,
    /// The machine, as [`Machine::find`] takes it.
    pub machine: String,
    /// The policy.
    pub scheduler: SchedulerKind,
    /// The sizes that it sees: `usual`, or a name that [`befit_lab::GivenSizes::find`] takes.
    pub sizes: String,
    /// How many times smaller the model is; caches and prices are divided by it.
    pub shrink: u32,
    /// Percent of the memory bandwidth.
    pub bandwidth: Option<u32>,
    /// So many of the machine's sockets.
    pub sockets: Option<u32>,
    /// So many cores of each socket.
    pub cores: Option<u32>,
    /// The policy's options.
    pub options: Options,
    /// Seeds every generator of the run.
    pub seed: u64,
}

/// The names of sizes that a sweep takes: none that depends on a further file.
const SIZES: [&str; 6] = ["usual", "none", "declared", "measured", "learned", "only-learned"];

fn usage(what: String) -> LabError {
    LabError::Usage(what)
}

/// A whole number, which may have come as 3.0.
fn whole(value: &Json) -> Option<u64> {
    // Beyond this, numbers of 64 bits are no longer the ones that were written.
    let exact = 0.0..=(1_u64 << 53) as f64;
    let float = || value.as_f64().filter(|n| n.fract() == 0.0 && exact.contains(n));
    value.as_u64().or_else(|| float().map(|n| n as u64))
}

impl Configuration {
    /// The configuration with these fields, named as the columns; those that are missing or null
    /// have their defaults.
    ///
    /// # Errors
    /// [`LabError::Usage`]: a field is unknown, has a value that it cannot have, or `program`,
    /// `machine` or `scheduler` is missing.
    pub fn from_fields(fields: &Map<String, Json>) -> Result<Self, LabError> {
        let text = |name: &str| match fields.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(usage(format!("{name}: {other} is no text"))),
        };
        let needed = |name: &str| {
            let found = text(name)?.filter(|text| !text.trim().is_empty());
            found.ok_or_else(|| usage(format!("a configuration needs a {name}")))
        };
        let within = |name: &str, least: u64, most: u64| match fields.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => match whole(value).filter(|n| (least..=most).contains(n)) {
                Some(number) => Ok(Some(number)),
                None => {
                    Err(usage(format!("{name}: {value} is no whole number from {least} to {most}")))
                }
            },
        };
        let small = |name: &str| within(name, 1, u32::MAX.into()).map(|n| n.map(|n| n as u32));
        let mut options = OptionChoices::default();
        for option in Options::TABLE {
            let value = match fields.get(option.name) {
                None | Some(Json::Null) => continue,
                Some(Json::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            // A whole number may come as 1.0.
            let value = value.strip_suffix(".0").unwrap_or(&value);
            options.parse(option, value).map_err(|error| usage(error.to_string()))?;
        }
        let known = configuration_columns();
        if let Some(name) = fields.keys().find(|name| known.iter().all(|c| c.name != **name)) {
            let known: Vec<_> = known.into_iter().map(|column| column.name).collect();
            let known = known.join(", ");
            return Err(usage(format!("a configuration has no {name}; known: {known}")));
        }
        let sizes = text("sizes")?.unwrap_or_else(|| SIZES[0].to_owned());
        if !SIZES.contains(&&*sizes) {
            return Err(usage(format!("sizes: '{sizes}' is none of {}", SIZES.join(", "))));
        }
        let program = needed("program")?;
        let scheduler = needed("scheduler")?;
        Ok(Self {
            shrink: small("shrink")?.unwrap_or_else(|| crate::programs::usual_shrink(&program)),
            machine: needed("machine")?,
            scheduler: scheduler.parse().map_err(|error| usage(format!("{error}")))?,
            sizes,
            bandwidth: small("bandwidth")?,
            sockets: small("sockets")?,
            cores: small("cores")?,
            options: options.options(),
            // Parquet's whole numbers are signed.
            seed: within("seed", 0, i64::MAX as u64)?.unwrap_or(1),
            program,
        })
    }

    /// Its cells, by [`configuration_columns`].
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let small = |number: Option<u32>| number.map(|number| Value::Whole(number.into()));
        let before = [
            text(&self.program),
            text(&self.machine),
            text(self.scheduler.name()),
            text(&self.sizes),
            small(Some(self.shrink)),
            small(self.bandwidth),
            small(self.sockets),
            small(self.cores),
        ];
        let columns = configuration_columns();
        let kinds = columns.iter().skip(before.len()).map(|column| column.kind);
        let options = Options::TABLE.iter().zip(kinds);
        let options =
            options.map(|(option, kind)| column::value(&option.print(&self.options), kind));
        let seed = Some(Value::Whole(self.seed as i64));
        before.into_iter().chain(options).chain([seed]).collect()
    }

    /// The order of rows: that of its cells.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let first = |one: &Self| (one.shrink, one.bandwidth, one.sockets, one.cores);
        let options = || match self.options == other.options {
            true => Ordering::Equal,
            false => column::order(&self.cells(), &other.cells()),
        };
        (&self.program, &self.machine, self.scheduler.name(), &self.sizes)
            .cmp(&(&other.program, &other.machine, other.scheduler.name(), &other.sizes))
            .then_with(|| first(self).cmp(&first(other)))
            .then_with(options)
            .then_with(|| self.seed.cmp(&other.seed))
    }

    /// A hash of all its cells: the name under which its figures are kept.
    pub(crate) fn key(&self) -> u128 {
        key(&self.cells())
    }

    /// Its fields, as [`Self::from_fields`] takes them.
    pub(crate) fn fields(&self) -> Map<String, Json> {
        let columns = configuration_columns().into_iter().zip(self.cells());
        columns.filter_map(|(column, cell)| Some((column.name, cell?.to_field()))).collect()
    }

    /// The machine, changed as the configuration says.
    ///
    /// # Errors
    /// It cannot be changed so.
    pub(crate) fn varied(&self, machine: Machine) -> Result<Machine, MachineError> {
        varied(machine, [self.sockets, self.cores, self.bandwidth], self.shrink)
    }
}

/// The machine that `spec` names with so many sockets, cores of each, and percent of its bandwidth,
/// as a model `shrink` times smaller.
///
/// # Errors
/// It is unknown, or cannot be changed so.
pub fn vary(spec: &str, parts: [Option<u32>; 3], shrink: u32) -> Result<Machine, MachineError> {
    varied(Machine::find(spec)?, parts, shrink)
}

fn varied(
    mut machine: Machine,
    [sockets, cores, bandwidth]: [Option<u32>; 3],
    shrink: u32,
) -> Result<Machine, MachineError> {
    if let Some(sockets) = sockets {
        machine = machine.with_sockets(sockets)?;
    }
    if let Some(cores) = cores {
        machine = machine.with_cores(cores)?;
    }
    if let Some(percent) = bandwidth {
        machine = machine.with_bandwidth(percent)?;
    }
    machine.shrunk(shrink)
}

/// A hash of the first cells of a row, which are a configuration.
pub(crate) fn key(cells: &[Cell]) -> u128 {
    let cells = &cells[..configuration_columns().len()];
    xxhash_rust::xxh3::xxh3_128(format!("{cells:?}").as_bytes())
}
