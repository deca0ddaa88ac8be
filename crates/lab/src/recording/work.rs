//! How long a program's operations take: from a build without instrumentation, run serially.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use befit_machine::Machine;
use befit_program::Program;
use befit_record::{Build, Watch};
use befit_sim::work::{Timed, fit};

use super::{RecordingJob, THREADS};
use crate::{Measuring, Progress, quiet::Quiet};

/// The build that is timed instead of recorded: optimised as the program's profile says.
pub(super) fn build(job: &RecordingJob) -> Build {
    Build { work: true, config: job.work_config.clone(), ..job.build.clone() }
}

/// `program` with the work that runs of `binary`, its build for that, show. Without, and with a
/// note, where that cannot be.
pub(super) fn add(
    program: Program,
    binary: &Path,
    job: &RecordingJob,
    host: &Machine,
    progress: &dyn Progress,
) -> Program {
    let measuring = Measuring::if_there();
    let quiet = measuring.as_ref().and_then(|measuring| Quiet::new(measuring, host));
    let command = || {
        let mut command = Command::new(binary);
        if let Some(quiet) = &quiet {
            quiet.place(&mut command);
        }
        command
            .args(&job.arguments)
            // It could be opened when the program was recorded.
            .stdin(job.stdin().unwrap_or_else(|_| Stdio::null()))
            .envs(job.threads.iter().map(|n| (THREADS.0, n)));
        command
    };
    let name = &program.meta().name;
    let timing = |whole, number, of| progress.timing(name, whole, number, of);
    let is_quiet = |before| {
        quiet.as_ref().is_none_or(|quiet| if before { quiet.before(1) } else { quiet.after(1) })
    };
    let watch = Watch { progress: &timing, is_quiet: &is_quiet };
    let timed = match befit_record::time(&command, &program, true, watch) {
        Ok(timed) => timed,
        Err(why) => {
            uncalibrated(progress, &format!("its work run failed: {why}"));
            return program;
        }
    };
    if let Some(why) = disturbed(&timed, host) {
        progress.note(&format!("{name}: {why}"));
    }
    let timed = Timed {
        strands: timed.strands,
        total: timed.total_ps,
        faults: timed.faults_total,
        regions: timed.regions_ps,
        process: timed.process_ps,
    };
    match fit(&program, &timed, host, host.prices.fault) {
        Ok(work) => program.with_work(work),
        Err(why) => {
            uncalibrated(progress, &why.to_string());
            program
        }
    }
}

/// Runs that are to agree may differ by so much.
const AGREE: f64 = 0.1;

/// What says that other programs disturbed the runs by which operations were timed.
fn disturbed(timed: &befit_record::Timed, host: &Machine) -> Option<String> {
    // A region that waits for nothing uses as much processor time as it takes.
    let waited = match timed.regions_ps {
        0 => 0.0,
        used => 1.0 - used as f64 / timed.total_ps.max(1) as f64,
    };
    let worst = timed.apart.max(waited);
    (worst > AGREE || !timed.undisturbed).then(|| {
        let how = if worst <= AGREE {
            "cores were slower than befit calibrate found them, as they are beside other guests of \
             a virtual machine's host"
                .to_owned()
        } else if timed.apart >= waited {
            format!("they differ by {:.0} %", 100.0 * worst)
        } else {
            format!("for {:.0} % of their time they waited for a processor", 100.0 * worst)
        };
        let calibrate = if host.calibration().is_none() {
            "; nor is this machine calibrated (befit calibrate), so what is taken off for waits is \
             assumed"
        } else {
            ""
        };
        format!(
            "the times of its operations are not to be trusted, as the runs that were timed were \
             disturbed: {how}; --fresh times them again{calibrate}"
        )
    })
}

/// Notes why the times of operations stay the machine's own.
pub(super) fn uncalibrated(progress: &dyn Progress, why: &str) {
    progress.note(&format!(
        "the recording is uncalibrated, so each operation takes what the machine says: {why}"
    ));
}
