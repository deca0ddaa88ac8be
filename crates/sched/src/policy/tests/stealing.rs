use befit_machine::{Bytes, Machine, WorkerId};

use super::{Play, W, two_sockets};
use crate::{
    Ask, Env, Finds, LockId, Options, Policy,
    SchedulerKind::{self, Adws, Batch, Cab, Cats, CatsS, CilkA, Cpdf, Hws, Mts, Pws, Static, Ws},
};

#[test]
fn a_worker_takes_its_newest_and_a_thief_its_victims_oldest() {
    let mut ws = Play::of(SchedulerKind::Ws);
    (0..3).for_each(|job| ws.add(0, job, None));
    assert_eq!([0, 3, 1, 1].map(|w| ws.job(w)), [Some(2), Some(0), Some(1), None]);
}

#[test]
fn a_waiting_worker_takes_its_newest_of_what_is_accepted_and_a_thief_the_oldest() {
    let mut ws = Play::of(SchedulerKind::Ws);
    (0..5).for_each(|job| ws.add(0, job, None));
    let accepted = [(0, [1, 2, 3]), (3, [1, 2, 4]), (0, [1, 2, 3])];
    let taken = accepted.map(|(w, jobs)| ws.one_of(w, &jobs).map(|ready| ready.job));
    assert_eq!(taken, [Some(3), Some(1), Some(2)]);
}

#[test]
fn what_a_worker_has_of_its_own_is_found_without_stealing() {
    let own = Ask { own_only: true, ..Ask::ANYTHING };
    for kind in SchedulerKind::ALL {
        let mut policy = Play::of(kind);
        assert!(!policy.policy.has_own(W[0]), "{kind} has nothing");
        policy.add(0, 1, None);
        assert!(policy.policy.has_own(W[0]), "{kind} has it");
        assert_eq!(policy.ask(0, own).map(|ready| ready.job), Some(1), "{kind}");
        assert!(!policy.policy.has_own(W[0]), "{kind} has it no more");
    }
    // A queue of the worker's own, or of its socket.
    for kind in [Ws, Pws, CilkA, Mts, Cats, CatsS, Cab, Hws] {
        let mut policy = Play::of(kind);
        policy.add(0, 1, None);
        assert!(!policy.policy.has_own(W[3]), "{kind}");
        assert_eq!(policy.ask(3, own), None, "{kind}");
    }
}

#[test]
fn who_says_so_gives_a_worker_its_own_newest_first_whatever_others_have() {
    for kind in SchedulerKind::ALL {
        let mut policy = Play::of(kind);
        if !policy.policy.capabilities().own_newest_first {
            continue;
        }
        for (worker, job) in [(0, 1), (1, 2), (0, 3), (1, 4)] {
            policy.add(worker, job, None);
        }
        assert_eq!([0, 0, 0].map(|w| policy.job(w)), [Some(3), Some(1), Some(2)], "{kind}");
    }
}

/// A computation of which worker 0 has jobs 1, 2 and 3, in the order of their coming.
fn with_three_of_its_own(kind: SchedulerKind) -> Play {
    let options = Options { boundary: 1, ..Options::default() };
    let mut policy = Play::on(&two_sockets(), kind, options);
    let size = Bytes::kib(64);
    policy.add(0, 100, Some(size));
    let mut task = policy.get(0).expect("the root").task;
    // A quarter of the workers of those that deal them out.
    for job in [101, 102] {
        policy.start(0, job, task.child(0, Some(size), None).beside(size));
        task = policy.get(0).expect("the first half").task;
    }
    for job in 1..4 {
        policy.start(0, job, task.child(job, None, None));
    }
    policy
}

