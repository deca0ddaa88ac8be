//! Runs the `befit` binary as people and scripts do.

mod common;
mod end_to_end;
mod errors;
mod footprint;
mod help;
mod rayon;
mod run;
mod sim;
mod tiers;
