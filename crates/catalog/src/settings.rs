//! Settings of a kernel besides its size.
//!
//! A setting has a few values by name, or is a number.

use crate::{CatalogError, Kernel};

/// One setting of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// As users type it.
    pub name: &'static str,
    /// The values that it may have; the first is the default. `#` among them stands for any whole
    /// number from 1 up to 2³².
    pub values: &'static [&'static str],
    /// One line about it.
    pub about: &'static str,
}

/// The largest number that a setting may be.
const MOST: u64 = 1 << 32;

const fn setting(
    name: &'static str,
    values: &'static [&'static str],
    about: &'static str,
) -> Setting {
    Setting { name, values, about }
}

pub(crate) const ARRAY_ABC: &[Setting] = &[
    setting("tasks", &["abc", "ab", "ac", "bc"], "which of the tasks there are"),
    setting("schedule", &["1", "2"], "1: N runs of each in turn; 2: one run of each, N times"),
];
pub(crate) const ARRAY_WINDOWS: &[Setting] = &[
    setting("rows", &["512", "#"], "rows of the array"),
    setting("window", &["256", "#"], "rows that one task works on"),
    setting("overlap", &["random", "none"], "whether windows overlap"),
    setting("order", &["sorted", "random"], "the order in which they are spawned"),
];
pub(crate) const BST: &[Setting] = &[
    setting("node", &["20", "24"], "bytes of a node"),
    setting("layout", &["random", "sorted", "preorder", "level"], "where nodes lie"),
    setting("lookups", &["sorted", "random", "worst"], "the order of the look-ups"),
];

const ITERATIONS: Setting = setting(
    "iterations",
    &["auto", "#"],
    "how often it goes over its data; auto: fewer the more data there are",
);
const ELEMENT: Setting = setting("element", &["8", "16"], "bytes in an element");

pub(crate) const ROWS: &[Setting] = &[ITERATIONS, ELEMENT];
pub(crate) const GE: &[Setting] = &[ELEMENT];

/// The values of all settings of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// Reads `name=value,…`; settings that are not named have their defaults.
    pub(crate) fn read(kernel: &Kernel, text: &str) -> Result<Self, CatalogError> {
        let (kernel, known) = (kernel.name, kernel.settings);
        let mut settings = Self(known.iter().map(|s| (s.name, s.values[0].to_owned())).collect());
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let bad =
                || CatalogError::Setting { kernel, given: part.to_owned(), known: describe(known) };
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let setting = known.iter().find(|s| s.name == name).ok_or_else(bad)?;
            let number = || value.parse::<u64>().is_ok_and(|n| (1..=MOST).contains(&n));
            if !(setting.values.contains(&value) && value != "#"
                || setting.values.contains(&"#") && number())
            {
                return Err(bad());
            }
            for (known, old) in &mut settings.0 {
                if *known == name {
                    value.clone_into(old);
                }
            }
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

/// `tasks=abc|ab|ac, rows=512|1 to 4294967296`.
pub(crate) fn describe(settings: &[Setting]) -> String {
    let numbers = format!("1 to {MOST}");
    let each = settings
        .iter()
        .map(|s| format!("{}={}", s.name, s.values.join("|").replace('#', &numbers)));
    if settings.is_empty() { "none".to_owned() } else { each.collect::<Vec<_>>().join(", ") }
}

/// A kernel with its settings, as users name it: `bst`, or `bst:node=24,lookups=worst`.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// As it was named.
    pub name: String,
    /// All settings, the defaults included.
    pub settings: Settings,
}

impl Variant {
    /// Reads a kernel's name and, behind a colon, its settings.
    ///
    /// ```
    /// use befit_catalog::Variant;
    ///
    /// assert_eq!(Variant::find("bst:node=24").unwrap().kernel.name, "bst");
    /// let error = Variant::find("bst:node=25").unwrap_err().to_string();
    /// assert!(error.starts_with("kernel bst has no setting 'node=25', or not with this value; "));
    /// assert!(error.contains("; known: node=20|24, "));
    /// ```
    ///
    /// # Errors
    /// [`CatalogError::Unknown`] and [`CatalogError::Setting`], which list the known ones.
    pub fn find(text: &str) -> Result<Self, CatalogError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let kernel = Kernel::find(name)?;
        Ok(Self { kernel, name: text.to_owned(), settings: Settings::read(&kernel, settings)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, CatalogError> {
        Ok(Variant::find(text)?.settings)
    }

    #[test]
    fn settings_have_their_defaults_unless_given() {
        let windows = settings("array-windows:rows=4096,").unwrap();
        assert_eq!((windows.number("rows"), windows.number("window")), (4096, 256));
        assert_eq!(settings("array-abc:schedule=2").unwrap().get("schedule"), "2");
    }

    #[test]
    fn the_error_for_an_unknown_setting_lists_the_known_ones() {
        for bad in [
            "array-abc:tasks",
            "array-abc:tasks=d",
            "array-abc:task=ac",
            "array-windows:rows=0",
            "rrm:n=5",
        ] {
            let error = Variant::find(bad).unwrap_err().to_string();
            assert!(error.contains("has no setting") && error.contains("known: "), "{error}");
        }
        assert!(Variant::find("array-windows:rows=#").is_err());
    }

    #[test]
    fn the_error_for_a_number_that_is_too_large_says_how_large_it_may_be() {
        assert!(Variant::find("array-windows:rows=4294967296").is_ok());
        for value in ["5000000000", "0", "many"] {
            let error = Variant::find(&format!("array-windows:rows={value}")).unwrap_err();
            let said = format!("no setting 'rows={value}', or not with this value; known: ");
            assert!(error.to_string().contains(&said), "{error}");
            assert!(error.to_string().contains("rows=512|1 to 4294967296, "), "{error}");
        }
    }

    #[test]
    fn kernels_without_settings_are_named_as_ever() {
        assert_eq!(Variant::find("rrm").unwrap().name, "rrm");
        assert!(Variant::find("rrn:").is_err());
    }
}
