//! Tests of the public interface on real threads.

mod broadcast;
mod ends;
mod forks;
mod join_context;
mod loops;
mod pools;
mod scope_credits;
mod scope_fifo;
mod scope_in_place;
mod scopes;
mod tasks;
mod threads;
mod yields;
