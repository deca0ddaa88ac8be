//! The built-in policies by name.

use std::{error::Error, fmt, str::FromStr};

use befit_machine::{ClusterId, Machine, WorkerId};

use crate::{Handle, Options, Policy, Scheduler, policy};

/// The built-in policies by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SchedulerKind {
    /// Work stealing: victims uniformly at random.
    #[default]
    Ws,
    /// Priority work stealing: victims under the same last-level cache likelier.
    Pws,
    /// Space-bounded: tasks anchored to the cache that they befit.
    Sb,
    /// Space-bounded with the top bucket of each cluster split by child cluster.
    SbD,
    /// Work stealing child-first, as in MIT Cilk: CATS's baseline.
    CilkA,
    /// Bi-tier, cut by measured sizes, as in Chen et al. (2012).
    Cats,
    /// Bi-tier, cut by measured sizes, with subtrees that stay on their socket.
    CatsS,
    /// Bi-tier, cut at a depth that sizes given by the user determine.
    Cab,
    /// Bi-tier, cut at a fixed depth.
    Hws,
    /// A stack per socket.
    Mts,
    /// Parallel depth-first: what comes first in serial order.
    Pdf,
    /// Controlled parallel depth-first: one subtree that fits the shared cache after another.
    Cpdf,
    /// One queue for all.
    Central,
    /// Batches of tasks, cut in two when they grow too long.
    Batch,
    /// Each task bound to a worker when it is forked.
    Static,
    /// Each task is dealt a range of the workers, by its work, and stealing stays within ranges.
    Adws,
    /// Every task is dealt a home among the workers, and finds it again next time.
    Homes,
    /// `homes` on machines with several last-level caches, `ws` on others.
    Auto,
}

use SchedulerKind::*;

/// Each policy with its name and one line about it, in the order of the enumeration.
const KINDS: [(SchedulerKind, &str, &str); 18] = [
    (Ws, "ws", "work stealing, victims uniformly at random (Blumofe & Leiserson 1999)"),
    (
        Pws,
        "pws",
        "work stealing, victims under the same last-level cache likelier (Quintin & Wagner 2010)",
    ),
    (
        Sb,
        "sb",
        "space-bounded: each task anchored to the cache that it befits (Simhadri et al. 2014)",
    ),
    (
        SbD,
        "sb-d",
        "space-bounded, each cluster's top bucket split by child cluster (Simhadri et al. 2014)",
    ),
    (CilkA, "cilk-a", "work stealing child-first, CATS's baseline (Frigo et al. 1998)"),
    (
        Cats,
        "cats",
        "bi-tier: measures tasks, spreads large ones over sockets, keeps small ones on one \
         (Chen et al. 2012)",
    ),
    (CatsS, "cats-s", "cats, with subtrees that stay on the socket that holds their data"),
    (
        Cab,
        "cab",
        "bi-tier, cut at a depth computed from the declared size and --branching \
         (Chen et al. 2011)",
    ),
    (Hws, "hws", "bi-tier, cut at the depth --boundary (Quintin & Wagner 2010)"),
    (Mts, "mts", "a shared stack per socket, refilled in batches (Olivier et al. 2012)"),
    (
        Pdf,
        "pdf",
        "parallel depth-first: what comes first in serial order (Blelloch & Gibbons 2004)",
    ),
    (
        Cpdf,
        "cpdf",
        "controlled pdf: one subtree that fits the shared cache after another (Blelloch et al. \
         2008)",
    ),
    (Central, "central", "one queue that all workers share, oldest first"),
    (
        Batch,
        "batch",
        "what becomes ready together stays together, and moves in batches \
         (Debattista et al. 2002)",
    ),
    (Static, "static", "each task is bound to a worker when it is forked, and nobody steals"),
    (
        Adws,
        "adws",
        "almost deterministic: each task is dealt a range of the workers, and thieves stay within \
         ranges (Shiina & Taura 2019)",
    ),
    (
        Homes,
        "homes",
        "each task is dealt a part of the workers, and finds it again next time (after Shiina & \
         Taura 2019)",
    ),
    (Auto, "auto", "homes on machines with several last-level caches, ws on others"),
];

impl SchedulerKind {
    /// Every policy.
    pub const ALL: [Self; 18] = [
        Ws, Pws, Sb, SbD, CilkA, Cats, CatsS, Cab, Hws, Mts, Pdf, Cpdf, Central, Batch, Static,
        Adws, Homes, Auto,
    ];

    /// Whether it minds which workers share a cache. What does not has nothing from threads that
    /// stay on their CPUs.
    pub const fn minds_places(self) -> bool {
        !matches!(self, Ws | CilkA | Pdf | Central | Batch)
    }

    /// What it is on the first `workers` workers of `machine`: one of `homes` and `ws` for `auto`,
    /// and for `homes` itself, which is `ws` where there is one last-level cache, or a worker of
    /// the machine stands under none.
    pub fn on(self, machine: &Machine, workers: usize) -> Self {
        let all = || (0..machine.workers().len() as u32).map(WorkerId);
        let is_bare = |w| machine.last_level(w) == ClusterId::ROOT;
        match self {
            Homes | Auto if last_level_caches(machine, workers) < 2 => Ws,
            Homes | Auto if all().any(is_bare) => Ws,
            Auto => Homes,
            other => other,
        }
    }

    /// As users type it.
    pub const fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// One line on what it does and where it comes from.
    pub const fn about(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// All names, in the order of [`Self::ALL`].
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|k| k.name()).collect()
    }
}

