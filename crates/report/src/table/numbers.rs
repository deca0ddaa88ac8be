//! Numbers as people read them.

use befit_lab::Spread;

/// Shows counts in millions, all with the same number of decimals: four digits of the largest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    decimals: usize,
}

impl Scale {
    pub(crate) fn millions(values: impl Iterator<Item = u64>) -> Self {
        let largest = values.max().unwrap_or(0).max(1) as f64 / 1e6;
        Self { decimals: (3 - largest.log10().floor() as i32).clamp(0, 6) as usize }
    }

    pub(crate) fn show(self, value: u64) -> String {
        if value == 0 {
            "0".to_owned()
        } else {
            format!("{:.*}", self.decimals, value as f64 / 1e6)
        }
    }
}

/// The change from `base` to `value`, signed: `-42.1%`; `-` where there is nothing to compare with.
pub(crate) fn change(base: u64, value: u64) -> String {
    match (base, value) {
        (0, 0) => "0.0%".to_owned(),
        (0, _) => "-".to_owned(),
        _ => {
            let percent = (value as f64 / base as f64 - 1.0) * 100.0;
            // Without the sign where the rounded figure is zero: -0.0% reads like a gain.
            if percent.abs() < 0.05 { "0.0%".to_owned() } else { format!("{percent:+.1}%") }
        }
    }
}

/// Half the distance from the smallest to the largest, in percent of the median.
pub(super) fn half_range(spread: Spread<u64>) -> String {
    if spread.median == 0 {
        return if spread.max == 0 { "0.0%".to_owned() } else { "-".to_owned() };
    }
    percent((spread.max - spread.min) as f64 / 2.0 / spread.median as f64)
}

/// A share of 0 to 1 as percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_show_four_digits_of_the_largest() {
        let show = |largest: u64, value: u64| Scale::millions([largest].into_iter()).show(value);
        assert_eq!(show(47_530_000, 28_105_000), "28.11");
        assert_eq!(show(155_300_000, 9_000_000), "9.0");
        assert_eq!(show(12_300, 12_300), "0.01230");
        assert_eq!(show(3_000_000_000_000, 5_000_000), "5");
        assert_eq!(show(0, 0), "0");
    }

    #[test]
    fn a_change_has_its_sign_and_zero_has_none() {
        assert_eq!(change(100, 58), "-42.0%");
        assert_eq!(change(100, 158), "+58.0%");
        assert_eq!(change(1_000_000, 999_999), "0.0%");
        assert_eq!(change(0, 0), "0.0%");
        assert_eq!(change(0, 5), "-");
    }

    #[test]
    fn the_spread_is_half_the_range_in_percent_of_the_median() {
        assert_eq!(half_range(Spread { min: 90, median: 100, max: 120 }), "15.0%");
        assert_eq!(half_range(Spread { min: 0, median: 0, max: 0 }), "0.0%");
        assert_eq!(half_range(Spread { min: 0, median: 0, max: 3 }), "-");
    }
}
