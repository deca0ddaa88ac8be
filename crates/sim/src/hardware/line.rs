//! One touch's way through the caches and the memory.

use befit_cache::{Access, Found, PrefetchPlan};
use befit_machine::{Cluster, ClusterId, Machine, WorkerId};
use befit_program::Touch;

use super::{Hardware, PAGE_LINES};
use crate::{
    account::Part,
    clock::Ticks,
    latency,
    memory::Passing,
    waits::{InFlight, Now, Reason, Waits},
};

/// What lines take that come from one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Beyond a hit in the innermost cache, which the pipeline hides: where those below are of
    /// several kinds, in the fastest.
    pub(crate) latency: Ticks,
    /// From one line of a stream to the next.
    pub(crate) stream: Ticks,
    /// The latency where another cache below this one hands the line over.
    pub(crate) transfer: Ticks,
    /// Whether it is a cache that only one core uses.
    pub(super) private: bool,
}

impl Level {
    /// By cluster; that of the root is memory.
    pub(super) fn all(machine: &Machine, flight: &InFlight, each: u64) -> Vec<Self> {
        let of = |(cluster, id): (&Cluster, ClusterId)| {
            let hidden = hidden(machine, id);
            let beyond = |cycles: u64| Ticks::cycles(cycles.saturating_sub(hidden) * each);
            let (cache, latency) = (cluster.cache, beyond(latency(machine, id)));
            let stream = cache.and_then(|cache| cache.stream);
            Self {
                stream: stream.map_or(flight.a_stream(latency), |cycles| {
                    Ticks::fractional(cycles * each as f64)
                }),
                transfer: beyond(cache.map_or(0, |c| c.transfer.unwrap_or(c.latency).0)),
                private: cache.is_some() && is_one_cores(machine, cluster),
                latency,
            }
        };
        machine.clusters().iter().zip((0..).map(ClusterId)).map(of).collect()
    }

    /// Another last-level cache.
    pub(super) fn remote(flight: &InFlight, latency: Ticks) -> Self {
        let stream = flight.a_stream(latency);
        Self { latency, stream, transfer: latency, private: false }
    }

    /// Whether hits there cost nothing beside the operations.
    #[inline]
    pub(crate) fn is_nearest(&self) -> bool {
        self.latency == Ticks::default()
    }
}

/// The latency of the innermost caches of `cluster`, of the fastest of them: the pipeline hides it.
pub(super) fn hidden(machine: &Machine, cluster: ClusterId) -> u64 {
    let workers = machine.cluster(cluster).workers.clone().map(WorkerId);
    let innermost = workers.filter_map(|w| machine.path(w).next());
    let latencies = innermost.filter_map(|c| machine.cluster(c).cache).map(|c| c.latency.0);
    latencies.min().unwrap_or(0)
}

/// Whether all workers under the cluster are hardware threads of one core.
fn is_one_cores(machine: &Machine, cluster: &Cluster) -> bool {
    let workers = &machine.workers()[cluster.workers.start as usize..cluster.workers.end as usize];
    workers.iter().all(|worker| worker.core == workers[0].core)
}

/// A line that is not at hand, on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Its number.
    pub(crate) line: u32,
    /// When the wires have passed it on.
    pub(crate) passed: Ticks,
    /// How long it takes from then on.
    pub(crate) latency: Ticks,
    /// What finding its page takes before that.
    pub(crate) walk: Ticks,
    /// How long after the line before it comes, as one of a stream.
    pub(crate) stream: Ticks,
    /// What the first touch of its page takes, during which the core does nothing else.
    pub(crate) fault: Ticks,
    /// Where it came from, or why that is far.
    pub(crate) part: Part,
    /// It is an atomic read-modify-write's, which waits for it: when the worker has it.
    pub(crate) taken: Option<Ticks>,
    /// Prefetchers saw it coming.
    pub(crate) followed: bool,
}

impl Hardware {
    /// One touch by `worker`, as planned, at `now`: the caches take it, and `waits` has the line in
    /// flight, of which so many are at once. Returns the wait.
    #[inline(always)]
    pub(crate) fn touch(
        &mut self,
        worker: WorkerId,
        waits: &mut Waits,
        flight: &InFlight,
        now: Now,
        plan: &PrefetchPlan,
        touch: Touch,
    ) -> Ticks {
        let line = self.planned(worker, plan, touch);
        let access = self.caches.access_planned(plan);
        if self.is_at_hand(line, &access) {
            waits.at_hand(touch);
            return Ticks::default();
        }
        let passing = Passing { place: self.place(line), single: false, now: now.clock };
        let line = self.found(worker, touch, line, access, passing);
        let wait = waits.line(flight, now, touch, &line);
        self.charge_line(worker, wait, &waits.waited, line.fault)
    }