impl Policy for SchedulerKind {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        match self {
            Ws => Box::new(policy::WorkStealing::uniform("ws", machine)),
            Pws => Box::new(policy::WorkStealing::priority(machine, options.nearness)),
            Sb | SbD => Box::new(policy::SpaceBounded::new(*self == SbD, machine, options)),
            CilkA => Box::new(policy::WorkStealing::uniform("cilk-a", machine)),
            Cats | CatsS => policy::Cats::build(*self == CatsS, machine),
            Cab | Hws => policy::ByDepth::build(*self == Cab, machine, options),
            Mts => Box::new(policy::Mts::new(machine)),
            Pdf => Box::new(policy::DepthFirst::new()),
            Cpdf => Box::new(policy::Controlled::new(machine)),
            Central => Box::new(policy::Central::new()),
            Batch => Box::new(policy::Batch::new(machine)),
            Static => Box::new(policy::Bound::new(machine)),
            Adws => Box::new(policy::Adws::new(machine)),
            Homes | Auto => policy::Homes::build(self.name(), machine),
        }
    }

    fn minds_places(&self) -> bool {
        Self::minds_places(*self)
    }
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SchedulerKind {
    type Err = UnknownScheduler;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownScheduler(name.to_owned()))
    }
}

/// The number of last-level caches that the first `workers` workers of `machine` are under; none
/// where they are under memory alone.
pub fn last_level_caches(machine: &Machine, workers: usize) -> usize {
    let present = (0..machine.workers().len().min(workers) as u32).map(WorkerId);
    let mut caches: Vec<_> = present.map(|w| machine.last_level(w)).collect();
    caches.retain(|cluster| machine.cluster(*cluster).cache.is_some());
    caches.dedup();
    caches.len()
}

/// No policy has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownScheduler(pub String);

impl fmt::Display for UnknownScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown scheduler '{}'; known: {}", self.0, SchedulerKind::names().join(", "))
    }
}

impl Error for UnknownScheduler {}

#[cfg(test)]
mod tests {
    use befit_machine::{Bytes, MachineSpec, Part};

    use super::*;
    use crate::{Ask, QuietEnv, Ready, Stage, TaskInfo};

    #[test]
    fn each_kind_has_a_line_of_its_own_about_it() {
        for (kind, (of, name, about)) in SchedulerKind::ALL.into_iter().zip(KINDS) {
            assert_eq!((of, kind.name(), kind.about()), (kind, name, about));
            assert!(about.len() > 20 && !about.contains('\n'), "{about}");
        }
        let mut lines = SchedulerKind::ALL.map(SchedulerKind::about);
        lines.sort_unstable();
        assert!(lines.is_sorted_by(|a, b| a < b), "all different");
        assert!(Cpdf.about().ends_with("(Blelloch et al. 2008)"));
        assert_eq!(format!("{Ws:>4}"), "  ws");
    }

    #[test]
    fn what_minds_places_is_what_knows_caches() {
        let minds = SchedulerKind::ALL.into_iter().filter(Policy::minds_places);
        let names: Vec<_> = minds.map(SchedulerKind::name).collect();
        let expected = "pws sb sb-d cats cats-s cab hws mts cpdf static adws homes auto";
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn auto_is_homes_where_its_workers_have_several_last_level_caches() {
        for (machine, workers, caches, is) in [
            ("pack:2 l3:1(size=1MiB) core:2 pu:1", 4, 2, Homes),
            // More threads than workers are the same workers.
            ("pack:2 l3:1(size=1MiB) core:2 pu:1", 9, 2, Homes),
            ("pack:2 l3:1(size=1MiB) core:2 pu:1", 2, 1, Ws),
            ("pack:1 l3:1(size=1MiB) core:4 pu:1", 4, 1, Ws),
            ("pu:4", 4, 0, Ws),
        ] {
            let machine: Machine = machine.parse().unwrap();
            assert_eq!(last_level_caches(&machine, workers), caches);
            assert_eq!((Auto.on(&machine, workers), Homes.on(&machine, workers)), (is, is));
            assert_eq!(Sb.on(&machine, workers), Sb);
        }
    }

    #[test]
    fn regression_where_a_worker_stands_under_no_cache_each_policy_runs_and_tiers_are_ws() {
        let cores = |count| (0..count).map(|_| Part::worker(None)).collect();
        let shared = || Part::cache(3, Bytes::mib(1), 16, cores(2));
        let machine = MachineSpec::new("mixed", vec![shared(), shared(), Part::worker(None)]);
        let machine = machine.build().unwrap();
        assert_eq!((Auto.on(&machine, 4), Homes.on(&machine, 5)), (Ws, Ws));
        for kind in SchedulerKind::ALL {
            let policy = Policy::build::<u32>(&kind, &machine, Options::default());
            let mut env = QuietEnv(fastrand::Rng::with_seed(1));
            let task = TaskInfo::root(Some(Bytes::kib(512)), None);
            policy.add(WorkerId(4), Ready { job: 7, task, stage: Stage::Start }, &mut env);
            let mut workers = (0..5).map(WorkerId);
            let ready = workers.find_map(|w| policy.get(w, Ask::ANYTHING, &mut env));
            assert_eq!(ready.map(|ready| ready.job), Some(7), "{kind}");
            let is_ws = [Cats, CatsS, Cab, Hws, Homes, Auto].contains(&kind);
            assert!(!is_ws || !policy.capabilities().may_refuse, "{kind}");
        }
    }
}
