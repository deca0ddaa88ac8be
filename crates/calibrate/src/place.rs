//! Where two virtual processors are on the machine that carries them.
//!
//! The host of a virtual machine moves its processors every few seconds: onto one core, under
//! different last-level caches, and back. What passes between them tells, and then only the rounds
//! count in which they were where the system says.

/// Where two processors are that the system describes as cores under one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Two cores under that cache.
    AsDescribed,
    /// Hardware threads of one core.
    OneCore,
    /// Under no common cache.
    Apart,
}

impl Place {
    /// By the time of a load of a line that the other one has written, where a hit of the cache
    /// that both are under takes `shared` nanoseconds, and memory takes `memory`.
    pub(crate) fn of(written: f64, shared: f64, memory: f64) -> Self {
        // What another core has cannot come sooner than from the cache between them.
        if written < 0.75 * shared {
            Self::OneCore
        } else if written > (shared * memory).sqrt() {
            Self::Apart
        } else {
            Self::AsDescribed
        }
    }
}

/// Which rounds count, by where the two were, and the share of them: all, if the two were never as
/// described.
pub(crate) fn counted(places: &[Place]) -> (Vec<bool>, f64) {
    let counted: Vec<bool> = places.iter().map(|place| *place == Place::AsDescribed).collect();
    let share = counted.iter().filter(|c| **c).count() as f64 / counted.len().max(1) as f64;
    if share == 0.0 { (vec![true; counted.len()], share) } else { (counted, share) }
}

/// Of samples, of one a round, those of the rounds that count; NaN stands for one that was not had.
pub(crate) fn of_counted(samples: &[f64], counted: &[bool]) -> Vec<Option<f64>> {
    let counts = |at: usize| counted.get(at).copied().unwrap_or(true);
    let samples = samples.iter().copied().enumerate();
    samples.map(|(at, sample)| (counts(at) && !sample.is_nan()).then_some(sample)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a Zen 4, in nanoseconds.
    #[test]
    fn a_written_line_tells_whether_two_share_a_core_a_cache_or_nothing() {
        let of = |written| Place::of(written, 18.4, 187.0);
        assert_eq!([10.8, 24.5, 127.0].map(of), [Place::OneCore, Place::AsDescribed, Place::Apart]);
    }

    #[test]
    fn rounds_count_where_the_two_were_as_described_or_all_where_they_never_were() {
        let (a, b) = (Place::AsDescribed, Place::OneCore);
        assert_eq!(counted(&[a, b, a, Place::Apart]), (vec![true, false, true, false], 0.5));
        assert_eq!(counted(&[b, b]), (vec![true, true], 0.0));
    }

    #[test]
    fn a_sample_counts_with_its_own_round_though_rounds_before_it_had_none() {
        let samples = [f64::NAN, 2.0, 3.0, f64::NAN];
        assert_eq!(of_counted(&samples, &[true, false, true, true]), [None, None, Some(3.0), None]);
        assert_eq!(of_counted(&samples, &[true, false, false, true]), [None; 4]);
        assert_eq!(of_counted(&samples, &[]), [None, Some(2.0), Some(3.0), None]);
    }
}
