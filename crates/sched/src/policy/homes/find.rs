//! What a worker that looks for work takes.

use std::{
    cell::{Cell, OnceCell},
    collections::VecDeque,
    sync::atomic::Ordering::SeqCst,
    time::Duration,
};

use befit_machine::{Bytes, WorkerId};

use super::{
    Homes,
    home::{Home, Kind},
    line::{Entry, Line, Stamped, newest, oldest, stamp},
};
use crate::{
    Ask, Env, Handle, Ready, Stage, TaskInfo,
    policy::queue::{Accepts, Busy, others},
};

/// A task's data are moved twice: to the thief, and back in the next round.
pub(super) const THERE_AND_BACK: f64 = 2.0;
/// A task is taken at once if moving its data takes at most this share of the time that it is run.
const CHEAP: f64 = 0.05;
/// A worker looks at what it must pay for after this part of the time that fills a private cache.
const FIRST_LOOK: u32 = 16;

/// A worker that looks for work.
pub(super) struct Look<'a, T> {
    pub(super) w: WorkerId,
    pub(super) socket: usize,
    pub(super) accepts: Accepts<'a, Stamped<T>>,
    /// How long it has had nothing although something waited for others.
    waited: Duration,
    /// Nanoseconds; 0 where nothing tells the time.
    pub(super) now: u64,
    /// If it has left something to others, how long it must have waited to look at it again; the
    /// longest time if that is not known.
    left: Cell<Option<Duration>>,
    /// What room in its socket's cache is worth ([`Homes::has_room`]), once that is known.
    pub(super) room: OnceCell<(f64, u32)>,
}

impl<T> Look<'_, T> {
    /// Whether both have waited for so long: the worker for something, and this for a worker.
    fn has_paid(&self, ready: &Entry<T>, price: Duration) -> bool {
        self.has_waited(self.age(ready), price)
    }

    /// The same of something that has waited for `age`.
    fn has_waited(&self, age: Duration, price: Duration) -> bool {
        self.is_forced() || self.is_enough(self.waited.min(age), price)
    }

    /// Whether a wait is `enough`. If not, the worker leaves what waits to others until then.
    pub(super) fn is_enough(&self, wait: Duration, enough: Duration) -> bool {
        if wait < enough {
            self.leaves(self.waited.saturating_add(enough - wait));
        }
        wait >= enough
    }

    /// It leaves something to others until it has waited for so long.
    pub(super) fn leaves(&self, until: Duration) {
        let before = self.left.get().unwrap_or(Duration::MAX);
        self.left.set(Some(before.min(until)));
    }

    /// How long that has waited.
    pub(super) fn age(&self, ready: &Entry<T>) -> Duration {
        Duration::from_nanos(self.now.saturating_sub(ready.job.since))
    }

    /// Whether it may take nothing else, or nothing has happened for long, or nothing tells the
    /// time.
    pub(super) fn is_forced(&self) -> bool {
        self.accepts.is_some() || self.waited == Duration::MAX
    }
}

impl<T: Handle> Homes<T> {
    /// The next for `w`: its own, newest first; what was dealt to it; forks that are still being
    /// dealt out; what its neighbours have; what its socket runs together; what other sockets have.
    pub(super) fn find(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let accepted = |entry: &Stamped<T>| ask.accepts.is_none_or(|accepts| accepts(&entry.job));
        let accepts: Accepts<'_, Stamped<T>> = ask.accepts.is_some().then_some(&accepted);
        let Ready { job, task, stage } = self.find_stamped(w, accepts, ask, env)?;
        Some(Ready { job: job.job, task, stage })
    }

    fn find_stamped(
        &self,
        w: WorkerId,
        accepts: Accepts<'_, Stamped<T>>,
        ask: Ask<'_, T>,
        env: &mut dyn Env,
    ) -> Option<Entry<T>> {
        let own = &self.own[w.index()];
        let own = if ask.as_thief { own.oldest(accepts, env) } else { own.newest(accepts, env) };
        let own = own.or_else(|| self.dealt[w.index()].oldest(accepts, env));
        // What is still to be dealt out is its own as well.
        let socket = self.sockets.of(w);
        let (before, from_here) = self.upper.split_at(socket);
        let mut upper = from_here.iter().chain(before);
        let own = own.or_else(|| upper.find_map(|upper| upper.oldest(accepts, env)));
        let own = own.or_else(|| self.spread[socket].oldest(accepts, env));
        if own.is_some() || ask.own_only {
            return own;
        }
        let now = env.now();
        let waited = if ask.is_stalled() { Duration::MAX } else { self.crew.waited(w, now) };
        let (now, left) = (stamp(now), Cell::new(None));
        let look = Look { w, socket, accepts, waited, now, left, room: OnceCell::new() };
        let found = self
            .take_near(&look, env)
            .or_else(|| self.take_together(&look, env))
            .or_else(|| self.take_far(&look, env));
        if found.is_none() {
            self.crew.waits(w, look.left.get(), env);
        }
        found
    }

