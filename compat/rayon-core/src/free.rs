//! The functions, with rayon's type parameters: programs may name them.

use befit::{BroadcastContext, FnContext, Scope, ScopeFifo};

/// Runs both, maybe in parallel; see [`befit::join`].
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    befit::join(oper_a, oper_b)
}

/// As [`join`]; each is told whether it runs on another thread. See [`befit::join_context`].
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    befit::join_context(oper_a, oper_b)
}

/// Runs `op`, and returns when all that it has spawned has ended; see [`befit::scope()`].
pub fn scope<'scope, OP: FnOnce(&Scope<'scope>) -> R + Send, R: Send>(op: OP) -> R {
    befit::scope(op)
}

/// As [`scope()`]; what one thread spawns starts in that order. See [`befit::scope_fifo`].
pub fn scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R + Send, R: Send>(op: OP) -> R {
    befit::scope_fifo(op)
}

/// As [`scope()`], but `op` runs on the calling thread, in a pool or not. See
/// [`befit::in_place_scope`].
pub fn in_place_scope<'scope, OP: FnOnce(&Scope<'scope>) -> R, R>(op: OP) -> R {
    befit::in_place_scope(op)
}

/// As [`scope_fifo`], but `op` runs on the calling thread, in a pool or not. See
/// [`befit::in_place_scope_fifo`].
pub fn in_place_scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R, R>(op: OP) -> R {
    befit::in_place_scope_fifo(op)
}

/// Starts `func`, and returns at once; see [`befit::spawn()`].
pub fn spawn<F: FnOnce() + Send + 'static>(func: F) {
    befit::spawn(func);
}

/// As [`spawn()`]; what one thread spawns starts in that order. See [`befit::spawn_fifo`].
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(func: F) {
    befit::spawn_fifo(func);
}

/// Runs `op` once on each thread of the pool; see [`befit::broadcast`].
pub fn broadcast<OP: Fn(BroadcastContext<'_>) -> R + Sync, R: Send>(op: OP) -> Vec<R> {
    befit::broadcast(op)
}

/// As [`broadcast`], but returns at once; see [`befit::spawn_broadcast`].
pub fn spawn_broadcast<OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static>(op: OP) {
    befit::spawn_broadcast(op);
}
