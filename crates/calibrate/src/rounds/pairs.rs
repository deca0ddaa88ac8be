//! What passes between two cores.

use std::thread;

use befit_machine::{Level, WorkerId};

use super::Rounds;
use crate::{CalibrateError, chase, forks, pin::pin, prices};

impl Rounds {
    /// The CPU of another core under the first one's last-level cache.
    pub(super) fn near(&self) -> Option<u32> {
        self.other(true)
    }

    /// The CPU of another core than the first, under its last-level cache or under another one.
    fn other(&self, near: bool) -> Option<u32> {
        let home = self.machine.last_level(WorkerId(0));
        let mut others = self.machine.workers().iter().enumerate().skip(1).filter(|(at, w)| {
            w.core != 0 && (self.machine.last_level(WorkerId(*at as u32)) == home) == near
        });
        others.next().and_then(|(_, w)| w.os_index)
    }

    /// The claimed level of the smallest cache that the first core shares with the near one.
    pub(super) fn shared_with_near(&self) -> Option<Level> {
        let near = self.near()?;
        let near = self.machine.workers().iter().position(|w| w.os_index == Some(near))?;
        let theirs: Vec<_> = self.machine.path(WorkerId(near as u32)).collect();
        let mut mine = self.machine.path(WorkerId(0));
        let shared = mine.find(|cluster| theirs.contains(cluster))?;
        self.machine.cluster(shared).cache.map(|cache| cache.level)
    }

    /// What passes between two cores, near and far.
    pub(super) fn pairs(&mut self) -> Result<(), CalibrateError> {
        let Some(&here) = self.cpus.first() else { return Ok(()) };
        let (near, far) = (self.near(), self.other(false));
        let others: Vec<u32> = near.into_iter().chain(far).collect();
        pin(here);
        if let Some(there) = near {
            self.note("steal", prices::handed(here, there));
            self.lines_of(there, &others, ["near_clean", "near_modified"]);
            // Each round has a sample, as it is by the round that some count.
            let stolen = forks::stolen(here, there)?.unwrap_or(f64::NAN);
            self.note("stolen", stolen);
        }
        if let Some(there) = far {
            self.note("far_steal", prices::handed(here, there));
            self.lines_of(there, &others, ["far_clean", "far_modified"]);
        }
        if let Some(there) = near.or(far) {
            self.note("wake", prices::wake(here, there));
        }
        Ok(())
    }

    /// Nanoseconds of a line that only the core of CPU `there` has: one that it has read, and one
    /// that it has written. `others` are the CPUs of all cores that have had lines of the buffer.
    fn lines_of(&mut self, there: u32, others: &[u32], [clean, modified]: [&'static str; 2]) {
        // Half of its innermost cache but one; and a part that this core has not touched lately.
        let private = self.caches.get(1).or(self.caches.first()).map_or(1 << 18, |c| c.size.0);
        let bytes = (private as usize / 2).min(self.ordinary.len() / 2);
        for (what, writes) in [(clean, false), (modified, true)] {
            let [seed] = self.seeds();
            let (set, rest) = self.ordinary.split_at_mut(bytes);
            let rest = &*rest;
            // The last turn's lines leave all caches. Each core has to see to its own: what it has
            // written stays there, modified, however much another core reads.
            thread::scope(|scope| {
                for cpu in others {
                    scope.spawn(|| {
                        pin(*cpu);
                        chase::read(rest)
                    });
                }
                chase::read(rest);
            });
            thread::scope(|scope| {
                let touch = || {
                    pin(there);
                    if writes { chase::update(set) } else { chase::read(set) }
                };
                // A panic of the thread would be one of this one too.
                scope.spawn(touch);
            });
            let time = chase::each_once(set, bytes / chase::LINE / 8, seed);
            self.samples.entry(what).or_default().push(time);
        }
    }
}
