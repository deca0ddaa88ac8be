//! The ways to run a task: as a plain call or, if the program gives the steps, with many in flight.

use std::future::Future;

use crate::{
    MemorySpan, Walk, WalkStep,
    flight::{fly_futures, fly_walks},
};

/// How a [`Queue`](crate::Queue) runs its tasks. The queue's constructors make the implementations;
/// there is no reason to implement it elsewhere.
pub trait Run<T>: Sync {
    /// The result of a task.
    type Output: Send;

    /// True if tasks can be in flight.
    const STEPS: bool;

    /// True if [`watched`](Self::watched) can announce spans.
    const ANNOUNCES: bool = false;

    /// Runs one task.
    fn one(&self, task: &T) -> Self::Output;

    /// Runs one task, and tells `touched` each span that it announces, if it announces any.
    fn watched(&self, task: &T, touched: &mut dyn FnMut(MemorySpan)) -> Self::Output {
        let _ = touched;
        self.one(task)
    }

    /// Runs the tasks with the numbers that `order` gives, `in_flight` at a time.
    fn many(
        &self,
        tasks: &[T],
        order: impl Iterator<Item = usize>,
        in_flight: usize,
        mut done: impl FnMut(usize, Self::Output),
    ) {
        let _ = in_flight;
        order.for_each(|i| done(i, self.one(&tasks[i])));
    }
}

/// Tasks that are plain calls.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(pub(crate) F);

impl<T, R: Send, F: Fn(&T) -> R + Sync> Run<T> for Plain<F> {
    type Output = R;
    const STEPS: bool = false;

    #[inline(always)]
    fn one(&self, task: &T) -> R {
        (self.0)(task)
    }
}

/// Tasks that are plain calls or state machines.
#[derive(Clone, Copy, Debug)]
pub struct InSteps<F, S> {
    pub(crate) call: F,
    pub(crate) start: S,
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
    const ANNOUNCES: bool = true;

    #[inline(always)]
    fn one(&self, task: &T) -> R {
        (self.call)(task)
    }

    fn watched(&self, task: &T, touched: &mut dyn FnMut(MemorySpan)) -> R {
        let mut walk = (self.start)(task);
        loop {
            match walk.step() {
                WalkStep::Next(span) => touched(span),
                WalkStep::Done(result) => return result,
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
        fly_walks(order.map(|i| (i, (self.start)(&tasks[i]))), in_flight, done);
    }
}

/// Tasks that are plain calls or coroutines.
#[derive(Clone, Copy, Debug)]
pub struct InCoroutines<F, S> {
    pub(crate) call: F,
    pub(crate) start: S,
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
        fly_futures(order.map(|i| (i, (self.start)(&tasks[i]))), in_flight, done);
    }
}
