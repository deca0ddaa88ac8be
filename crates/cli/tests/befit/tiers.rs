//! Schedulers with two tiers cut a program alike on real threads, by declared sizes, and in the
//! simulator, by what its caches count.

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{SchedulerKind, Tiers};
use befit_sim::Settings;
use serde_json::Value;

use crate::{MACHINE, befit, command, printed, report, words};

/// 1.5 MiB of data for heat, half for sor. The sizes lie well between the machine's shared cache
/// and halves of it, so that no scheduler cuts differently because of a few lines.
const ROWS: &str = "192";

fn simulated(program: &Program, scheduler: SchedulerKind) -> Tiers {
    let machine: Machine = MACHINE.parse().unwrap();
    let settings = Settings::new(scheduler, 1);
    let outcome = befit_sim::run(program, &machine, &settings, &|_| {}).unwrap();
    outcome.tiers.unwrap_or_else(|| panic!("{scheduler} has tiers"))
}

/// `tiers` of what `befit run` says, a row for each of `schedulers`. Some threads may be too slow
/// to start to be there when the program is cut: then it is run again.
fn native(kernel: &str, schedulers: &[SchedulerKind]) -> Vec<Value> {
    let names: Vec<_> = schedulers.iter().map(|scheduler| scheduler.name()).collect();
    let names = names.join(",");
    let line = format!("run {kernel} --n {ROWS} --sched {names} --threads 4 --repeats 1");
    for _ in 0..10 {
        let arguments = words(&line, &["--machine", MACHINE, "--format", "json"]);
        let (_, results) = report(&befit(&arguments));
        let tiers: Vec<_> = results.iter().map(|row| row["tiers"].clone()).collect();
        if tiers.iter().all(|tiers| tiers["partitions"]["median"].as_u64() > Some(0)) {
            return tiers;
        }
    }
    panic!("{kernel} is never cut");
}

#[test]
fn threads_cut_a_program_as_the_simulator_foretells() {
    let folder = tempfile::tempdir().unwrap();
    let schedulers = [SchedulerKind::Cats, SchedulerKind::CatsS];
    for (kernel, expected) in [("heat:iterations=60", [8, 16]), ("sor-ub:iterations=60", [8, 8])] {
        let file = folder.path().join("recording.befit");
        // Without work, which differs from machine to machine, the simulation is the same on all.
        let path = file.to_str().unwrap();
        let record = ["record", kernel, "--n", ROWS, "--no-work", "-o", path];
        printed(&command(&record).env("BEFIT_CACHE", folder.path()).output().unwrap());
        let program = Program::load(&file).unwrap();
        for ((scheduler, threads), expected) in
            schedulers.into_iter().zip(native(kernel, &schedulers)).zip(expected)
        {
            let foretold = simulated(&program, scheduler);
            println!("{kernel} {scheduler}\n  simulated: {foretold:?}\n  on threads: {threads}");
            let figure = |name: &str| threads[name]["median"].as_u64().unwrap();
            assert_eq!(threads["source"], "declared sizes");
            assert_eq!(
                figure("subtrees"),
                foretold.subtrees.len() as u64,
                "{kernel} under {scheduler}"
            );
            assert_eq!(figure("subtrees"), expected, "{kernel} under {scheduler}");
            assert_eq!(figure("inter"), foretold.inter, "{kernel} under {scheduler}");
            let near = |what: &str, threads: u64, foretold: u64| {
                let off = threads.abs_diff(foretold) as f64 / foretold as f64;
                assert!(
                    off < 0.2,
                    "{what} of {kernel} under {scheduler}: {threads} against {foretold}"
                );
            };
            near("one iteration", figure("root_bytes"), foretold.root.0);
            near(
                "the largest",
                figure("largest_bytes"),
                foretold.subtrees.iter().map(|s| s.soid.0).max().unwrap(),
            );
        }
    }
}
