//! What the environment says of pools whose builder says nothing.
//!
//! A variable counts only where the program has not decided: an explicit call on the builder wins.
//! An empty variable counts as none. [`ThreadPoolBuilder`](crate::ThreadPoolBuilder) has a table of
//! the variables.

use std::{ffi::OsString, str::FromStr, sync::Arc};

use befit_machine::Machine;
use befit_sched::{OptionChoices, Options, SchedulerKind, sizes::SizeTable};

use crate::{Pin, ThreadPoolBuildError, learned, stats::Clock};

/// Looks variables up: the process's, or a test's.
pub(crate) struct Environment<L>(pub(crate) L);

/// The variables of the process.
pub(crate) const PROCESS: Environment<fn(&str) -> Option<OsString>> =
    Environment(|name| std::env::var_os(name));

/// The scheduler where neither the program nor a variable names one. Programs that befit stands in
/// for rayon in know nothing of schedulers: for them befit chooses by the machine.
pub(crate) const USUAL: SchedulerKind =
    if cfg!(feature = "rayon-variables") { SchedulerKind::Auto } else { SchedulerKind::Ws };

impl<L: Fn(&str) -> Option<OsString>> Environment<L> {
    pub(crate) fn scheduler(&self) -> Result<Option<SchedulerKind>, ThreadPoolBuildError> {
        self.value("BEFIT_SCHEDULER", |text| {
            SchedulerKind::from_str(text).map_err(|unknown| unknown.to_string())
        })
    }

    /// Whether `auto` may choose; otherwise it is `ws`.
    pub(crate) fn auto(&self) -> Result<bool, ThreadPoolBuildError> {
        let on = self.value("BEFIT_AUTO", |text| match text {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(format!("unknown choice '{other}'; known: on, off")),
        })?;
        Ok(on.unwrap_or(true))
    }

    /// The machine to schedule on; `None` also for `host`, which is what a pool takes by itself.
    pub(crate) fn machine(&self) -> Result<Option<Machine>, ThreadPoolBuildError> {
        let find = |text: &str| match text {
            "host" => Ok(None),
            other => Machine::find(other).map(Some).map_err(|error| error.to_string()),
        };
        self.value("BEFIT_MACHINE", find).map(Option::flatten)
    }

    pub(crate) fn pin(&self) -> Result<Option<Pin>, ThreadPoolBuildError> {
        self.value("BEFIT_PIN", |text| match text {
            "auto" => Ok(Pin::Auto),
            "always" => Ok(Pin::Always),
            "never" => Ok(Pin::Never),
            other => Err(format!("unknown choice '{other}'; known: auto, always, never")),
        })
    }

    pub(crate) fn threads(&self) -> Result<Option<usize>, ThreadPoolBuildError> {
        let said = self.value("BEFIT_THREADS", |text| match text.parse() {
            Ok(threads) if threads > 0 => Ok(threads),
            _ => Err(format!("'{text}' is not a whole number from 1 up")),
        })?;
        Ok(said.or_else(|| rayon_threads(&self.0)))
    }

    /// The sizes of tasks that declare none, from the file that the first call in the process
    /// names. They only ever change how fast a program is, so a file that cannot be read is a note
    /// and no error.
    pub(crate) fn sizes(&self) -> Option<Arc<SizeTable>> {
        let file = (self.0)("BEFIT_SIZES").filter(|file| !file.is_empty())?;
        learned::once_from(&file)
    }

    /// What pools that measure time do it by.
    pub(crate) fn clock(&self) -> Result<Clock, ThreadPoolBuildError> {
        let clock = self.value("BEFIT_TIMES", |text| match text {
            "phases" => Ok(Clock::phases()),
            "span" => Ok(Clock::span()),
            "trace" => Ok(Clock::trace()),
            other => Err(format!("unknown choice '{other}'; known: phases, span, trace")),
        })?;
        Ok(clock.unwrap_or_else(Clock::phases))
    }

    /// What the program has chosen, else what the variables say, else defaults.
    pub(crate) fn options(
        &self,
        mut choices: OptionChoices,
    ) -> Result<Options, ThreadPoolBuildError> {
        for option in choices.open() {
            self.value(option.variable, |text| {
                choices.parse(option, text).map_err(|error| error.what)
            })?;
        }
        let options = choices.options();
        options.check()?;
        Ok(options)
    }

