//! Looking for work because user code says so.

use super::Worker;
use crate::{Yield, threads::engine::NoUnwind};

impl Worker {
    /// Runs one job, if there is one, within a job. `own`: only what this worker would find without
    /// stealing.
    pub(crate) fn run_one(&self, own: bool) -> Yield {
        // Others may come to hold pointers into this stack.
        let no_unwind = NoUnwind;
        self.inlined_regions.waits();
        self.suspend();
        // The open forks of the running task are ready, too. This thread may be the only one that
        // can run them.
        while self.handler.get().is_none() && self.publish_oldest() {}
        let get = || if own { self.get_own() } else { self.get(None) };
        let found = self.mail_after_own(None).or_else(get);
        let answer = if found.is_some() { Yield::Executed } else { Yield::Idle };
        if let Some(ready) = found {
            self.execute(&ready);
            self.return_credits();
        }
        self.resume();
        no_unwind.over();
        answer
    }

    /// Whether there seems to be work that this worker would find without stealing.
    pub(crate) fn has_own_work(&self) -> bool {
        self.forks.has_private()
            || self.registry.mailbox(self.thread).has_mail()
            || self.engine().has_own(self.id)
    }
}
