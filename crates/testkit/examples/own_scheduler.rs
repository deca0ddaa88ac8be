//! A policy of one's own, in the simulator and on threads: `docs/your-own-scheduler.md` goes
//! through it.
//!
//! ```text
//! cargo run --release -p befit-testkit --example own_scheduler
//! ```

use std::{collections::VecDeque, iter::once};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, Finds, Guarded, Handle, LockId, Options, Policy, Ready, Scheduler,
};

/// Work stealing with one stack for each socket instead of one for each worker.
#[derive(Clone, Debug)]
struct SocketStacks;

impl Policy for SocketStacks {
    fn build<T: Handle>(&self, machine: &Machine, _: Options) -> Box<dyn Scheduler<T>> {
        let workers = (0..machine.workers().len() as u32).map(WorkerId);
        let socket_of: Vec<_> = workers.map(|w| machine.last_level(w)).collect();
        let stack = |cluster| Guarded::new(LockId(cluster), VecDeque::new());
        let stacks = (0..machine.clusters().len() as u32).map(stack).collect();
        Box::new(Stacks { socket_of, stacks })
    }
}

#[derive(Debug)]
struct Stacks<T> {
    socket_of: Vec<ClusterId>,
    /// By cluster; only those of sockets are used.
    stacks: Vec<Guarded<VecDeque<Ready<T>>>>,
}

impl<T: Handle> Scheduler<T> for Stacks<T> {
    fn name(&self) -> &'static str {
        "socket-stacks"
    }

    fn capabilities(&self) -> Capabilities {
        // It finds whatever an ask accepts, and need not learn which task has ended.
        Capabilities { finds: Finds::Everything, follows_tasks: false, ..Capabilities::default() }
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let stack = &self.stacks[self.socket_of[w.index()].index()];
        stack.with(env, |stack, _| stack.push_back(ready));
        ClusterId::ROOT // Any worker may take it.
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let own = self.socket_of[w.index()];
        let start = env.random(self.socket_of.len() as u32) as usize;
        let victims = (0..).zip(&self.socket_of).map(|(v, socket)| (WorkerId(v), *socket));
        let victims = victims.clone().skip(start).chain(victims.take(start));
        for (victim, socket) in once((w, own)).chain(victims.filter(|(_, s)| *s != own)) {
            let accepted = |ready: &Ready<T>| ask.accepts.is_none_or(|accepts| accepts(&ready.job));
            let found = self.stacks[socket.index()].with(env, |stack, _| {
                let newest = || stack.iter().rposition(accepted);
                let oldest = || stack.iter().position(accepted);
                let at = if socket == own { newest() } else { oldest() };
                stack.remove(at?)
            });
            if socket != own {
                env.steal(victim, found.is_some());
            }
            if found.is_some() || ask.own_only {
                return found;
            }
        }
        None
    }
}

fn main() {
    // On threads.
    let pool = befit::ThreadPoolBuilder::new().policy(SocketStacks).build().expect("a pool");
    println!("on {} threads: fib(30) = {}", pool.current_num_threads(), pool.install(|| fib(30)));

    // In the simulator: 64 tasks on a machine of 4 sockets with 8 cores each.
    let program = sweeps(64);
    let machine = Machine::find("xeon-7560").expect("a preset");
    let mut settings = befit_sim::Settings::new(SocketStacks, 1);
    settings.costs = befit_sim::Costs::of(&machine.prices); // as `befit compare` has them
    let outcome = befit_sim::run(&program, &machine, &settings, &|_| {}).expect("it runs");
    println!("on {}: {} cycles, {} steals", machine.name, outcome.time.0, outcome.steals);
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = befit::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Tasks that each read a hundred kilobytes.
fn sweeps(tasks: u64) -> befit_program::Program {
    use befit_program::{Declared, Meta, ProgramBuilder, ScopeId};
    let line_size = befit_machine::Bytes(64);
    let mut builder = ProgramBuilder::new(Meta { name: "sweeps".into(), line_size, filter: 8 });
    for task in 0..tasks {
        builder.fork(ScopeId(1), Declared::default()).expect("a fork");
        (0..1600).for_each(|line| builder.touch(task * 1600 + line, false, false));
        builder.work(12_800, 0, 0);
        builder.end().expect("an end");
    }
    builder.sync(ScopeId(1)).expect("a sync");
    builder.finish().expect("a well-formed program")
}

#[test]
fn it_keeps_its_promises() {
    befit_testkit::in_small_engine(&SocketStacks, 0..100);
    befit_testkit::in_simulator(&SocketStacks, 0..20);
    befit_testkit::on_threads(&SocketStacks, 0..20);
    befit_testkit::on_both_engines(&SocketStacks, 0..20);
}
