//! What a queue has found out.

use super::{Mode, Queue};

/// What a [`Queue`] has found out; see [`Queue::report`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The way that it runs tasks now; none while it is still looking for one.
    pub mode: Option<Mode>,
    /// Tasks of a window.
    pub window: usize,
    /// What was measured last: way, tasks of a window, nanoseconds of thread time per task, putting
    /// them in order included.
    pub costs: Vec<(Mode, usize, f64)>,
}

impl<T, R, H> Queue<T, R, H> {
    /// What it has found out; none before the first batch.
    ///
    /// ```
    /// let mut queue = befit_queue::Queue::new(|x: &u32| x + 1);
    /// assert_eq!(queue.report(), None);
    /// queue.run(&[1, 2, 3]);
    /// // Without a hint and without steps there is nothing to choose from.
    /// assert_eq!(queue.report().unwrap().mode, Some(befit_queue::Mode::Arrival));
    /// ```
    pub fn report(&self) -> Option<Report> {
        let state = self.state.as_ref()?;
        let settled = state.choice.settled();
        Some(Report {
            mode: self.mode.or(settled.map(|way| way.mode)),
            window: settled.map_or(state.window, |way| way.window),
            costs: state
                .choice
                .costs()
                .iter()
                .map(|c| (c.way.mode, c.way.window, c.nanoseconds))
                .collect(),
        })
    }
}
