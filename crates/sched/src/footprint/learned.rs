//! Affinities that are learned while tasks run, per pair of classes.

/// How quickly older measurements are forgotten: each new one has this weight against the mean so
/// far, as a power of two.
const WEIGHT: u32 = 3;
/// Fractions of a frame that means are kept in.
const SCALE: i64 = 256;

/// The mean affinity of each ordered pair of classes, as measured so far.
///
/// A class is what tells tasks apart at a glance: the kind of task, the block that it works on,
/// some leading bits of a key. Of a pair that has not been seen yet nothing is known and its
/// affinity is 0, so that it is neither sought nor shunned.
#[derive(Clone, Debug)]
pub struct Learned {
    /// Per previous class and per next one, 256ths of a frame; none before the first measurement.
    means: Vec<Vec<Option<i64>>>,
}

impl Learned {
    /// Nothing known of so many classes. O(classes²) memory.
    pub fn new(classes: usize) -> Self {
        Self { means: vec![vec![None; classes]; classes] }
    }

    /// A task of class `next` ran right after one of class `previous`, with this affinity, in
    /// frames. The first measurement counts in full, each later one with weight 1/8. Classes that
    /// do not exist are ignored. O(1).
    pub fn note(&mut self, previous: usize, next: usize, affinity: i64) {
        if let Some(mean) = self.means.get_mut(previous).and_then(|row| row.get_mut(next)) {
            let measured = affinity.saturating_mul(SCALE);
            let old = mean.unwrap_or(measured);
            *mean = Some(old + ((measured - old) >> WEIGHT));
        }
    }

    /// The mean affinity so far, in frames; 0 for a pair that was not seen yet. O(1).
    pub fn affinity(&self, previous: usize, next: usize) -> i64 {
        let mean = self.means.get(previous).and_then(|row| *row.get(next)?);
        mean.map_or(0, |mean| mean / SCALE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_again_and_again_is_what_is_known() {
        let mut learned = Learned::new(3);
        assert_eq!(learned.affinity(1, 2), 0);
        learned.note(1, 2, -40);
        assert_eq!((learned.affinity(1, 2), learned.affinity(2, 1)), (-40, 0));
        assert_eq!(learned.means.iter().flatten().flatten().count(), 1);
        learned.note(1, 2, 40);
        assert_eq!(learned.affinity(1, 2), -40 + (40 + 40) / 8, "a later one has an eighth");
        (0..100).for_each(|_| learned.note(1, 2, 200));
        assert!((198..=200).contains(&learned.affinity(1, 2)), "{}", learned.affinity(1, 2));
    }

    #[test]
    fn a_class_that_does_not_exist_is_ignored() {
        let mut learned = Learned::new(2);
        learned.note(2, 0, 5);
        learned.note(0, 2, 5);
        assert_eq!((learned.affinity(2, 0), learned.affinity(0, 2)), (0, 0));
        assert_eq!(learned.means.iter().flatten().flatten().count(), 0);
    }
}