#[test]
fn a_worker_that_asks_as_a_thief_gets_its_own_oldest() {
    for kind in [Ws, Pws, CilkA, Cats, CatsS, Cab, Hws, Static, Batch, Adws, Cpdf] {
        for own_only in [false, true] {
            let mut policy = with_three_of_its_own(kind);
            let thief = Ask { as_thief: true, own_only, ..Ask::ANYTHING };
            let mut ask = |ask| policy.ask(0, ask).map(|ready| ready.job);
            assert_eq!(ask(thief), Some(1), "{kind}");
            assert_eq!(ask(Ask { own_only, ..Ask::ANYTHING }), Some(3), "{kind}");
        }
        let mut policy = with_three_of_its_own(kind);
        if policy.policy.capabilities().finds == Finds::Everything {
            let accepts: &dyn Fn(&u32) -> bool = &|job| *job > 1;
            let thief = Ask { as_thief: true, accepts: Some(accepts), ..Ask::ANYTHING };
            assert_eq!(policy.ask(0, thief).map(|ready| ready.job), Some(2), "{kind}");
        }
    }
}

#[test]
fn a_socket_s_pool_gives_who_asks_as_a_thief_the_oldest_subtree() {
    for kind in [Cab, Hws] {
        let options = Options { boundary: 1, ..Options::default() };
        let mut policy = Play::on(&two_sockets(), kind, options);
        policy.add(0, 100, None);
        let root = policy.get(0).expect("the root").task;
        for job in 1..4 {
            policy.start(0, job, root.child(job, None, None));
        }
        let thief = Ask { as_thief: true, ..Ask::ANYTHING };
        assert_eq!(policy.ask(0, thief).map(|ready| ready.job), Some(1), "{kind}");
    }
}

#[test]
fn a_thief_finds_work_wherever_it_is() {
    for nearness in [1, 10] {
        let options = Options { nearness, ..Options::default() };
        let mut pws = Play::on(&two_sockets(), SchedulerKind::Pws, options);
        for (victim, thief) in (0..4).flat_map(|v| (0..4).map(move |t| (v, t))) {
            pws.add(victim, 1, None);
            assert!(pws.get(thief).is_some(), "{thief} finds what {victim} has");
        }
    }
}

#[test]
fn regression_a_thief_finds_work_wherever_it_is_though_the_weights_fit_no_number() {
    let one = "l3:1(size=1MiB) core:4 pu:1".parse().unwrap();
    for machine in [two_sockets(), one] {
        for nearness in [1 << 31, u32::MAX] {
            let options = Options { nearness, ..Options::default() };
            let mut pws = Play::on(&machine, SchedulerKind::Pws, options);
            for (victim, thief) in (0..4).flat_map(|v| (0..4).map(move |t| (v, t))) {
                pws.add(victim, 1, None);
                assert!(pws.get(thief).is_some(), "{thief} finds what {victim} has");
            }
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

/// Of 60,000 tries, the share in which each worker is worker 0's first victim, on four sockets of
/// four cores.
fn first_victims(kind: SchedulerKind) -> Vec<f64> {
    let machine: Machine = "pack:4 l3:1(size=1048576) core:4 pu:1".parse().unwrap();
    let policy = kind.build::<u32>(&machine, Options::default());
    let (mut shares, tries) = (vec![0.0; 16], 60_000);
    let mut env = FirstVictim(fastrand::Rng::with_seed(1), None);
    for _ in 0..tries {
        policy.get(W[0], Ask::ANYTHING, &mut env);
        let victim = env.1.take().expect("a thief looks somewhere");
        shares[victim.index()] += 1.0 / f64::from(tries);
    }
    shares
}

#[test]
fn ws_picks_victims_uniformly_and_never_itself() {
    let shares = first_victims(SchedulerKind::Ws);
    assert_eq!(shares[0], 0.0);
    assert!(shares[1..].iter().all(|s| (s - 1.0 / 15.0).abs() < 0.005), "{shares:?}");
}

#[test]
fn pws_picks_victims_with_the_weights_of_simhadri_et_al() {
    // c counts the thief's own cluster, itself included, in the formula of Simhadri et al.; a thief
    // is never its own victim, so near ones are c - 1.
    let shares = first_victims(SchedulerKind::Pws);
    let total = 10.0 * 3.0 + 12.0;
    assert!(shares[1..4].iter().all(|s| (s - 10.0 / total).abs() < 0.01), "{shares:?}");
    assert!(shares[4..].iter().all(|s| (s - 1.0 / total).abs() < 0.005), "{shares:?}");
}
