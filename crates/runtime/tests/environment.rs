//! The variables that pools look at, each in a process of its own: the test runs its own binary
//! again, as the program that its name says.
#![cfg(not(any(loom, befit_record)))]

use std::{
    any::type_name,
    collections::BTreeSet,
    path::Path,
    process::{Command, Output},
    sync::Mutex,
    time::Duration,
};

use befit::{Options, Pin, SchedulerKind, SizeTable, ThreadPoolBuilder, fit, join};
use befit_sched::sizes::{Law, Site, SiteKey};
use serde_json::Value;

const TWO_SOCKETS: &str = "pack:2 l3:1(size=1MiB) core:2 pu:1";
const PROGRAM: &str = "BEFIT_TEST_PROGRAM";

/// Runs `test` again, with `variables`, as a program.
fn again<T: Fn()>(test: T, variables: &[(&str, &str)]) -> Output {
    let name = std::any::type_name_of_val(&test).split_once("::").expect("a path in a crate").1;
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (variable, _) in std::env::vars_os() {
        if variable.as_encoded_bytes().starts_with(b"BEFIT_") {
            command.env_remove(variable);
        }
    }
    command.args([name, "--exact", "--nocapture"]).env(PROGRAM, "1");
    command.envs(variables.iter().copied()).output().unwrap()
}

/// As [`again`], which succeeds and writes statistics to `file`; what it says.
fn with_stats<T: Fn()>(test: T, file: &Path) -> String {
    succeeded(&again(test, &[("BEFIT_STATS", file.to_str().unwrap())]))
}

fn is_program() -> bool {
    std::env::var_os(PROGRAM).is_some()
}

fn succeeded(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}\n{}", String::from_utf8_lossy(&output.stdout));
    stderr
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Work that says how large it is, so that space-bounded schedulers anchor it.
fn halves(bytes: usize) -> u64 {
    if bytes < 4096 {
        return fib(10);
    }
    let (a, b) = join(fit(bytes / 2, || halves(bytes / 2)), fit(bytes / 2, || halves(bytes / 2)));
    a + b
}

#[test]
fn a_pool_that_does_not_decide_takes_what_the_environment_says() {
    if is_program() {
        let pool = ThreadPoolBuilder::new().build().unwrap();
        assert_eq!((pool.scheduler(), pool.current_num_threads()), (SchedulerKind::Sb, 3));
        assert_eq!(pool.machine().workers().len(), 4);
        assert!(pool.is_pinned());
        let decided =
            ThreadPoolBuilder::new().num_threads(1).scheduler(SchedulerKind::Ws).pin(Pin::Never);
        let decided = decided.machine("pu:2".parse().unwrap()).sigma(0.5).mu(0.5).build().unwrap();
        assert_eq!((decided.scheduler(), decided.current_num_threads()), (SchedulerKind::Ws, 1));
        assert_eq!((decided.machine().workers().len(), decided.is_pinned()), (2, false));
        assert_eq!(befit::current_num_threads(), 3);
        return;
    }
    succeeded(&again(
        a_pool_that_does_not_decide_takes_what_the_environment_says,
        &[
            ("BEFIT_SCHEDULER", "sb"),
            ("BEFIT_MACHINE", "pack:2 l3:1(size=1MiB) core:2 pu:1"),
            ("BEFIT_PIN", "always"),
            ("BEFIT_THREADS", "3"),
            ("BEFIT_SIGMA", "1"),
            ("BEFIT_MU", "0.1"),
            ("BEFIT_COUNTING", "full"),
            ("BEFIT_BOUNDARY", "6"),
        ],
    ));
}

