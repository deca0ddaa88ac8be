//! Figures of an earlier time: a row a line, its name and its nanoseconds a touch.

use std::{collections::BTreeMap, fs, path::Path};

/// A row is slower where it takes more than this many times the baseline's.
const SLOWER: f64 = 1.1;

/// The rows' nanoseconds a touch.
#[derive(Default)]
pub(crate) struct Baseline(BTreeMap<String, f64>);

impl Baseline {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|why| format!("cannot read {name}: {why}"))?;
        let row = |line: &str| {
            let (key, value) = line.split_once('\t')?;
            Some((key.to_owned(), value.parse().ok()?))
        };
        let rows = (1..).zip(text.lines()).map(|(number, line)| {
            row(line).ok_or(format!("{name}, line {number}: not a row that --save wrote"))
        });
        Ok(Self(rows.collect::<Result<_, _>>()?))
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), String> {
        let text: String =
            self.0.iter().map(|(key, value)| format!("{key}\t{value:.3}\n")).collect();
        fs::write(path, text).map_err(|why| format!("cannot write {}: {why}", path.display()))
    }

    pub(crate) fn note(&mut self, key: String, touch: f64) {
        self.0.insert(key, touch);
    }

    /// What a row is against the baseline's, in words.
    pub(crate) fn against(&self, key: &str, touch: f64) -> Option<String> {
        self.0.get(key).map(|before| format!("{:.2} × the baseline's time", touch / before))
    }

    /// Whether a row that both have is slower now.
    pub(crate) fn is_slower(&self, now: &Self) -> bool {
        now.0.iter().any(|(key, touch)| self.0.get(key).is_some_and(|was| *touch > SLOWER * was))
    }
}