    /// The same for one of the hot lines, of which so many are in flight; `None` for others.
    pub(crate) fn touch_hot(
        &mut self,
        worker: WorkerId,
        flight: &InFlight,
        now: Now,
        plan: &PrefetchPlan,
        touch: Touch,
    ) -> Option<Ticks> {
        let hot = self.hot.as_mut()?;
        let number = hot.number(touch)?;
        let access = hot.caches.access_planned(plan);
        let passing = Passing { place: hot.place(number), single: true, now: now.clock };
        let line = self.found(worker, touch, touch.line, access, passing);
        let (latency, stream) = (self.one(line.latency), self.one(line.stream));
        let line = Line { latency, stream, ..line };
        let waits = &mut self.hot.as_mut()?.waits[worker.index()];
        let (wait, reason) = (waits.line(flight, now, touch, &line), waits.waited);
        Some(self.charge_line(worker, wait, &reason, line.fault))
    }

    /// Whether the line is in the innermost cache, with nothing to wait for, to count or to charge.
    #[inline(always)]
    fn is_at_hand(&self, line: u32, access: &Access) -> bool {
        let Found::Own(cluster) = access.found else { return false };
        let level = self.level(cluster);
        level.is_nearest()
            && level.private
            && !access.invalidated
            && access.written_back == 0
            && self.booking.is_none()
            && !self.atomics.has(line)
    }

    /// Charges the wait for a line and the first touch of its page. Returns both.
    #[inline(always)]
    fn charge_line(
        &mut self,
        worker: WorkerId,
        wait: Ticks,
        reason: &Reason,
        fault: Ticks,
    ) -> Ticks {
        self.charge(worker, wait, reason);
        self.charge(worker, fault, &Reason { part: Part::Faults, ..Reason::default() });
        wait + fault
    }

    /// What a touch finds that the caches have given this `access`, and which sets out as `passing`
    /// says where the line comes from afar.
    #[inline(always)]
    fn found(
        &mut self,
        worker: WorkerId,
        touch: Touch,
        line: u32,
        access: Access,
        passing: Passing,
    ) -> Line {
        let Passing { place, single, now } = passing;
        let each = if single { 1 } else { self.each };
        let part = self.part(worker, touch, line, &access);
        self.count(worker, access.found, each);
        if self.booking.is_some() {
            self.book(worker, touch, &access, part);
        }
        let no = Ticks::default();
        let (passed, latency, stream, fault) = match access.found {
            Found::Own(cluster) => {
                let Level { latency, stream, .. } = *self.level(cluster);
                (now, latency, stream, no)
            }
            Found::Sibling(cluster) => {
                let Level { transfer, stream, .. } = *self.level(cluster);
                (now, transfer, stream, no)
            }
            Found::Remote { .. } | Found::Memory => {
                let (supplier, Level { latency, stream, .. }) =
                    self.source_of(worker, access.found, each);
                let passed = self.pass(worker, supplier, passing);
                let fault = match access.found {
                    Found::Memory => self.first_touch(line, place),
                    _ => no,
                };
                (passed, latency, stream, fault)
            }
        };
        // The worker waits for the line, not for what makes room for it.
        self.write_back(worker, &access, passing);
        let followed = if !single && latency != no {
            self.is_followed(worker, touch, line)
        } else {
            touch.streaming
        };
        let walk = if self.tlbs.is_some() && !single && latency != no {
            self.walk_to(worker, line, followed, passing)
        } else {
            no
        };
        let taken = if self.atomics.has(line) {
            self.taken(worker, touch, line, &access, passed + walk, latency)
        } else {
            None
        };
        let part = match taken {
            Some((_, true)) => Part::Handovers,
            _ => part,
        };
        let taken = taken.map(|(when, _)| when);
        Line { line, passed, latency, walk, stream, fault, part, taken, followed }
    }

    /// From where a line comes that no cache above `worker` and none beside has: another last-level
    /// cache, if one supplies it, or memory. It is counted, for as many as it stands for.
    #[inline(always)]
    pub(crate) fn source_of(
        &mut self,
        worker: WorkerId,
        found: Found,
        each: u64,
    ) -> (Option<ClusterId>, Level) {
        match found {
            Found::Remote { from, modified } if modified || !self.clean_from_memory => {
                let far = self.memory.is_far(worker, from);
                self.far_lines += u64::from(far) * each;
                (Some(from), if far { self.far } else { self.remote })
            }
            _ => {
                self.clean_lines += u64::from(found != Found::Memory) * each;
                (None, *self.level(ClusterId::ROOT))
            }
        }
    }

    /// Such a line takes its turn on all wires. Returns when they have passed it on.
    #[inline(always)]
    pub(crate) fn pass(
        &mut self,
        worker: WorkerId,
        supplier: Option<ClusterId>,
        passing: Passing,
    ) -> Ticks {
        match supplier {
            Some(from) => self.memory.supply(worker, from, passing),
            None => self.memory.read(worker, passing),
        }
    }

