//! Child processes that do not outlive this one.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use rustix::{
    process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal},
    thread::{CpuSet, sched_setaffinity},
};

/// Has the system kill the process that `command` starts when the thread that starts it ends: a
/// befit that is killed leaves no program behind that runs for nobody.
pub fn end_with_us(command: &mut Command) -> &mut Command {
    let parent = getpid();
    // SAFETY: between fork and exec only async-signal-safe things may be done, no locks and no
    // allocation: this makes two system calls, and turns an error number into an io::Error, which
    // holds it in place.
    unsafe { command.pre_exec(move || bind_to(parent)) }
}

/// Has the process that `command` starts, and all its threads, run on one CPU, if the system lets
/// it, and the CPU's number is not beyond those of a set.
pub fn run_on(command: &mut Command, cpu: u32) -> &mut Command {
    let cpu = cpu as usize;
    if cpu >= CpuSet::MAX_CPU {
        return command;
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    let pin = move || {
        let _ = sched_setaffinity(None, &set);
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe things may be done, no locks and no
    // allocation: this makes one system call.
    unsafe { command.pre_exec(pin) }
}

fn bind_to(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// A process and all that it starts, in a process group that does not outlive us. The system alone
/// would end the process only, and not what it has started.
pub(super) struct Group {
    pub(super) process: Child,
    /// A shell, the group's leader, that kills the group when its input ends. None where there is
    /// no shell.
    shell: Option<Child>,
}

impl Group {
    /// Starts `command` in a new group. Ctrl-C in a terminal does not reach it. It ends us, and
    /// so the group.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read -r line || kill -KILL 0"]).process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let shell = shell.spawn().ok();
        if let Some(shell) = &shell {
            command.process_group(shell.id().cast_signed());
        }
        // Where this fails, the shell ends itself.
        let process = end_with_us(command).spawn()?;
        Ok(Self { process, shell })
    }

    /// All has ended, or goes on by itself. Dropped without this call, the group is killed.
    pub(super) fn ended(self) -> Child {
        if let Some(mut shell) = self.shell {
            // A line keeps the shell from killing.
            let _ = shell.stdin.take().map(|mut input| input.write_all(b"\n"));
            let _ = shell.wait();
        }
        self.process
    }
}

#[cfg(test)]
mod tests {
    use std::{
        env, fs,
        io::{BufRead, BufReader},
        thread,
        time::Duration,
    };

    use super::*;

    const NESTED: &str = "BEFIT_TEST_GROUP";

    #[test]
    fn regression_what_cargo_has_started_ends_with_a_befit_that_is_killed() {
        if env::var_os(NESTED).is_some() {
            let started =
                Group::start(Command::new("sh").args(["-c", "sleep 1000 & echo $!; wait"]));
            let _ = started.unwrap().process.wait();
            return;
        }
        let name = "outside::child::tests::\
            regression_what_cargo_has_started_ends_with_a_befit_that_is_killed";
        let mut befit = Command::new(env::current_exe().unwrap());
        befit.args(["--exact", name, "--nocapture"]).env(NESTED, "1").stdout(Stdio::piped());
        let mut befit = befit.spawn().unwrap();
        let lines = BufReader::new(befit.stdout.take().unwrap()).lines().map_while(Result::ok);
        let sleeper = lines.filter_map(|line| line.trim().parse::<u32>().ok()).next().unwrap();
        // A zombie has ended, though nobody has asked for its status.
        let runs = || {
            fs::read_to_string(format!("/proc/{sleeper}/status"))
                .is_ok_and(|status| !status.contains("State:\tZ"))
        };
        assert!(runs());
        befit.kill().unwrap();
        befit.wait().unwrap();
        for _ in 0..500 {
            if !runs() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{sleeper} is still there");
    }

    #[test]
    fn a_program_that_is_to_run_on_a_cpu_beyond_those_of_a_set_runs_anywhere() {
        assert!(run_on(&mut Command::new("true"), 5000).status().unwrap().success());
    }

    #[test]
    fn what_has_ended_well_is_not_killed() {
        let group = Group::start(Command::new("sh").args(["-c", "sleep 0.2; exit 3"])).unwrap();
        assert_eq!(group.ended().wait().unwrap().code(), Some(3));
    }
}