#[test]
fn a_bad_value_fails_the_build_and_names_the_variable() {
    if is_program() {
        let error = ThreadPoolBuilder::new().build().map(drop).map_err(|error| error.to_string());
        eprintln!("error: {}", error.unwrap_err());
        // Where the program has decided, nobody looks.
        let decided = ThreadPoolBuilder::new()
            .scheduler(SchedulerKind::Ws)
            .num_threads(1)
            .options(Options::default());
        let _ = decided.pin(false).machine("pu:1".parse().unwrap()).build();
        join(|| (), || ());
        return;
    }
    for (variable, value, said) in [
        ("BEFIT_SCHEDULER", "cilk", "unknown scheduler 'cilk'; known: ws, pws, sb, sb-d"),
        ("BEFIT_AUTO", "no", "unknown choice 'no'; known: on, off"),
        ("BEFIT_MACHINE", "xeon", "unknown machine `xeon`; known are"),
        ("BEFIT_PIN", "yes", "unknown choice 'yes'; known: auto, always, never"),
        ("BEFIT_THREADS", "0", "'0' is not a whole number from 1 up"),
        ("BEFIT_SIGMA", "2", "'2' is not a number above 0 and at most 1"),
        ("BEFIT_MU", "x", "'x' is not a number above 0 and at most 1"),
        ("BEFIT_COUNTING", "half", "'half' is not capped or full"),
        ("BEFIT_NEARNESS", "0", "'0' is not a whole number from 1 up"),
        ("BEFIT_BRANCHING", "1", "'1' is not a whole number from 2 up"),
        ("BEFIT_BOUNDARY", "deep", "'deep' is not a whole number from 0 up"),
        ("BEFIT_TIMES", "all", "unknown choice 'all'; known: phases, span, trace"),
        ("BEFIT_STATS", "/nowhere/s.json", "there is no folder /nowhere"),
    ] {
        let output =
            again(a_bad_value_fails_the_build_and_names_the_variable, &[(variable, value)]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&format!("error: {variable}: {said}")), "{stderr}");
        // `join` cannot return an error.
        assert!(!output.status.success());
        let global = format!("the global thread pool cannot be built: {variable}: ");
        assert!(stderr.contains(&global), "{stderr}");
    }
}

