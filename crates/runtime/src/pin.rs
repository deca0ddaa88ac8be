//! The choice whether threads are pinned; `pool::pin` acts on it, a recorded run has no threads to
//! pin.

/// Whether a pool's threads are pinned, each to one CPU.
///
/// A pinned thread waits while another program has its CPU, where one that is not moves to a free
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pin {
    /// If the pool has the machine to itself as far as it can tell: it runs on the detected
    /// machine, has a thread for each allowed CPU, and no other pool of the process is pinned.
    Auto,
    /// Always, as far as the system lets it; several threads to one CPU where there are more
    /// threads than allowed CPUs.
    Always,
    /// Never: the system moves threads as it likes.
    Never,
}

impl From<bool> for Pin {
    /// `true` is [`Pin::Always`], `false` is [`Pin::Never`].
    fn from(pin: bool) -> Self {
        if pin { Self::Always } else { Self::Never }
    }
}