    /// `worker` touches a line of atomics, which sets out when the wires have `passed` it on, and
    /// its page is found. If its core waits for the line until it has it: until when, and whether
    /// another worker has used it before.
    #[cold]
    fn taken(
        &mut self,
        worker: WorkerId,
        touch: Touch,
        line: u32,
        access: &Access,
        passed: Ticks,
        latency: Ticks,
    ) -> Option<(Ticks, bool)> {
        self.atomics.note(worker, line);
        if !self.awaits(touch, line, access) {
            return None;
        }
        let own = matches!(access.found, Found::Own(cluster) if self.level(cluster).private);
        // Of a sample they are hot lines, each of which stands for itself only.
        let latency = self.one(latency);
        let from = self.atomics.common(worker, line);
        let way = from.map_or(latency, |(cluster, other)| {
            let way = if own { self.handover(worker, other, cluster) } else { latency };
            way.max(self.atomics.handed(cluster))
        });
        Some((self.atomics.take(line, passed, way), from.is_some()))
    }

    /// Whether the touch is an atomic read-modify-write for which the core waits until it has the
    /// line: one that others have, or that is not in the core's own caches.
    pub(crate) fn awaits(&self, touch: Touch, line: u32, access: &Access) -> bool {
        let own = matches!(access.found, Found::Own(cluster) if self.level(cluster).private);
        touch.write && (access.invalidated || !own) && self.atomics.has(line)
    }

    /// How long one line is on its way to `worker` that `other` has written, whatever the lines of
    /// a sample stand for. `common` is the smallest cluster of both.
    pub(crate) fn handover(&self, worker: WorkerId, other: WorkerId, common: ClusterId) -> Ticks {
        self.one(match common {
            ClusterId::ROOT if self.memory.are_far(worker, other) => self.far.latency,
            ClusterId::ROOT => self.remote.latency,
            cluster => self.level(cluster).transfer,
        })
    }

    /// Of the time of all lines that one of a sample stands for, that of one.
    fn one(&self, time: Ticks) -> Ticks {
        Ticks(time.0 / self.each)
    }

    /// What it costs that `line`, of this machine and at `place`, comes from memory for the first
    /// time.
    fn first_touch(&mut self, line: u32, place: u64) -> Ticks {
        let page = (place << self.longer) / u64::from(PAGE_LINES);
        match self.touched.get_mut(page as usize / 64) {
            Some(pages) if line < self.shared_lines && *pages >> (page % 64) & 1 == 0 => {
                *pages |= 1 << (page % 64);
                self.fault
            }
            _ => Ticks::default(),
        }
    }

    /// Dirty lines go to memory because of an access.
    #[inline(always)]
    pub(super) fn write_back(&mut self, worker: WorkerId, access: &Access, passing: Passing) {
        let mut victims = access.written_back;
        if victims == 0 {
            return;
        }
        if let Found::Remote { from, modified: true } = access.found
            && !access.invalidated
        {
            // Both have it from now on, and memory has it, too.
            victims -= 1;
            self.memory.write_shared(worker, from, passing);
        }
        for _ in 0..victims {
            self.memory.write_back(worker, passing);
        }
    }

    /// What it takes to find the page of a line that is not in the innermost cache.
    fn walk_to(&mut self, worker: WorkerId, line: u32, followed: bool, passing: Passing) -> Ticks {
        let Some(walk) = self.walk(worker, line) else { return Ticks::default() };
        for _ in 0..walk.written_back {
            self.memory.write_back(worker, passing);
        }
        if followed {
            return Ticks::default();
        }
        let from_memory = (0..walk.from_memory).map(|_| None);
        let suppliers = walk.suppliers.into_iter().filter(Option::is_some).chain(from_memory);
        let passed = suppliers.map(|supplier| self.pass(worker, supplier, passing)).max();
        walk.time + passed.map_or(Ticks::default(), |passed| passed.since(passing.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::program;

    #[test]
    fn what_leaves_a_cache_for_page_tables_takes_its_turn_on_the_wires() {
        let program = program(|b| b.touch(0, true, false));
        // A cache of one line, which takes a cycle on the controller's wire.
        let machine = "(tlb=64 walk=100 latency=500 bandwidth=64) l1:1(size=64 latency=4) pu:1";
        let machine = machine.parse().unwrap();
        let worker = WorkerId(0);
        let passing = Passing { place: 0, single: false, now: Ticks(0) };
        for (followed, [walk, next]) in [(false, [597, 2]), (true, [0, 1])] {
            let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
            let _ = hardware.caches.access(worker, 0, true);
            let time = hardware.walk_to(worker, 0, followed, passing);
            assert_eq!(hardware.memory_writes().0, 1);
            let next_passes = hardware.memory.read(worker, passing);
            assert_eq!([time, next_passes].map(|time| time.whole().0), [walk, next]);
        }
    }
}
