use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use super::{W, env, task, two_sockets};
use crate::{Env, LockId, Scheduler, policy::WorkStealing};

#[test]
fn a_worker_takes_its_newest_and_a_thief_its_victims_oldest() {
    let ws = WorkStealing::<u32>::uniform(&two_sockets());
    for job in 0..3 {
        ws.add(W[0], task(job, Bytes(1)), &mut env());
    }
    assert_eq!(ws.get(W[0], &mut env()).map(|r| r.job), Some(2));
    assert_eq!(ws.get(W[3], &mut env()).map(|r| r.job), Some(0));
    assert_eq!(ws.get(W[1], &mut env()).map(|r| r.job), Some(1));
    assert_eq!(ws.get(W[1], &mut env()), None);
}

#[test]
fn what_a_worker_has_of_its_own_is_found_without_stealing() {
    let ws = WorkStealing::<u32>::uniform(&two_sockets());
    ws.add(W[0], task(1, Bytes(1)), &mut env());
    assert_eq!((ws.has_own(W[0]), ws.has_own(W[1])), (true, false));
    assert_eq!(ws.get_own(W[1], ClusterId::ROOT, &mut env()), None);
    assert_eq!(ws.get_own(W[0], ClusterId::ROOT, &mut env()).map(|r| r.job), Some(1));
    assert!(!ws.has_own(W[0]));
}

#[test]
fn a_thief_finds_work_wherever_it_is() {
    for nearness in [1, 10] {
        let pws = WorkStealing::<u32>::priority(&two_sockets(), nearness);
        for (victim, thief) in W.iter().flat_map(|v| W.iter().map(move |t| (*v, *t))) {
            pws.add(victim, task(1, Bytes(1)), &mut env());
            assert!(pws.get(thief, &mut env()).is_some(), "{thief:?} finds what {victim:?} has");
        }
    }
}

/// Records which victim was looked at first.
struct FirstVictim(fastrand::Rng, Option<WorkerId>);

impl Env for FirstVictim {
    fn random(&mut self, bound: u32) -> u32 {
        self.0.u32(..bound)
    }
    fn acquire(&mut self, _: LockId) {}
    fn release(&mut self, _: LockId) {}
    fn steal(&mut self, victim: WorkerId, _: bool) {
        self.1.get_or_insert(victim);
    }
}

/// How often each worker is worker 0's first victim, in `n` tries.
fn first_victims(scheduler: &dyn Scheduler<u32>, workers: usize, n: u32) -> Vec<f64> {
    let mut counts = vec![0.0; workers];
    let mut env = FirstVictim(fastrand::Rng::with_seed(1), None);
    for _ in 0..n {
        scheduler.get(W[0], &mut env);
        let victim = env.1.take().expect("a thief looks somewhere");
        counts[victim.index()] += 1.0 / f64::from(n);
    }
    counts
}

#[test]
fn ws_picks_victims_uniformly_and_never_itself() {
    let machine: Machine = "pack:4 l3:1(size=1048576) core:4 pu:1".parse().unwrap();
    let shares = first_victims(&WorkStealing::uniform(&machine), 16, 60_000);
    assert_eq!(shares[0], 0.0);
    assert!(shares[1..].iter().all(|s| (s - 1.0 / 15.0).abs() < 0.005), "{shares:?}");
}

#[test]
fn pws_picks_victims_with_the_studys_weights() {
    // c counts the thief's own cluster, itself included, in the paper's formula; a thief is never
    // its own victim, so near ones are c - 1.
    let machine: Machine = "pack:4 l3:1(size=1048576) core:4 pu:1".parse().unwrap();
    let shares = first_victims(&WorkStealing::priority(&machine, 10), 16, 60_000);
    let total = 10.0 * 3.0 + 12.0;
    assert!(shares[1..4].iter().all(|s| (s - 10.0 / total).abs() < 0.01), "{shares:?}");
    assert!(shares[4..].iter().all(|s| (s - 1.0 / total).abs() < 0.005), "{shares:?}");
}
