//! What scheduling and page faults cost.

/// What scheduling and page faults cost, in cycles of the machine's fastest core.
///
/// `befit calibrate` measures them; a synthetic string gives them as attributes of the same names
/// (`far-steal=` with a hyphen).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prices {
    /// A fork that is inlined: two calls.
    pub inlined: f64,
    /// A pending fork that nobody takes: made and popped.
    pub pending: f64,
    /// Beyond that, one that is timed, as a region begins at it.
    pub region: f64,
    /// Beyond a pending fork, one that is published and comes back: with two calls of the policy
    /// and their locks.
    pub published: f64,
    /// What a fork takes beyond its longer half if a worker under the same last-level cache, which
    /// looked for work, runs the other: all that has to pass between the two.
    pub stolen: f64,
    /// A spawned task, of thousands that wait: its memory, made and given back, beyond the calls of
    /// the policy and their locks.
    pub spawn: f64,
    /// A task's first memory, beyond that: it is paid for each task that waits beside more than
    /// ever waited before.
    pub job: f64,
    /// One call of the policy, without its locks and steals.
    pub call: f64,
    /// Taking and giving back a lock that is free.
    pub lock: f64,
    /// Looking into a queue of a worker under the same last-level cache.
    pub steal: f64,
    /// Looking into a queue of any other worker.
    pub far_steal: f64,
    /// How often an idle worker looks for work.
    pub poll: f64,
    /// Waking a worker that sleeps.
    pub wake: f64,
    /// The first touch of a page that the system must provide.
    pub fault: f64,
}

impl Prices {
    /// Their names in a synthetic string, with the prices, in the order of the fields.
    pub fn table(&self) -> [(&'static str, f64); 14] {
        let mut copy = *self;
        copy.named().map(|(name, price)| (name, *price))
    }

    /// The same, to be changed.
    pub(crate) fn named(&mut self) -> [(&'static str, &mut f64); 14] {
        let Self {
            inlined,
            pending,
            region,
            published,
            stolen,
            spawn,
            job,
            call,
            lock,
            steal,
            far_steal,
            poll,
            wake,
            fault,
        } = self;
        [
            ("inlined", inlined),
            ("pending", pending),
            ("region", region),
            ("published", published),
            ("stolen", stolen),
            ("spawn", spawn),
            ("job", job),
            ("call", call),
            ("lock", lock),
            ("steal", steal),
            ("far-steal", far_steal),
            ("poll", poll),
            ("wake", wake),
            ("fault", fault),
        ]
    }
}
