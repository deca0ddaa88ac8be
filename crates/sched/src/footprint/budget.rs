//! What deciding may cost.

/// Keeps deciding from costing more than it gains, by more than a small share of the time that tasks take.
///
/// Before each decision the window asks whether it [`may`](Self::may) be made; if not, tasks run as they came. It may as long as all that was
/// spent so far is covered by what decisions are thought to have gained, and by 1/64 of the time that tasks ran. So where tasks share
/// nothing, and nothing is gained, at most 1/64 of the time goes into finding that out; and it goes on being found out, so
/// that a program whose tasks begin to share is noticed.
///
/// All in one unit of time: cycles, say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budget {
    ran: u64,
    spent: u64,
    gained: i64,
}

impl Budget {
    /// The share of the tasks' time that may be spent in vain: one part in so many.
    pub const SHARE: u64 = 64;

    /// Whether a decision that costs `cost` may be made.
    pub fn may(&self, cost: u64) -> bool {
        let free = i128::from(self.ran / Self::SHARE);
        i128::from(self.spent) + i128::from(cost) <= free + i128::from(self.gained)
    }

    /// Tasks ran for so long.
    pub fn ran(&mut self, time: u64) {
        self.ran += time;
    }

    /// A decision cost so much, and gains so much against the order in which tasks came (may be negative).
    pub fn decided(&mut self, cost: u64, gain: i64) {
        self.spent += cost;
        self.gained = self.gained.saturating_add(gain);
    }

    /// Time that went into deciding so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_spent_is_covered_by_gains_and_a_share_of_the_time(steps in prop::collection::vec((0..10_000u64, 0..500u64, 0..400i64), 0..100)) {
            let mut budget = Budget::default();
            let (mut ran, mut gained) = (0, 0);
            for (time, cost, gain) in steps {
                if budget.may(cost) {
                    budget.decided(cost, gain);
                    gained += gain;
                }
                budget.ran(time);
                ran += time;
                prop_assert!(budget.spent() as i64 <= (ran / Budget::SHARE) as i64 + gained);
            }
        }
    }

    #[test]
    fn where_nothing_is_gained_deciding_goes_on_now_and_then() {
        let mut budget = Budget::default();
        assert!(!budget.may(1), "nothing ran yet");
        let mut decisions = 0;
        for _ in 0..1000 {
            if budget.may(100) {
                budget.decided(100, 0);
                decisions += 1;
            }
            budget.ran(640);
        }
        assert_eq!(decisions, 99);
    }
}
