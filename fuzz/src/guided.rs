//! A target under libFuzzer, which follows coverage. `BEFIT_FUZZ` names the target; `.ci/fuzz`
//! builds and starts it.
#![no_main]
#![allow(missing_docs, reason = "what libfuzzer-sys makes has none")]

use std::{env, sync::LazyLock};

use befit_fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = env::var("BEFIT_FUZZ").expect("BEFIT_FUZZ names a target");
    Target::named(&name).expect("BEFIT_FUZZ names a target")
});

fuzz_target!(|input: &[u8]| {
    (TARGET.run)(input);
});
