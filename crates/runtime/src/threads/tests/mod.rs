//! Tests of the public interface on real threads.

mod broadcast;
mod callbacks;
mod calls;
mod forks;
mod loops;
mod numbers;
mod outside;
mod pools;
mod refusals;
mod scope_in_place;
mod scopes;
mod sizes;
mod tasks;
mod threads;
mod yields;
