//! A machine stands for the real one, and another pretends to be it.

use super::{suspect::ratios, *};
use crate::{Silent, testing};

/// The machine that programs really run on: their 128 KiB, walked twice, fit its L3.
fn real() -> Machine {
    let text = "(latency=400) pack:1 l3:1(size=262144) core:2 l2:1(size=16384) l1:1(size=4096) \
                pu:1";
    text.parse().unwrap()
}

fn time(machine: &Machine) -> Result<Cycles, LabError> {
    let options = OptionChoices::default();
    let machine = machine.clone().with_workers(1)?;
    simulate(&testing::program(), &machine, SchedulerKind::Ws, 1, &options, &Silent)
}

/// The suspect if `pretended` is taken for the real machine.
fn suspect(pretended: &Machine) -> Option<Suspect> {
    let real = real();
    let measured = time(&real).unwrap().0 as f64 / f64::from(real.mhz) / 1e3;
    Suspect::of(&[ratios(pretended, measured, time, |_| ()).unwrap()])
}

#[test]
fn a_machine_that_is_right_has_no_suspect_figure() {
    assert_eq!(suspect(&real()), None);
}

#[test]
fn a_last_level_cache_of_a_quarter_of_its_size_is_suspected() {
    let pretended = real().with_last_level(0.25);
    let measured = time(&real()).unwrap().0 as f64;
    let ratio = time(&pretended).unwrap().0 as f64 / measured;
    assert!(Verdict::of(ratio) != Verdict::Good, "{ratio}");
    let suspect = suspect(&pretended).unwrap();
    assert_eq!((&*suspect.change, suspect.within), ("L3 capacity x 2", 1));
}

#[test]
fn native_runs_take_no_option_and_no_machine_from_the_environment() {
    let mut options = OptionChoices::default();
    options.choose("sigma", |options| options.sigma = 0.25);
    let plan = VerifyPlan {
        programs: Vec::new(),
        threads: vec![NonZeroU32::MIN],
        schedulers: vec![SchedulerKind::Sb],
        repeats: NonZeroU32::MIN,
        seeds: NonZeroU32::MIN,
        options,
        machine: real(),
        asked: "host".to_owned(),
        fresh: false,
        patience: 0,
        suspects: false,
    };
    let native = plan.native(NonZeroU32::MIN);
    // Each is set, to what is simulated.
    assert_eq!(native.options.open().count(), 0);
    assert_eq!(native.options.options(), options.options());
    assert_eq!(native.machine.as_deref(), Some("host"));
}

#[test]
fn verdicts_and_speed_ups_follow_from_the_times() {
    let result = |threads, predicted: f64, measured: f64| {
        let times = |time| Spread { min: time, median: time, max: time };
        let threads = NonZeroU32::new(threads).unwrap();
        let name = || "walks".to_owned();
        let (predicted, measured) = (times(predicted), times(measured));
        let work = LearntWork { from: name(), share: 1.0, assumed: false, same: false };
        VerifyResult::new(name(), name(), threads, SchedulerKind::Ws, predicted, measured, work)
    };
    let mut results = vec![result(1, 10.0, 10.0), result(2, 7.0, 5.0)];
    result::speed_up(&mut results);
    assert_eq!((results[0].verdict, results[1].verdict), (Verdict::Good, Verdict::Fair));
    assert_eq!((results[1].predicted_speed_up, results[1].measured_speed_up), (10.0 / 7.0, 2.0));
    assert!(results[0].speed_up_holds() && !results[1].speed_up_holds());
    let verified = Verified::new(VerifyMachine::of(&real(), "host"), results);
    assert_eq!((verified.within, verified.far, verified.holds()), (1, 0, false));
    assert_eq!(verified.worst().map(|worst| worst.threads), Some(2));
}
