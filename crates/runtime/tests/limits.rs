//! What the system grants the process: an affinity mask, a quota of CPU time. A pool takes no more,
//! and pins nowhere else.
#![cfg(all(target_os = "linux", not(any(loom, befit_record))))]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, id},
    sync::Mutex,
};

/// What a process that these tests have started reports in its first line of output, after this.
const REPORT: &str = "limits: ";

/// What the pool of a process is like: threads, whether pinned, and the CPUs that its threads may
/// use.
fn report() -> String {
    let pool = befit::ThreadPoolBuilder::new().build().unwrap();
    let cpus = Mutex::new(Vec::new());
    let threads = pool.current_num_threads();
    let all = std::sync::Barrier::new(threads);
    pool.scope(|s| {
        for _ in 0..threads {
            s.spawn(|_| {
                all.wait();
                let set = rustix::thread::sched_getaffinity(None).unwrap();
                let own = (0..rustix::thread::CpuSet::MAX_CPU)
                    .filter(|cpu| set.is_set(*cpu))
                    .map(|cpu| cpu.to_string());
                cpus.lock().unwrap().push(own.collect::<Vec<_>>().join("+"));
            });
        }
    });
    format!(
        "{threads} thread(s), pinned: {}, on {}",
        pool.is_pinned(),
        cpus.into_inner().unwrap().join(",")
    )
}

/// The report of a process that `command` starts; this test's file with its arguments is added to
/// it.
fn reported_by(mut command: Command) -> String {
    let output = command
        .args(["--exact", "the_report", "--nocapture", "--include-ignored"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(REPORT));
    line.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr))).to_owned()
}

/// No test by itself: what the others start.
#[test]
#[ignore = "only reports"]
fn the_report() {
    println!("\n{REPORT}{}", report());
}

#[test]
fn under_taskset_a_pool_has_one_worker_on_that_cpu() {
    let set = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).rfind(|cpu| set.is_set(*cpu)).unwrap();
    let mut command = Command::new("taskset");
    command.arg("-c").arg(cpu.to_string()).arg(env::current_exe().unwrap());
    command.env("BEFIT_SCHEDULER", "pws");
    assert_eq!(reported_by(command), format!("1 thread(s), pinned: true, on {cpu}"));
}

/// A control group with a quota of one CPU; removed when dropped.
struct Group(PathBuf);

impl Group {
    /// In version 2 or 1, whichever this system has and lets us use.
    fn with_one_cpu() -> io::Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let (parent, file, value) = if root.join("cgroup.controllers").exists() {
            (root.to_owned(), "cpu.max", "100000 100000")
        } else {
            (root.join("cpu"), "cpu.cfs_quota_us", "100000")
        };
        let group = Self(parent.join(format!("befit-test-{}", id())));
        fs::create_dir(&group.0)?;
        fs::write(group.0.join(file), value)?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn under_a_quota_of_one_cpu_a_pool_has_one_worker() {
    let group = match Group::with_one_cpu() {
        Ok(group) => group,
        Err(error) => return println!("skipped: no control group can be made here: {error}"),
    };
    let mut command = Command::new("sh");
    let join = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", group.0.display());
    command.arg("-c").arg(join).arg(env::current_exe().unwrap()).env("BEFIT_PIN", "always");
    let report = reported_by(command);
    assert!(report.starts_with("1 thread(s)"), "{report}");
    assert_eq!(report.split_once(" on ").unwrap().1.split(['+', ',']).count(), 1, "{report}");
}