    /// Takes from a worker of the same socket that is busy; or that has left lying what it could
    /// have taken, as it may be held to something else.
    fn take_near(&self, look: &Look<'_, T>, env: &mut dyn Env) -> Option<Entry<T>> {
        let price = self.price(self.private);
        others(indices(self.sockets.workers(look.socket)), look.w.index(), env).find_map(|victim| {
            let busy = self.crew.is_running(victim as u32) || look.accepts.is_some();
            let price = if busy { Duration::ZERO } else { price };
            self.rob(look, victim, price, |entry| look.has_paid(entry, price), env)
        })
    }

    /// Takes from another socket what the wait has paid for, or what costs nothing to move.
    fn take_far(&self, look: &Look<'_, T>, env: &mut dyn Env) -> Option<Entry<T>> {
        let price = self.price(self.private);
        let pays =
            look.accepts.is_some() || self.crew.looks_again(look.w, look.waited, self.first_look());
        let price = if pays { price } else { Duration::MAX };
        for victim in others(0..self.sockets.count(), look.socket, env) {
            for queue in [&self.stacks[victim].waiting, &self.spread[victim]] {
                let from = WorkerId(self.sockets.workers(victim).start);
                let take = |entries: &mut VecDeque<Entry<T>>| {
                    let at = oldest(entries, look.accepts)?;
                    // What the workers of a socket run together all that are idle wait for.
                    let waiting = self.idle(look.socket).count() as u32;
                    let may = self.is_paid(look, &entries[at], waiting)
                        && self.claims_room(look, &entries[at]);
                    may.then(|| entries.remove(at))?
                };
                if let Some(ready) = self.steal(look, queue, from, price, take, env) {
                    let workers = self.workers(look.socket);
                    let here = |home: Home| self.row(home).of(workers, home.kind);
                    let before = home_of(&ready).filter(|_| self.is_wide(&ready));
                    let ready = rehome(ready, here);
                    // A socket of one worker has nobody to deal it out to.
                    if let Some(home) = before.filter(|_| !self.is_wide(&ready)) {
                        self.dealt_out(home);
                    }
                    return Some(ready);
                }
            }
        }
        let all_dealt = self.undealt.load(SeqCst) == 0;
        for victim in others(0..self.sockets.count(), look.socket, env) {
            for worker in others(indices(self.sockets.workers(victim)), usize::MAX, env) {
                let free = all_dealt && self.is_free(worker as u32);
                let unknown = self.unknown_price(worker as u32);
                let may = |ready: &Entry<T>| match self.is_wide(ready) {
                    _ if free => true,
                    // To deal it out moves none of its data.
                    true => self.pays(look, ready, Duration::ZERO),
                    false if ready.task.size == TaskInfo::UNKNOWN => look.has_paid(ready, unknown),
                    false => self.is_paid(look, ready, 1),
                };
                let price = match (free, pays) {
                    (true, _) => Duration::ZERO,
                    (_, true) => unknown,
                    (_, false) => Duration::MAX,
                };
                let found = self.rob(look, worker, price, may, env);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Takes of what waits for worker `victim` the last that was dealt to it, else its oldest fork,
    /// if it `may`. It does not look at what has waited for less than `price`.
    fn rob(
        &self,
        look: &Look<'_, T>,
        victim: usize,
        price: Duration,
        may: impl Fn(&Entry<T>) -> bool,
        env: &mut dyn Env,
    ) -> Option<Entry<T>> {
        let from = WorkerId(victim as u32);
        let dealt = |entries: &mut VecDeque<Entry<T>>| {
            let at = newest(entries, look.accepts)?;
            if may(&entries[at]) { entries.remove(at) } else { None }
        };
        let own = |entries: &mut VecDeque<Entry<T>>| {
            let at = oldest(entries, look.accepts)?;
            if may(&entries[at]) { entries.remove(at) } else { None }
        };
        let found = self.steal(look, &self.dealt[victim], from, price, dealt, env);
        let found = found.or_else(|| self.steal(look, &self.own[victim], from, price, own, env))?;
        // What is still to be dealt out stays what it is.
        let wide = self.is_wide(&found);
        Some(if wide {
            found
        } else {
            rehome(found, |home| self.row(home).at(look.w.0, Kind::Kept))
        })
    }

    /// Whether it is still to be dealt out: anybody may do that.
    fn is_wide(&self, ready: &Entry<T>) -> bool {
        ready.stage == Stage::Start
            && home_of(ready).is_some_and(|home| self.row(home).is_wide(home))
    }

    /// Takes what `take` finds in `queue`. A thief does not wait for a queue that another worker is
    /// at: where many are idle, they would all wait for one another there.
    fn steal(
        &self,
        look: &Look<'_, T>,
        queue: &Line<T>,
        victim: WorkerId,
        price: Duration,
        take: impl FnOnce(&mut VecDeque<Entry<T>>) -> Option<Entry<T>>,
        env: &mut dyn Env,
    ) -> Option<Entry<T>> {
        if queue.seems_empty() {
            return None;
        }
        if !look.has_waited(queue.age(look.now), price) {
            return None;
        }
        let found = match look.is_forced() {
            true => Ok(queue.pop(env, take)),
            false => queue.try_pop(env, take),
        };
        env.steal(victim, matches!(found, Ok(Some(_))));
        look.leaves(match found {
            Ok(Some(found)) => return Some(found),
            Ok(None) => Duration::MAX,
            // It may be the worker's at once.
            Err(Busy) => look.waited.saturating_add(self.first_look()),
        });
        None
    }

    /// Whether the worker has waited, and the task too, as long as it takes to move the task's data
    /// here and back: the rule of one who rents until the rent has cost what buying costs, and who
    /// never pays more than twice what was best (Karlin, Manasse, Rudolph & Sleator, *Competitive
    /// snoopy caching*, Algorithmica 3, 1988). Where so many wait for it, each pays its part.
    fn is_paid(&self, look: &Look<'_, T>, ready: &Entry<T>, waiting: u32) -> bool {
        let size = ready.task.size;
        let known = if size == TaskInfo::UNKNOWN { Bytes(0) } else { size };
        let price = self.price(known.min(self.caches[look.socket]));
        self.pays(look, ready, price / waiting.max(1))
    }

    /// Whether both have waited for so long, and for as long as it takes to fill a private cache.
    pub(super) fn pays(&self, look: &Look<'_, T>, ready: &Entry<T>, price: Duration) -> bool {
        look.has_paid(ready, price.max(self.price(self.private)))
    }

    /// Whether the tasks of `worker` compute so much for what they touch that it hardly matters
    /// where they run.
    fn is_free(&self, worker: u32) -> bool {
        let lines = self.crew.lines(worker);
        lines.is_some_and(|lines| lines * self.line <= CHEAP)
    }

    /// What it takes to move a task of `worker` whose size is not known. It may have as much data
    /// as fits a private cache, and loses the share of them that the worker would find again: where
    /// nothing is found again, a task is as well off elsewhere.
    fn unknown_price(&self, worker: u32) -> Duration {
        let found = self.crew.found_again(worker).unwrap_or(1.0);
        self.price(self.private).mul_f64(found).max(self.first_look())
    }

    /// How long a worker waits before it looks at what it must pay for: until it may take any.
    pub(super) fn first_look(&self) -> Duration {
        self.price(self.private) / if self.crew.counts() { FIRST_LOOK } else { 1 }
    }

    /// What it takes to move so many bytes there and back.
    pub(super) fn price(&self, bytes: Bytes) -> Duration {
        self.fetch(bytes, THERE_AND_BACK)
    }

    /// What it takes to bring in so many bytes so many times.
    pub(super) fn fetch(&self, bytes: Bytes, times: f64) -> Duration {
        Duration::from_nanos((bytes.0 as f64 * self.nanoseconds * times) as u64)
    }
}

fn indices(workers: std::ops::Range<u32>) -> std::ops::Range<usize> {
    workers.start as usize..workers.end as usize
}

pub(super) fn home_of<T>(ready: &Ready<T>) -> Option<Home> {
    Home::read(ready.task.mark)
}

/// A task that was stolen before it began is the thief's from then on.
fn rehome<T>(mut ready: Ready<T>, here: impl FnOnce(Home) -> Home) -> Ready<T> {
    if let (Stage::Start, Some(home)) = (ready.stage, home_of(&ready)) {
        ready.task.mark = here(home).word();
    }
    ready
}
