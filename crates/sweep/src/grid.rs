//! All configurations of a sweep, from a file or from another language.

use std::{fmt, fs, path::Path, str::FromStr};

use befit_lab::LabError;
use serde_json::{Map, Value as Json};

use crate::Configuration;

/// All configurations of a sweep, sorted, each once.
///
/// ```
/// use befit_sweep::Grid;
///
/// let grid = Grid::from_toml(
///     "program = 'rrm --n 100000'
///      machine = ['xeon-7560', 'epyc-9654']
///      scheduler = ['ws', 'sb']
///      seed = '1..5'",
/// )?;
/// assert_eq!(grid.configurations().len(), 20);
/// # Ok::<(), befit_lab::LabError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    configurations: Vec<Configuration>,
    /// True if it has the configurations of a shard only.
    is_shard: bool,
}

/// More is a mistake, or wants to be several sweeps.
const MOST: usize = 20_000_000;

fn usage(what: impl Into<String>) -> LabError {
    LabError::Usage(what.into())
}

impl Grid {
    /// The grid in a TOML file ([`Self::from_toml`]).
    ///
    /// # Errors
    /// [`LabError::Usage`] with the file's name.
    pub fn load(file: &Path) -> Result<Self, LabError> {
        let named = |why: &dyn fmt::Display| usage(format!("{}: {why}", file.display()));
        let text = fs::read_to_string(file).map_err(|error| named(&error))?;
        Self::from_toml(&text).map_err(|error| named(&error))
    }

    /// The grid that `text` describes: an axis a line, each with one value or a list of them; or
    /// several tables `[[grid]]` of that kind, whose configurations come together.
    ///
    /// # Errors
    /// [`LabError::Usage`]: it is no TOML, or has a number that is not finite, or as
    /// [`Self::from_json`].
    pub fn from_toml(text: &str) -> Result<Self, LabError> {
        let mut table: Map<String, Json> = toml::from_str(text).map_err(|error| {
            usage(error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" "))
        })?;
        if let Some(name) = table.iter().find_map(|(name, value)| not_finite(name, value)) {
            return Err(usage(format!("{name}: every number must be finite")));
        }
        match table.remove("grid") {
            Some(grids) if table.is_empty() => Self::from_json(&grids),
            Some(_) => Err(usage("a file has either axes or [[grid]] tables")),
            None => Self::from_json(&Json::Object(table)),
        }
    }

    /// The grid of a JSON object from axes to values, or of a list of those. An axis has one value
    /// or a list of them; `seed` also a range of text, `1..20`, ends included.
    ///
    /// # Errors
    /// [`LabError::Usage`]: as [`Configuration::from_fields`]; it has no configurations, or far too
    /// many.
    pub fn from_json(grids: &Json) -> Result<Self, LabError> {
        let mut configurations = Vec::new();
        match grids {
            Json::Object(axes) => product(axes, &mut configurations)?,
            Json::Array(list) => {
                for grid in list {
                    let Json::Object(axes) = grid else {
                        return Err(usage("a grid is a table of axes, or a list of such tables"));
                    };
                    product(axes, &mut configurations)?;
                }
            }
            _ => return Err(usage("a grid is a table of axes, or a list of such tables")),
        }
        configurations.sort_by(Configuration::order);
        configurations.dedup();
        if configurations.is_empty() {
            return Err(usage("the grid has no configurations: an axis is empty"));
        }
        Ok(Self { configurations, is_shard: false })
    }

    /// Its configurations, in the order of the table's rows.
    pub fn configurations(&self) -> &[Configuration] {
        &self.configurations
    }

    /// A hash of all its configurations, as 32 digits.
    pub(crate) fn hash(&self) -> String {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for one in &self.configurations {
            hash.update(&one.key().to_le_bytes());
        }
        format!("{:032x}", hash.digest128())
    }

    /// Only the configurations of a shard: every n-th, so that each shard has some of each kind.
    pub(crate) fn keep(&mut self, Shard { number, of }: Shard) {
        let mut at = 0;
        self.configurations.retain(|_| {
            at += 1;
            (at - 1) % of == number - 1
        });
        self.is_shard = true;
    }

    /// Why what was kept of an earlier sweep cannot be taken over if it holds other configurations.
    pub(crate) fn lacks_some(&self) -> &'static str {
        match self.is_shard {
            true => "that are not in this shard of this grid; name another output, or begin anew",
            false => "that are not in this grid; name another output, or begin anew",
        }
    }
}

/// The name of an axis that has `nan` or `inf` somewhere. TOML has no null: in JSON that was made
/// of it, null is such a number.
fn not_finite<'a>(name: &'a str, value: &'a Json) -> Option<&'a str> {
    match value {
        Json::Null => Some(name),
        Json::Array(list) => list.iter().find_map(|one| not_finite(name, one)),
        Json::Object(table) => table.iter().find_map(|(name, one)| not_finite(name, one)),
        _ => None,
    }
}

/// Adds every combination of the axes' values.
fn product(axes: &Map<String, Json>, to: &mut Vec<Configuration>) -> Result<(), LabError> {
    let axes: Vec<(&String, Vec<Json>)> = axes
        .iter()
        .map(|(name, values)| Ok((name, axis(name, values)?)))
        .collect::<Result<_, LabError>>()?;
    let number = axes.iter().try_fold(1usize, |all, (_, values)| all.checked_mul(values.len()));
    let number = number.filter(|number| to.len() + number <= MOST).ok_or_else(|| {
        usage(format!("the grid has more than {MOST} configurations; make several sweeps of it"))
    })?;
    for mut at in 0..number {
        let mut fields = Map::new();
        for (name, values) in &axes {
            fields.insert((*name).clone(), values[at % values.len()].clone());
            at /= values.len();
        }
        to.push(Configuration::from_fields(&fields)?);
    }
    Ok(())
}

fn axis(name: &str, values: &Json) -> Result<Vec<Json>, LabError> {
    match values {
        Json::Array(list) => Ok(list.clone()),
        Json::String(range) if name == "seed" => {
            let end = |text: &str| text.trim().parse::<u64>();
            let ends = range.split_once("..").map(|(first, last)| (end(first), end(last)));
            match ends {
                Some((Ok(first), Ok(last))) if first <= last && last - first < MOST as u64 => {
                    Ok((first..=last).map(Json::from).collect())
                }
                _ => Err(usage(format!("seed: '{range}' is no range such as 1..20"))),
            }
        }
        one => Ok(vec![one.clone()]),
    }
}

/// One of several equal parts of a sweep, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').map(|(a, b)| (a.parse(), b.parse()));
        match parts {
            Some((Ok(number), Ok(of))) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err(format!("'{text}' is no shard; 2/7 is the second of seven")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Shard {
    /// How many shards there are.
    pub(crate) fn of(self) -> usize {
        self.of
    }

    /// Which it is.
    pub(crate) fn number(self) -> usize {
        self.number
    }
}