#[test]
fn auto_is_homes_over_several_last_level_caches_unless_it_is_off() {
    if is_program() {
        // What the program has chosen is turned off like what the environment has.
        for scheduler in [Some(SchedulerKind::Auto), None] {
            let builder = ThreadPoolBuilder::new().machine(TWO_SOCKETS.parse().unwrap());
            let builder = match scheduler {
                Some(scheduler) => builder.scheduler(scheduler),
                None => builder,
            };
            let pool = builder.build().unwrap();
            assert_eq!(pool.scheduler(), SchedulerKind::Auto);
            assert_eq!(pool.install(|| fib(15)), 610);
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    for (threads, auto, policy, caches) in [
        ("4", "on", "homes", 2),
        ("4", "", "homes", 2),
        ("2", "on", "ws", 1),
        ("4", "off", "ws", 2),
    ] {
        let variables = [
            ("BEFIT_SCHEDULER", "auto"),
            ("BEFIT_AUTO", auto),
            ("BEFIT_THREADS", threads),
            ("BEFIT_STATS", file.to_str().unwrap()),
        ];
        let test = auto_is_homes_over_several_last_level_caches_unless_it_is_off;
        succeeded(&again(test, &variables));
        let pools = read(&file)["pools"].clone();
        for pool in pools.as_array().unwrap() {
            let said = (&pool["scheduler"], &pool["policy"], &pool["last_level_caches"]);
            assert_eq!(said, (&"auto".into(), &policy.into(), &caches.into()), "{auto}");
        }
    }
}

#[test]
fn the_statistics_of_two_pools_and_the_global_one_are_written() {
    if is_program() {
        let machine = "pack:2 l3:1(size=64KiB) core:2 l2:1(size=16KiB) pu:1";
        for scheduler in [SchedulerKind::Sb, SchedulerKind::Pws] {
            let builder =
                ThreadPoolBuilder::new().scheduler(scheduler).machine(machine.parse().unwrap());
            let pool = builder.num_threads(4).build().unwrap();
            pool.install(fit(1 << 20, || halves(1 << 20)));
        }
        assert_eq!(join(|| fib(15), || ()).0, 610);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    let said = with_stats(the_statistics_of_two_pools_and_the_global_one_are_written, &file);
    assert!(!said.contains("befit:"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let document = read(&file);
    assert_eq!(document["schema"], "befit.stats/2");
    assert_eq!(document["pools_left_out"], 0);
    assert!(document["program"].as_str().unwrap().contains("environment"));
    let pools = document["pools"].as_array().unwrap();
    assert_eq!(pools.len(), 3);
    let each = |field: &str| {
        pools.iter().map(|pool| pool[field].to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(each("scheduler"), r#""sb" "pws" "ws""#);
    assert_eq!(each("ended"), "true true false");
    let anchors = pools[0]["anchors"].as_array().unwrap();
    let is_used = |at: &Value| at["level"] == "L3" && at["tasks"].as_u64() > Some(0);
    assert!(anchors.iter().any(is_used), "{anchors:?}");
    assert_eq!(pools[1]["anchors"].as_array().unwrap().len(), 0);
    for pool in pools {
        let workers = pool["workers"].as_array().unwrap();
        assert_eq!(workers.len() as u64, pool["threads"].as_u64().unwrap());
        let sum = |field: &str| workers.iter().map(|w| w[field].as_u64().unwrap()).sum::<u64>();
        assert!(sum("forks") > 0 && sum("executed") > 0, "{pool}");
        for worker in workers {
            let seconds = worker["seconds"].as_object().unwrap();
            let total: f64 = seconds.values().map(|s| s.as_f64().unwrap()).sum();
            let span = pool["span_seconds"].as_f64().unwrap();
            assert!((total - span).abs() <= 0.01 * span, "{total} of {span}");
        }
    }
}

#[test]
fn a_trace_has_every_phase_and_every_steal_of_each_worker() {
    if is_program() {
        let pool = ThreadPoolBuilder::new().build().unwrap();
        let stolen = || {
            let total = pool.statistics().total();
            total.near_steals + total.far_steals
        };
        while stolen() == 0 {
            pool.install(|| fib(22));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    let variables = [
        ("BEFIT_SCHEDULER", "ws"),
        ("BEFIT_MACHINE", "pack:2 l3:1(size=1MiB) core:1 pu:1"),
        ("BEFIT_TIMES", "trace"),
        ("BEFIT_STATS", file.to_str().unwrap()),
    ];
    succeeded(&again(a_trace_has_every_phase_and_every_steal_of_each_worker, &variables));
    let document = read(&file);
    let pool = &document["pools"][0];
    let (trace, counted) = (&pool["trace"], pool["workers"].as_array().unwrap());
    let workers = trace["workers"].as_array().unwrap();
    let caches = workers.iter().map(|worker| worker["cluster"].as_u64().unwrap());
    assert_eq!((caches.collect::<BTreeSet<_>>().len(), workers.len()), (2, 2));
    let number = |value: &Value| value.as_u64().unwrap();
    let (begin, end) = (number(&trace["begin"]), number(&trace["end"]));
    for (worker, counted) in workers.iter().zip(counted) {
        let phases = worker["phases"].as_array().unwrap().iter();
        let phases = phases.map(|phase| (number(&phase[0]), phase[1].as_str().unwrap()));
        // Before its first job a worker is idle, whatever it looks for.
        let own = phases.skip_while(|(_, phase)| *phase != "active");
        let begins: Vec<_> = [(begin, "idle")].into_iter().chain(own).collect();
        assert!(begins.is_sorted_by_key(|(at, _)| *at) && number(&worker["left_out"]) == 0);
        let ends = begins[1..].iter().map(|(at, _)| *at).chain([end]);
        for (phase, booked) in counted["seconds"].as_object().unwrap() {
            let of = begins.iter().zip(ends.clone()).filter(|((_, name), _)| name == phase);
            let traced: u64 = of.map(|((from, _), to)| to.saturating_sub(*from)).sum();
            assert!((traced as f64 - booked.as_f64().unwrap() * 1e9).abs() < 1.0, "{phase}");
        }
        let steals = counted["steals"].as_object().unwrap().values().map(number).sum::<u64>();
        assert_eq!(worker["steals"].as_array().unwrap().len() as u64, steals);
    }
    assert!(workers.iter().any(|worker| !worker["steals"].as_array().unwrap().is_empty()));
}

#[test]
fn processes_that_run_at_once_do_not_lose_each_other_s_statistics() {
    if is_program() {
        join(|| fib(10), || ());
        // All have begun before one ends.
        let place = std::env::var_os("BEFIT_STATS").unwrap();
        let place = Path::new(&place).with_file_name("meet");
        std::fs::write(place.join(std::process::id().to_string()), "").unwrap();
        while std::fs::read_dir(&place).unwrap().count() < 3 {
            std::thread::sleep(Duration::from_millis(5));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, place) = (folder.path().join("stats.json"), folder.path().join("meet"));
    std::fs::create_dir(&place).unwrap();
    let run = || with_stats(processes_that_run_at_once_do_not_lose_each_other_s_statistics, &file);
    let said: Vec<String> = std::thread::scope(|scope| {
        let runs = [(); 3].map(|()| scope.spawn(run));
        runs.map(|run| run.join().unwrap()).to_vec()
    });
    std::fs::remove_dir_all(place).unwrap();
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(files.iter().all(|file| read(file)["pools"].as_array().unwrap().len() == 1));
    let others = said.iter().filter(|said| said.contains("is another process's"));
    assert_eq!(others.count(), 2, "{said:?}");
}

#[test]
fn a_process_that_exits_early_has_its_statistics_written() {
    if is_program() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| {
            fib(10);
            std::process::exit(0)
        })
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats-%p.json");
    with_stats(a_process_that_exits_early_has_its_statistics_written, &file);
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert!(file.file_name().unwrap().to_str().unwrap().bytes().any(|b| b.is_ascii_digit()));
    assert_eq!(read(&file)["pools"][0]["ended"], false);
}

/// Work that declares nothing; tells where it forks.
fn plain(leaves: usize, tell: &(dyn Fn(SiteKey) + Sync)) -> u64 {
    fn key<F>(_: &F, index: u32) -> SiteKey {
        SiteKey::of(type_name::<F>(), size_of::<F>(), index)
    }
    if leaves < 2 {
        return 1;
    }
    let (a, b) = (|| plain(leaves / 2, tell), || plain(leaves / 2, tell));
    tell(key(&a, 0));
    tell(key(&b, 1));
    let (a, b) = join(a, b);
    a + b
}

/// [`plain`] with a table of its places, as `befit learn` would write it.
fn plain_sizes() -> String {
    let places = Mutex::new(Vec::new());
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| plain(2, &|key| places.lock().unwrap().push(key)));
    let mut table = SizeTable::default();
    for key in places.into_inner().unwrap() {
        let law = Law::constant(4096.0);
        let (size, strand, work) = (law.clone(), law.clone(), law);
        table.push(Site { size, strand, work, ..Site::new(key, "plain") }).unwrap();
    }
    table.to_string()
}

fn sized_program() {
    for _ in 0..2 {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(|| plain(1 << 10, &|_| ())), 1 << 10);
    }
}

#[test]
fn tasks_that_declare_no_size_have_the_one_in_the_file() {
    if is_program() {
        return sized_program();
    }
    let folder = tempfile::tempdir().unwrap();
    let (sizes, stats) = (folder.path().join("plain.sizes"), folder.path().join("stats.json"));
    std::fs::write(&sizes, plain_sizes()).unwrap();
    let files = [("BEFIT_SIZES", &sizes), ("BEFIT_STATS", &stats)];
    // Where sizes do not matter nobody looks them up.
    for (scheduler, uses_sizes) in [("sb", true), ("ws", false)] {
        let files = files.map(|(name, file)| (name, file.to_str().unwrap()));
        let variables = [&files[..], &[("BEFIT_SCHEDULER", scheduler)]].concat();
        let output = again(tasks_that_declare_no_size_have_the_one_in_the_file, &variables);
        let said = succeeded(&output);
        let lines = said.lines().filter(|line| line.starts_with("befit: BEFIT_SIZES"));
        assert_eq!(lines.count(), 0, "{said}");
        let document = read(&stats);
        let workers = || document["pools"][0]["workers"].as_array().unwrap().iter();
        let sum = |field: &str| workers().map(|w| w[field].as_u64().unwrap()).sum::<u64>();
        assert!(sum("published") > 0);
        assert_eq!(sum("sized"), if uses_sizes { sum("published") } else { 0 }, "{scheduler}");
    }
}

#[test]
fn a_file_of_sizes_that_cannot_be_read_is_one_line_and_no_error() {
    if is_program() {
        return sized_program();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.sizes");
    let path = file.to_str().unwrap();
    let cut_off = plain_sizes();
    let cut_off = &cut_off.as_bytes()[..cut_off.len() - 9];
    let zeros = vec![0; 3 << 20];
    for (text, said) in [
        (Some(&b"some text"[..]), "line 1: "),
        (Some(cut_off), ""),
        (Some(b"befit.sizes/2\nsite 7"), "line 2: "),
        (Some(&zeros), "longer than"),
        (Some(b"\xff\xfe"), "UTF-8"),
        (None, "No such file"),
    ] {
        match text {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let variables = [("BEFIT_SIZES", path)];
        let output =
            again(a_file_of_sizes_that_cannot_be_read_is_one_line_and_no_error, &variables);
        let stderr = succeeded(&output);
        let lines: Vec<_> = stderr.lines().filter(|line| line.contains("befit:")).collect();
        let [line] = lines[..] else { panic!("{lines:?}") };
        assert!(line.starts_with(&format!("befit: BEFIT_SIZES: {path}: ")), "{line}");
        assert!(line.contains(said) && line.ends_with("; going on without"), "{line}");
    }
}
