//! From the times of random chases to capacities and latencies.

/// What a fit of one level finds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Level {
    /// Effective capacity, in bytes.
    pub capacity: f64,
    /// Nanoseconds from load to use of a hit.
    pub latency: f64,
    /// The same of what lies beyond.
    pub beyond: f64,
}

/// What lies beyond a level is slower by this factor at least, or there is no level.
const STEP: f64 = 1.05;

/// Fits a level to `points`, (bytes of the set, nanoseconds a load): of `S` bytes, those in `inner`
/// levels (capacity, latency; ascending) hit there, those up to the capacity here, the rest beyond.
/// Of the capacities on a grid between `least` and `most` the one with the smallest sum of squared
/// relative errors is returned, with the latencies that linear regression gives for it.
pub fn level(points: &[(f64, f64)], inner: &[(f64, f64)], least: f64, most: f64) -> Option<Level> {
    let mut best: Option<(f64, Level)> = None;
    let mut capacity = least;
    while capacity <= most {
        let (mut aa, mut ab, mut bb, mut at, mut bt) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let rows: Vec<_> = points
            .iter()
            .map(|&(size, time)| {
                let (mut below, mut known) = (0.0, 0.0);
                for &(c, latency) in inner {
                    let upto = f64::min(c, size);
                    known += (upto - below) / size * latency;
                    below = upto;
                }
                let here = (f64::min(capacity, size) - below).max(0.0) / size;
                let beyond = (size - capacity).max(0.0) / size;
                // Relative errors: every row is divided by its time.
                (here / time, beyond / time, 1.0 - known / time)
            })
            .collect();
        for &(a, b, t) in &rows {
            aa += a * a;
            ab += a * b;
            bb += b * b;
            at += a * t;
            bt += b * t;
        }
        let det = aa * bb - ab * ab;
        if det > 1e-9 * aa * bb {
            let (latency, beyond) = ((at * bb - bt * ab) / det, (bt * aa - at * ab) / det);
            let error: f64 =
                rows.iter().map(|(a, b, t)| (a * latency + b * beyond - t).powi(2)).sum();
            if latency > 0.0
                && beyond > STEP * latency
                && best.is_none_or(|(least, _)| error < least)
            {
                best = Some((error, Level { capacity, latency, beyond }));
            }
        }
        capacity *= 1.02;
    }
    best.map(|(_, level)| level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(size: f64) -> f64 {
        let share = |c: f64| f64::min(1.0, c / size);
        let (a, b, c) = (share(48e3), share(1e6), share(6e6));
        a * 1.2 + (b - a) * 3.7 + (c - b) * 13.0 + (1.0 - c) * 130.0
    }

    #[test]
    fn an_effective_capacity_below_the_claimed_one_is_found() {
        let points: Vec<_> =
            (0..12).map(|i| 1.5e6 * 1.5_f64.powi(i)).map(|s| (s, curve(s))).collect();
        let inner = [(48e3, 1.2), (1e6, 3.7)];
        let found = level(&points, &inner, 1e6, 64e6).unwrap();
        assert!((found.capacity / 6e6 - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.latency / 13.0 - 1.0).abs() < 0.05, "{found:?}");
        assert!((found.beyond / 130.0 - 1.0).abs() < 0.03, "{found:?}");
    }

    #[test]
    fn a_flat_curve_has_no_level() {
        let points: Vec<_> = (1..10).map(|i| (f64::from(i) * 1e6, 5.0)).collect();
        assert_eq!(level(&points, &[], 1e5, 5e5), None);
    }
}
