//! Values of options, from text.

use std::num::NonZeroU32;

use befit_machine::{Machine, MachineError};

/// A machine by name, file or description.
pub(super) fn machine(text: &str) -> Result<Machine, MachineError> {
    Machine::find(text)
}

/// The same, as it was typed.
pub(super) fn machine_name(text: &str) -> Result<String, MachineError> {
    Machine::find(text).map(|_| text.to_owned())
}

/// A share: above 0 and up to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("a number above 0 and up to 1 is needed".to_owned()),
    }
}

/// A number of seeds.
pub(super) fn seeds(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| "a whole number from 1 up is needed".to_owned())
}

/// How often, or how many.
pub(super) fn repeats(text: &str) -> Result<NonZeroU32, String> {
    seeds(text)
}

/// A number of things, with `_` between digits where one likes.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    match digits.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("a whole number from 1 up is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_above_0_and_up_to_1() {
        assert_eq!(share("1"), Ok(1.0));
        assert_eq!(share("0.25"), Ok(0.25));
        for bad in ["0", "-0.5", "1.01", "NaN", "inf", "half", ""] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_may_have_underscores_and_must_not_be_zero() {
        assert_eq!(count("10_000_000"), Ok(10_000_000));
        for bad in ["0", "-1", "1e7", "", "_", "99999999999999999999"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }
}
