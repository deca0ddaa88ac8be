//! The fork-join interface that the programs are written on.
//!
//! A program is one generic function over [`Runtime`]. Each runtime gets its own copy by
//! monomorphisation, with the calls below inlined. So the timed program is the one that would be
//! written directly on that runtime.

mod befit;
mod chili;
mod kind;
mod rayon;

pub(crate) use self::{befit::Befit, chili::Chili, kind::RuntimeKind, rayon::Rayon};

use crate::program::fib_sized;

/// A pool of threads that runs fork-join programs.
pub(crate) trait Runtime {
    /// A task hands this to a fork; nothing, for runtimes that find it by a thread-local variable.
    type Context<'c>;

    /// Calls `work` inside the pool. It touches `bytes` in all; some runtimes use that.
    fn install<T: Send>(
        &self,
        bytes: Option<usize>,
        work: impl FnOnce(&mut Self::Context<'_>) -> T + Send,
    ) -> T;

    /// Runs both, maybe in parallel. Where it runs them itself, the calling thread runs `a` first.
    fn join<X: Send, Y: Send>(
        cx: &mut Self::Context<'_>,
        a: impl FnOnce(&mut Self::Context<'_>) -> X + Send,
        b: impl FnOnce(&mut Self::Context<'_>) -> Y + Send,
    ) -> (X, Y);

    /// As [`join`](Self::join), with the number of distinct bytes that each half touches; some
    /// runtimes use that.
    #[inline(always)]
    fn join_fit<X: Send, Y: Send>(
        cx: &mut Self::Context<'_>,
        (_, a): (usize, impl FnOnce(&mut Self::Context<'_>) -> X + Send),
        (_, b): (usize, impl FnOnce(&mut Self::Context<'_>) -> Y + Send),
    ) -> (X, Y) {
        Self::join(cx, a, b)
    }

    /// The `n`-th Fibonacci number in the way that costs least: by closures, if there is no other.
    fn fib_task(cx: &mut Self::Context<'_>, n: u32) -> u64
    where
        Self: Sized,
    {
        fib_sized::<Self, 0>(cx, n)
    }

    /// The sum of `term(0)`, …, `term(n - 1)`, a task each: halves, and halves of these, down to
    /// one.
    #[inline(always)]
    fn sum<F>(cx: &mut Self::Context<'_>, n: usize, term: &F) -> u64
    where
        F: Fn(&mut Self::Context<'_>, usize) -> u64 + Sync,
        Self: Sized,
    {
        if n == 0 { 0 } else { halves::<Self, F>(cx, 0, n, term) }
    }

    /// Calls `leaf(low)`, …, `leaf(high - 1)` (there is at least one), a task each. A task halves
    /// its range and spawns both halves into the one scope that ends with the last of them. A
    /// runtime without scopes forks them, and is not timed ([`RuntimeKind::check`]).
    fn spawn_tree<F: Fn(usize) + Sync>(
        cx: &mut Self::Context<'_>,
        low: usize,
        high: usize,
        leaf: &F,
    ) where
        Self: Sized,
    {
        halves::<Self, _>(cx, low, high, &|_: &mut Self::Context<'_>, i: usize| {
            leaf(i);
            0
        });
    }
}

/// Plain calls, which the compiler may inline and reorder as it likes.
pub(crate) struct Serial;

impl Runtime for Serial {
    type Context<'c> = ();

    fn install<T: Send>(&self, _: Option<usize>, work: impl FnOnce(&mut ()) -> T + Send) -> T {
        work(&mut ())
    }

    #[inline(always)]
    fn join<X: Send, Y: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> X + Send,
        b: impl FnOnce(&mut ()) -> Y + Send,
    ) -> (X, Y) {
        (a(&mut ()), b(&mut ()))
    }

    #[inline(always)]
    fn sum<F: Fn(&mut (), usize) -> u64 + Sync>(_: &mut (), n: usize, term: &F) -> u64 {
        (0..n).map(|i| term(&mut (), i)).sum()
    }
}

/// A scope that tasks are spawned into; their borrows live for `'s` at least.
trait TaskScope<'s>: Sized {
    fn spawn_task<W: FnOnce(&Self) + Send + 's>(&self, work: W);
}

/// [`Runtime::spawn_tree`] in a scope.
fn spawn_halves<'s, S, F>(s: &S, low: usize, high: usize, leaf: &'s F)
where
    S: TaskScope<'s>,
    F: Fn(usize) + Sync,
{
    if high - low == 1 {
        return leaf(low);
    }
    let middle = low + (high - low) / 2;
    s.spawn_task(move |s| spawn_halves(s, low, middle, leaf));
    s.spawn_task(move |s| spawn_halves(s, middle, high, leaf));
}

/// The sum of the terms from `low` up to, not including, `high`; there is at least one.
fn halves<R, F>(cx: &mut R::Context<'_>, low: usize, high: usize, term: &F) -> u64
where
    R: Runtime,
    F: Fn(&mut R::Context<'_>, usize) -> u64 + Sync,
{
    if high - low == 1 {
        return term(cx, low);
    }
    let middle = low + (high - low) / 2;
    let (a, b) = R::join(
        cx,
        |cx: &mut R::Context<'_>| halves::<R, F>(cx, low, middle, term),
        |cx: &mut R::Context<'_>| halves::<R, F>(cx, middle, high, term),
    );
    a + b
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use befit::SchedulerKind;

    use super::{Befit, Chili, Rayon, Runtime, Serial};

    /// The leaves of a tree of joins, in the order in which one thread comes to them.
    fn order_of_leaves<R: Runtime>(runtime: &R) -> Vec<usize> {
        fn tree<R: Runtime>(
            cx: &mut R::Context<'_>,
            from: usize,
            n: usize,
            seen: &Mutex<Vec<usize>>,
        ) {
            if n == 1 {
                return seen.lock().unwrap().push(from);
            }
            let half = n / 2;
            R::join(
                cx,
                |cx: &mut R::Context<'_>| tree::<R>(cx, from, half, seen),
                |cx: &mut R::Context<'_>| tree::<R>(cx, from + half, half, seen),
            );
        }
        let seen = Mutex::new(Vec::new());
        runtime.install(None, |cx| tree::<R>(cx, 0, 8, &seen));
        seen.into_inner().unwrap()
    }

    /// Those in C++: `tests/order.rs`.
    #[test]
    fn one_thread_runs_the_first_half_of_a_join_first_on_every_runtime() {
        let expected = Vec::from_iter(0..8);
        assert_eq!(order_of_leaves(&Serial), expected);
        assert_eq!(order_of_leaves(&Befit::new(1, SchedulerKind::Ws).unwrap()), expected);
        assert_eq!(order_of_leaves(&Befit::new(1, SchedulerKind::Sb).unwrap()), expected);
        assert_eq!(order_of_leaves(&Rayon::<false>::new(1).unwrap()), expected);
        assert_eq!(order_of_leaves(&Chili::new(1)), expected);
    }

    /// With less optimisation than befit's rayon and chili would look slow.
    #[test]
    fn regression_the_peers_are_optimised_as_befit_is() {
        let manifest = include_str!("../../../Cargo.toml");
        let profile = manifest.split_once("[profile.release.package]\n");
        let (_, profile) = profile.expect("the quickly built packages");
        let (profile, _) = profile.split_once("\n[").expect("more profiles");
        // What is set of a package, in order: TOML may have its name in quotes.
        let set = |package: &str| {
            let lines = profile.lines().filter_map(|line| {
                let line = line.trim().replace('"', "");
                let (name, setting) = line.split_once('.')?;
                (name == package).then(|| setting.split('#').next().unwrap_or("").trim().to_owned())
            });
            let mut lines: Vec<_> = lines.collect();
            lines.sort();
            lines
        };
        let peers = [
            "chili",
            "crossbeam-deque",
            "crossbeam-epoch",
            "crossbeam-utils",
            "rayon",
            "rayon-core",
        ];
        let befit = set("befit");
        assert!(!befit.is_empty());
        // What runs on each of them, and befit's policies.
        for package in peers.into_iter().chain(["peers", "befit-sched"]) {
            assert_eq!(set(package), befit, "{package} is built as befit is");
        }
        for package in ["*", "ndarray"] {
            assert!(set(package).is_empty(), "{package} is as all are");
        }
        for package in peers.into_iter().chain(["*", "ndarray", "befit"]) {
            let alone = [
                format!("[profile.release.package.{package}]"),
                format!("[profile.release.package.\"{package}\"]"),
            ];
            assert!(alone.iter().all(|table| !manifest.contains(table)), "{package} is set here");
        }
    }
}
