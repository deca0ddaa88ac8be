//! What may be set on a kernel besides its size.
//!
//! A setting has a few values by name, or is a number. Kernels that have none need not know of
//! settings at all.

use crate::{CatalogError, Kernel};

/// One setting of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// As users type it.
    pub name: &'static str,
    /// The values that it may have; the first is the default. `#` among them stands for any whole
    /// number from 1 up to 2³².
    pub values: &'static [&'static str],
    /// One line on what it does.
    pub about: &'static str,
}

pub(crate) const ARRAY_ABC: &[Setting] = &[
    Setting {
        name: "tasks",
        values: &["abc", "ab", "ac", "bc"],
        about: "which of the tasks there are",
    },
    Setting {
        name: "schedule",
        values: &["1", "2"],
        about: "1: N runs of each in turn; 2: one run of each, N times",
    },
];
pub(crate) const ARRAY_WINDOWS: &[Setting] = &[
    Setting { name: "rows", values: &["512", "#"], about: "rows of the array" },
    Setting { name: "window", values: &["256", "#"], about: "rows that one task works on" },
    Setting { name: "overlap", values: &["random", "none"], about: "whether windows overlap" },
    Setting {
        name: "order",
        values: &["sorted", "random"],
        about: "the order in which they are spawned",
    },
];
pub(crate) const BST: &[Setting] = &[
    Setting { name: "node", values: &["20", "24"], about: "bytes of a node" },
    Setting {
        name: "layout",
        values: &["random", "sorted", "preorder", "level"],
        about: "where nodes lie",
    },
    Setting {
        name: "lookups",
        values: &["sorted", "random", "worst"],
        about: "the order of the look-ups",
    },
];

const ITERATIONS: Setting = Setting {
    name: "iterations",
    values: &["auto", "#"],
    about: "how often it goes over its data; auto: fewer the more data there are",
};
const ELEMENT: Setting =
    Setting { name: "element", values: &["8", "16"], about: "bytes in an element" };

pub(crate) const ROWS: &[Setting] = &[ITERATIONS, ELEMENT];
pub(crate) const GE: &[Setting] = &[ELEMENT];

/// The values of all settings of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// Reads `name=value,…`; what is not named has its default.
    pub(crate) fn read(kernel: &Kernel, text: &str) -> Result<Self, CatalogError> {
        let (kernel, known) = (kernel.name, kernel.settings);
        let mut settings = Self(known.iter().map(|s| (s.name, s.values[0].to_owned())).collect());
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let bad =
                || CatalogError::Setting { kernel, given: part.to_owned(), known: describe(known) };
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let setting = known.iter().find(|s| s.name == name).ok_or_else(bad)?;
            let number = || value.parse::<u64>().is_ok_and(|n| (1..=1 << 32).contains(&n));
            if !(setting.values.contains(&value) && value != "#"
                || setting.values.contains(&"#") && number())
            {
                return Err(bad());
            }
            settings
                .0
                .iter_mut()
                .filter(|(known, _)| *known == name)
                .for_each(|s| value.clone_into(&mut s.1));
        }
        Ok(settings)
    }

    /// The value of setting `name`; empty where the kernel has no such setting.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// The value of a setting that is a number.
    pub fn number(&self, name: &str) -> usize {
        self.get(name).parse().unwrap_or(1)
    }
}

/// `tasks=abc|ab|ac, schedule=1|2`.
fn describe(settings: &[Setting]) -> String {
    let each = settings
        .iter()
        .map(|s| format!("{}={}", s.name, s.values.join("|").replace('#', "NUMBER")));
    if settings.is_empty() { "none".to_owned() } else { each.collect::<Vec<_>>().join(", ") }
}
