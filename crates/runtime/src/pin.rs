//! The choice whether threads are pinned; `pool::pin` acts on it, a recorded run has no threads to pin.

/// Whether a pool's threads are pinned, each to one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pin {
    /// If the pool owns its part of the machine: it runs on the detected machine, has no more threads than there are
    /// allowed CPUs, and no other pool of the process is pinned to any of the CPUs that it would take.
    #[default]
    Auto,
    /// Always, as far as the system lets it; several threads to one CPU where there are more threads than allowed CPUs.
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
