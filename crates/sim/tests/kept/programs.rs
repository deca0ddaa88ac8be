//! Small programs, each of which does much of what programs do.

use befit_machine::Bytes;
use befit_program::{
    ClassWork, Declared, Meta, PlaceId, Program, ProgramBuilder, RawTouch, ScopeId, Source, SpotId,
    WorkRun,
};

/// All of them, with their names.
pub(crate) fn all() -> Vec<(&'static str, Program)> {
    vec![
        ("tree", tree()),
        ("rounds", rounds(true)),
        ("unsized", rounds(false)),
        ("timed", timed()),
        ("spawned", spawned()),
        ("chains", chains()),
        ("uneven", uneven()),
        ("fine", fine()),
    ]
}

fn program(build: impl FnOnce(&mut ProgramBuilder)) -> Program {
    let meta = Meta { name: "made up".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    build(&mut builder);
    builder.finish().expect("a well-formed program")
}

fn task(
    b: &mut ProgramBuilder,
    scope: u32,
    size: Option<Bytes>,
    place: PlaceId,
    body: impl FnOnce(&mut ProgramBuilder),
) {
    b.fork_at(ScopeId(scope), Declared { size, strand: None }, place).expect("a fork");
    body(b);
    b.end().expect("an end");
}

/// A random tree: wide forks and narrow ones, several waits in a task, tasks that an ancestor waits
/// for or nobody, sizes that lie.
fn tree() -> Program {
    fn grow(
        b: &mut ProgramBuilder,
        random: &mut fastrand::Rng,
        size: u64,
        scopes: &mut u32,
        outer: u32,
    ) {
        *scopes += 1;
        let scope = *scopes;
        for _ in 0..random.u32(1..3) {
            if random.bool() {
                let from = random.u64(..1 << 11);
                (0..random.u64(1..40)).for_each(|i| b.touch(from + i, random.bool(), i % 7 == 0));
                b.work(random.u64(..200), random.u64(..50), random.u64(..100));
            }
            let forks = if size > 1 << 10 { random.u32(1..4) } else { 0 };
            for _ in 0..forks {
                let declared = random.bool().then_some(Bytes(size / 2));
                let strand = random.bool().then_some(Bytes(size / 8));
                let into = if random.u32(..8) == 0 { outer } else { scope };
                b.fork(ScopeId(into), Declared { size: declared, strand }).expect("a fork");
                grow(b, random, size / 4, scopes, scope);
                b.end().expect("an end");
            }
            b.sync(ScopeId(scope)).expect("a sync");
        }
    }
    program(|b| grow(b, &mut fastrand::Rng::with_seed(7), 1 << 20, &mut 0, 0))
}

/// Some rounds over an array, each of which halves it down to leaves that read it and the lines
/// beside, and write it.
fn rounds(sized: bool) -> Program {
    const LINES: u64 = 1024;
    struct Halves {
        sized: bool,
        place: PlaceId,
        spots: [SpotId; 2],
        scopes: u32,
    }
    fn halve(b: &mut ProgramBuilder, halves: &mut Halves, from: u64, to: u64) {
        let spots = halves.spots;
        if to - from <= 32 {
            for line in from..to {
                b.touch_at(4096 + line.saturating_sub(1), false, false, spots[0]);
                b.touch_at(4096 + line, true, false, spots[1]);
                b.work(40, 16, 12);
            }
            return;
        }
        halves.scopes += 1;
        let scope = halves.scopes;
        let middle = from + (to - from) / 2;
        for (from, to) in [(from, middle), (middle, to)] {
            let size = halves.sized.then_some(Bytes(64 * (to - from)));
            task(b, scope, size, halves.place, |b| halve(b, halves, from, to));
        }
        b.sync(ScopeId(scope)).expect("a sync");
        b.touch_at(from % 3, true, true, spots[0]);
        b.work(8, 1, 1);
    }
    program(|b| {
        let place = b.place("halves").expect("a place");
        let spot = |line| Source { file: "halves.rs".into(), line, function: "halve".into() };
        let spots = [1, 2].map(spot).map(|source| b.spot(source).expect("a spot"));
        b.block(4096, LINES, spots[0]);
        let mut halves = Halves { sized, place, spots, scopes: 0 };
        for _ in 0..3 {
            halve(b, &mut halves, 0, LINES);
        }
    })
}

/// The same with sizes, whose operations were timed on some machine.
fn timed() -> Program {
    let program = rounds(true);
    let class = |at: usize| {
        let ps_per_operation = 90.0 + 35.0 * at as f64;
        (at != 1).then_some(ClassWork { ps_per_operation, strands: 9, spread: 0.1 })
    };
    let classes = (0..program.classes().len()).map(class).collect();
    program.with_work(WorkRun {
        host_mhz: 3000,
        host_operation: 0.8,
        host: "some machine".into(),
        faults_per_page: 0.4,
        recorded: 0.9,
        classes,
    })
}

/// Many spawned tasks, some of which spawn others, and all of which add to one counter.
fn spawned() -> Program {
    program(|b| {
        let places = ["outer", "inner"].map(|name| b.place(name).expect("a place"));
        b.atomic(10);
        for outer in 0..60u64 {
            task(b, 1, None, places[0], |b| {
                for inner in 0..outer % 4 {
                    task(b, 1, Some(Bytes(256)), places[1], |b| {
                        b.touch(200 + 4 * inner, true, false);
                        b.work(60, 4, 4);
                    });
                }
                (0..12).for_each(|i| b.touch(1000 + 12 * outer + i, i == 0, false));
                b.touch(10, true, false);
                b.work(30, 12, 10 + outer);
            });
        }
        b.sync(ScopeId(1)).expect("a sync");
    })
}

/// Two passes of tasks along the rows and the columns of a table; each then follows pointers
/// through it.
fn chains() -> Program {
    const SIDE: u64 = 24;
    program(|b| {
        for pass in 0..2u32 {
            for at in 0..SIDE {
                let place = PlaceId(0);
                task(b, 1 + pass, Some(Bytes(64 * SIDE)), place, |b| {
                    let (row, column) = if pass == 0 { (SIDE, 1) } else { (1, SIDE) };
                    (0..SIDE).for_each(|i| b.touch(64 + at * row + i * column, pass == 1, false));
                    b.work(4 * SIDE, SIDE, SIDE);
                    let next = |i: u64| 64 + (at * 97 + i * i * 31) % (SIDE * SIDE);
                    let pointers: Vec<_> =
                        (1..6).map(|i| RawTouch::dependent_on_last(next(i))).collect();
                    b.touches(&pointers);
                });
            }
            b.sync(ScopeId(1 + pass)).expect("a sync");
        }
    })
}

/// A tree of tasks under one place, with so many leaves.
fn tree_of(
    b: &mut ProgramBuilder,
    place: PlaceId,
    scopes: &mut u32,
    leaves: u64,
    leaf: &dyn Fn(&mut ProgramBuilder, u64),
) {
    *scopes += 1;
    let scope = *scopes;
    if leaves == 1 {
        return leaf(b, u64::from(scope));
    }
    for half in [leaves / 2, leaves - leaves / 2] {
        task(b, scope, None, place, |b| tree_of(b, place, scopes, half, leaf));
    }
    b.sync(ScopeId(scope)).expect("a sync");
}

/// Tasks that are too short to be worth a fork each, for long enough that workers know it.
fn fine() -> Program {
    program(|b| {
        let place = b.place("fine").expect("a place");
        tree_of(b, place, &mut 0, 6000, &|b, number| {
            b.touch(64 + number % 500, number.is_multiple_of(5), false);
            b.work(150, 2, 1);
        });
    })
}

/// Forks that a long path of calls leaves behind it, of which some are long and most are short, and
/// then a tree of short ones: more wait than there are idle workers, or fewer.
fn uneven() -> Program {
    fn leaf(b: &mut ProgramBuilder, number: u64) {
        (0..8).for_each(|i| b.touch(512 + 8 * (number % 64) + i, i == 0, false));
        b.work(if number.is_multiple_of(7) { 9000 } else { 300 }, 8, 1);
    }
    fn path(b: &mut ProgramBuilder, place: PlaceId, left: u64) {
        if left == 0 {
            return leaf(b, 0);
        }
        let scope = left as u32;
        task(b, scope, None, place, |b| path(b, place, left - 1));
        task(b, scope, None, place, |b| leaf(b, left));
        b.sync(ScopeId(scope)).expect("a sync");
    }
    program(|b| {
        let places = ["path", "tree"].map(|name| b.place(name).expect("a place"));
        path(b, places[0], 60);
        tree_of(b, places[1], &mut 1000, 300, &leaf);
    })
}
