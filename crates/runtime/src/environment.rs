//! What the environment says of pools whose builder says nothing.
//!
//! A variable is looked at only where the program has not decided: an explicit call on the builder
//! wins. An empty variable counts as none. The table of them is with
//! [`ThreadPoolBuilder`](crate::ThreadPoolBuilder).

use std::{ffi::OsString, str::FromStr};

use befit_machine::Machine;
use befit_sched::{Counting, SchedulerKind};

use crate::{Pin, ThreadPoolBuildError, rayon_variables};

/// Answers the values of variables: those of the process, or a test's.
pub(crate) struct Environment<L>(pub(crate) L);

/// Those of the process.
pub(crate) const PROCESS: Environment<fn(&str) -> Option<OsString>> =
    Environment(|name| std::env::var_os(name));

impl<L: Fn(&str) -> Option<OsString>> Environment<L> {
    pub(crate) fn scheduler(&self) -> Result<Option<SchedulerKind>, ThreadPoolBuildError> {
        self.value("BEFIT_SCHEDULER", |text| {
            SchedulerKind::from_str(text).map_err(|unknown| unknown.to_string())
        })
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
        Ok(said.or_else(|| rayon_variables::threads(&self.0)))
    }

    pub(crate) fn sigma(&self) -> Result<Option<f64>, ThreadPoolBuildError> {
        self.value("BEFIT_SIGMA", share)
    }

    pub(crate) fn mu(&self) -> Result<Option<f64>, ThreadPoolBuildError> {
        self.value("BEFIT_MU", share)
    }

    pub(crate) fn counting(&self) -> Result<Option<Counting>, ThreadPoolBuildError> {
        self.value("BEFIT_COUNTING", |text| {
            Counting::from_str(text).map_err(|unknown| unknown.to_string())
        })
    }

    fn value<T>(
        &self,
        variable: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
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

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("'{text}' is not a number above 0 and at most 1")),
    }
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
        assert_eq!(with("7").threads().unwrap(), Some(7));
        assert_eq!(
            (with("1").sigma().unwrap(), with("0.25").mu().unwrap()),
            (Some(1.0), Some(0.25))
        );
        assert_eq!(with("full").counting().unwrap(), Some(Counting::Full));
    }

    #[test]
    fn an_empty_variable_counts_as_none() {
        assert_eq!(with("").scheduler().unwrap(), None);
        assert_eq!(with(" ").threads().unwrap(), None);
        assert_eq!(Environment(|_: &str| None).sigma().unwrap(), None);
    }

    #[test]
    fn a_bad_value_is_an_error_that_names_the_variable_and_what_is_known() {
        assert_eq!(
            message(with("cilk").scheduler()),
            "BEFIT_SCHEDULER: unknown scheduler 'cilk'; known: ws, pws, sb, sb-d, cilk-a, cats, cats-s, cab, hws, mts"
        );
        let machine = message(with("xeon").machine());
        assert!(
            machine.starts_with("BEFIT_MACHINE: unknown machine `xeon`; known are xeon-7560"),
            "{machine}"
        );
        assert_eq!(
            message(with("yes").pin()),
            "BEFIT_PIN: unknown choice 'yes'; known: auto, always, never"
        );
        let counting = message(with("half").counting());
        assert_eq!(
            counting,
            "BEFIT_COUNTING: unknown way of counting strands 'half'; known: capped, full"
        );
        for bad in ["0", "-1", "two", "1.5"] {
            let said = message(with(bad).threads());
            assert_eq!(said, format!("BEFIT_THREADS: '{bad}' is not a whole number from 1 up"));
        }
        for bad in ["0", "1.01", "NaN", "-0.5", "half"] {
            let said = message(with(bad).sigma());
            assert_eq!(said, format!("BEFIT_SIGMA: '{bad}' is not a number above 0 and at most 1"));
            assert!(message(with(bad).mu()).starts_with("BEFIT_MU: "));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_no_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt;
        let environment = Environment(|_: &str| Some(OsString::from_vec(vec![0xff])));
        assert_eq!(message(environment.scheduler()), "BEFIT_SCHEDULER: it is not UTF-8");
    }
}
