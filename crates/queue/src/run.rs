//! How a task is run: as a plain call, and, where the program says how, in steps of which many are
//! in flight.

use std::future::Future;

use crate::{
    Step, Touch, Walk,
    flight::{Polling, Slot, Stepping, fly},
};

/// What a [`Queue`](super::Queue) knows of how to run its tasks. Implemented by what its
/// constructors make; there is no reason to implement it elsewhere.
pub trait Run<T>: Sync {
    /// What a task answers.
    type Output: Send;

    /// Whether tasks can be in flight.
    const STEPS: bool;

    /// Runs one task.
    fn one(&self, task: &T) -> Self::Output;

    /// Runs one task, and tells `touched` what it announces to touch, if it does.
    fn watched(&self, task: &T, touched: &mut dyn FnMut(Touch)) -> Self::Output {
        let _ = touched;
        self.one(task)
    }

    /// Runs the tasks with the numbers that `order` gives, `in_flight` at a time.
    fn many(
        &self,
        tasks: &[T],
        order: impl Iterator<Item = usize>,
        in_flight: usize,
        done: impl FnMut(usize, Self::Output),
    );
}

/// Tasks that are plain calls.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(pub(super) F);

impl<T, R: Send, F: Fn(&T) -> R + Sync> Run<T> for Plain<F> {
    type Output = R;
    const STEPS: bool = false;

    #[inline(always)]
    fn one(&self, task: &T) -> R {
        (self.0)(task)
    }

    fn many(
        &self,
        tasks: &[T],
        order: impl Iterator<Item = usize>,
        _: usize,
        mut done: impl FnMut(usize, R),
    ) {
        order.for_each(|i| done(i, self.one(&tasks[i])));
    }
}

/// Tasks that are plain calls or state machines.
#[derive(Clone, Copy, Debug)]
pub struct InSteps<F, S> {
    pub(super) call: F,
    pub(super) start: S,
}

impl<T, R, F, S, W> Run<T> for InSteps<F, S>
where
    R: Send,
    F: Fn(&T) -> R + Sync,
    S: Fn(&T) -> W + Sync,
    W: Walk<Output = R>,
{
    type Output = R;
    const STEPS: bool = true;

    #[inline(always)]
    fn one(&self, task: &T) -> R {
        (self.call)(task)
    }

    fn watched(&self, task: &T, touched: &mut dyn FnMut(Touch)) -> R {
        let mut walk = (self.start)(task);
        loop {
            match walk.step() {
                Step::Next(place) => touched(place),
                Step::Done(answer) => return answer,
            }
        }
    }

    fn many(
        &self,
        tasks: &[T],
        order: impl Iterator<Item = usize>,
        in_flight: usize,
        done: impl FnMut(usize, R),
    ) {
        start::<T, Stepping<W>>(tasks, order, in_flight, &self.start, done);
    }
}

/// Tasks that are plain calls or coroutines.
#[derive(Clone, Copy, Debug)]
pub struct InCoroutines<F, S> {
    pub(super) call: F,
    pub(super) start: S,
}

impl<T, R, F, S, A> Run<T> for InCoroutines<F, S>
where
    R: Send,
    F: Fn(&T) -> R + Sync,
    S: Fn(&T) -> A + Sync,
    A: Future<Output = R>,
{
    type Output = R;
    const STEPS: bool = true;

    #[inline(always)]
    fn one(&self, task: &T) -> R {
        (self.call)(task)
    }

    fn many(
        &self,
        tasks: &[T],
        order: impl Iterator<Item = usize>,
        in_flight: usize,
        done: impl FnMut(usize, R),
    ) {
        start::<T, Polling<A>>(tasks, order, in_flight, &self.start, done);
    }
}

#[inline(always)]
fn start<T, S: Slot>(
    tasks: &[T],
    order: impl Iterator<Item = usize>,
    in_flight: usize,
    start: &impl Fn(&T) -> S::Task,
    mut done: impl FnMut(usize, S::Output),
) {
    fly::<S, usize>(order.map(|i| (i, start(&tasks[i]))), in_flight, &mut done);
}