    fn value<T>(
        &self,
        variable: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ThreadPoolBuildError> {
        let Some(value) = (self.0)(variable) else { return Ok(None) };
        let parsed = match value.to_str().map(str::trim) {
            None => Err("it is not UTF-8".to_owned()),
            Some("") => return Ok(None),
            Some(text) => parse(text),
        };
        parsed.map(Some).map_err(|what| ThreadPoolBuildError::Environment { variable, what })
    }
}

/// Reads all variables as a pool does, without one: for fuzzing.
///
/// # Errors
/// The first variable with a value that is none.
#[doc(hidden)]
pub fn check_environment(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), ThreadPoolBuildError> {
    let environment = Environment(variable);
    environment.scheduler()?;
    environment.auto()?;
    environment.machine()?;
    environment.pin()?;
    environment.threads()?;
    environment.clock()?;
    environment.options(OptionChoices::default()).map(|_| ())
}

/// How many threads rayon's variables give a pool whose builder does not say, where befit stands in
/// for rayon (feature `rayon-variables`). As in rayon, no number counts as nothing, and 0 means the
/// default.
pub(crate) fn rayon_threads(variable: impl Fn(&str) -> Option<OsString>) -> Option<usize> {
    if !cfg!(feature = "rayon-variables") {
        return None;
    }
    let number = |name| variable(name)?.to_str()?.parse::<usize>().ok();
    number("RAYON_NUM_THREADS")
        .or_else(|| number("RAYON_RS_NUM_CPUS"))
        .filter(|threads| *threads > 0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn with(value: &str) -> Environment<impl Fn(&str) -> Option<OsString>> {
        Environment(move |_: &str| Some(value.into()))
    }

    fn message<T: std::fmt::Debug>(result: Result<Option<T>, ThreadPoolBuildError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn good_values_are_taken() {
        assert_eq!(with("sb-d").scheduler().unwrap(), Some(SchedulerKind::SbD));
        assert_eq!(with(" pu:3 ").machine().unwrap().unwrap().workers().len(), 3);
        assert_eq!(with("xeon-7560").machine().unwrap().unwrap().workers().len(), 32);
        assert_eq!(with("host").machine().unwrap(), None);
        assert_eq!(with("never").pin().unwrap(), Some(Pin::Never));
        assert!(["span", "phases", "trace", ""].iter().all(|text| with(text).clock().is_ok()));
        assert_eq!(with("7").threads().unwrap(), Some(7));
    }

    #[test]
    fn each_option_that_the_program_leaves_open_is_taken_from_its_variable() {
        let said: Options =
            "sigma=1,mu=0.25,counting=full,nearness=3,branching=5,boundary=7".parse().unwrap();
        for option in Options::TABLE {
            let value = option.print(&said);
            let only = Environment(|name: &str| (name == option.variable).then(|| (&value).into()));
            let mut expected = Options::default();
            option.set(&mut expected, &value).unwrap();
            assert_eq!(only.options(OptionChoices::default()).unwrap(), expected);
            // What the program has chosen counts, and nobody looks.
            let mut choices = OptionChoices::default();
            choices.choose(option.name, |_| ());
            let bad = Environment(|name: &str| (name == option.variable).then(|| "bad".into()));
            assert_eq!(bad.options(choices).unwrap(), Options::default());
            let message = bad.options(OptionChoices::default()).unwrap_err().to_string();
            assert_eq!(message, format!("{}: 'bad' is not {}", option.variable, option.range()));
        }
    }

    #[test]
    fn an_empty_variable_counts_as_none() {
        assert_eq!(with("").scheduler().unwrap(), None);
        assert_eq!(with(" ").threads().unwrap(), None);
        assert_eq!(Environment(|_: &str| None).pin().unwrap(), None);
        assert_eq!(with(" ").options(OptionChoices::default()).unwrap(), Options::default());
    }

    #[test]
    fn a_bad_value_is_an_error_that_names_the_variable_and_what_is_known() {
        let schedulers = "ws, pws, sb, sb-d, cilk-a, cats, cats-s, cab, hws, mts, \
             pdf, cpdf, central, batch, static, adws, homes, auto";
        let expected = format!("BEFIT_SCHEDULER: unknown scheduler 'cilk'; known: {schedulers}");
        assert_eq!(message(with("cilk").scheduler()), expected);
        let machine = message(with("xeon").machine());
        let expected = "BEFIT_MACHINE: unknown machine `xeon`; known are xeon-7560";
        assert!(machine.starts_with(expected), "{machine}");
        let expected = "BEFIT_PIN: unknown choice 'yes'; known: auto, always, never";
        assert_eq!(message(with("yes").pin()), expected);
        for bad in ["0", "-1", "two", "1.5"] {
            let said = message(with(bad).threads());
            assert_eq!(said, format!("BEFIT_THREADS: '{bad}' is not a whole number from 1 up"));
        }
    }

    #[test]
    fn every_variable_that_can_be_wrong_is_checked_without_a_pool() {
        let known = ["SCHEDULER", "AUTO", "MACHINE", "PIN", "THREADS", "TIMES"];
        let known = known.map(|name| format!("BEFIT_{name}"));
        let options = Options::TABLE.iter().map(|option| option.variable.to_owned());
        for variable in known.into_iter().chain(options) {
            let bad = |name: &str| (name == variable).then(|| "no such value".into());
            let said = check_environment(bad).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{variable}: ")), "{said}");
        }
        assert!(check_environment(|_| None).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_no_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt;
        let environment = Environment(|_: &str| Some(OsString::from_vec(vec![0xff])));
        assert_eq!(message(environment.scheduler()), "BEFIT_SCHEDULER: it is not UTF-8");
    }
}
