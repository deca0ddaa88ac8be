//! What may be set on a kernel besides its size: `bst:node=24,lookups=worst`.
//!
//! A setting has a few values by name, or is a number. Kernels that have none need not know of settings at all.

use befit::ThreadPool;

use crate::{Input, Kernel, KernelError, array_abc, array_windows, bst, rows};

/// One setting of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// As users type it.
    pub name: &'static str,
    /// The values that it may have; the first is the default. `#` among them stands for any whole number from 1 up to 2³².
    pub values: &'static [&'static str],
    /// One line on what it does.
    pub about: &'static str,
}

/// The values of all settings of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// Reads `name=value,…`; what is not named has its default.
    fn read(kernel: &'static str, text: &str) -> Result<Self, KernelError> {
        let known = of(kernel);
        let mut settings = Self(known.iter().map(|s| (s.name, s.values[0].to_owned())).collect());
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let bad = || KernelError::Setting { kernel, given: part.to_owned(), known: describe(known) };
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let setting = known.iter().find(|s| s.name == name).ok_or_else(bad)?;
            let number = || value.parse::<u64>().is_ok_and(|n| (1..=1 << 32).contains(&n));
            if !(setting.values.contains(&value) && value != "#" || setting.values.contains(&"#") && number()) {
                return Err(bad());
            }
            settings.0.iter_mut().filter(|(known, _)| *known == name).for_each(|s| value.clone_into(&mut s.1));
        }
        Ok(settings)
    }

    /// The value of setting `name`; empty where the kernel has no such setting.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// The value of a setting that is a number.
    pub(crate) fn number(&self, name: &str) -> usize {
        self.get(name).parse().unwrap_or(1)
    }
}

/// `tasks=abc|ab|ac, schedule=1|2`.
fn describe(settings: &[Setting]) -> String {
    let each = settings.iter().map(|s| format!("{}={}", s.name, s.values.join("|").replace('#', "NUMBER")));
    if settings.is_empty() { "none".to_owned() } else { each.collect::<Vec<_>>().join(", ") }
}

/// The settings that the kernel of this name has.
pub fn of(kernel: &str) -> &'static [Setting] {
    match kernel {
        "array-abc" => array_abc::SETTINGS,
        "array-windows" => array_windows::SETTINGS,
        "bst" => bst::SETTINGS,
        "heat" | "heat-ub" | "sor" | "sor-ub" => rows::SETTINGS,
        "ge" | "ge-ub" => rows::SETTINGS_OF_GE,
        _ => &[],
    }
}

/// A kernel with its settings, as users name it: `bst`, or `bst:node=24,lookups=worst`.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// As it was named.
    pub name: String,
    settings: Settings,
}

impl Variant {
    /// Reads a kernel's name and, behind a colon, its settings.
    ///
    /// ```
    /// use befit_kernels::Variant;
    ///
    /// assert_eq!(Variant::find("bst:node=24").unwrap().kernel.name, "bst");
    /// let error = Variant::find("bst:node=25").unwrap_err().to_string();
    /// assert!(error.starts_with("kernel bst has no setting 'node=25'; known: node=20|24, "), "{error}");
    /// ```
    ///
    /// # Errors
    /// [`KernelError::Unknown`] and [`KernelError::Setting`], which list what there is.
    pub fn find(text: &str) -> Result<Self, KernelError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let kernel = Kernel::find(name)?;
        Ok(Self { kernel, name: text.to_owned(), settings: Settings::read(kernel.name, settings)? })
    }

    /// As [`Kernel::run`], with these settings.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    pub fn run(&self, pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
        match self.kernel.name {
            "array-abc" => array_abc::run_with(pool, input, &self.settings),
            "array-windows" => array_windows::run_with(pool, input, &self.settings),
            "bst" => bst::run_with(pool, input, &self.settings),
            _ => self.kernel.run(pool, rows::with_settings(input, &self.settings)),
        }
    }
}

/// Runs the kernel of this name with its default settings: for the table of kernels.
pub(crate) fn run_default(name: &str, pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    Variant::find(name)?.run(pool, input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_their_defaults_unless_given() {
        let settings = Settings::read("array-windows", "rows=4096,").unwrap();
        assert_eq!((settings.number("rows"), settings.number("window")), (4096, 256));
        assert_eq!(Settings::read("array-abc", "schedule=2").unwrap().get("schedule"), "2");
    }

    #[test]
    fn a_setting_that_is_not_there_is_answered_with_those_that_are() {
        for bad in ["array-abc:tasks", "array-abc:tasks=d", "array-abc:task=ac", "array-windows:rows=0", "rrm:n=5"] {
            let error = Variant::find(bad).unwrap_err().to_string();
            assert!(error.contains("has no setting") && error.contains("known: "), "{error}");
        }
        assert!(Variant::find("array-windows:rows=#").is_err());
    }

    #[test]
    fn kernels_without_settings_are_named_as_ever() {
        assert_eq!(Variant::find("rrm").unwrap().name, "rrm");
        assert!(Variant::find("rrn:").is_err());
    }
}
