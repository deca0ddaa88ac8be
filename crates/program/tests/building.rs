//! What a builder makes of what it is told.

mod common;

use befit_machine::Bytes;
use befit_program::{
    BuildError, Declared, Meta, Op, Program, ProgramBuilder, RawTouch, ScopeId, SiteId, Source,
    SpotId, StrandId, TaskId, Touch, TreeError, Work,
};
use common::{all, build, file, meta, task};

#[test]
fn an_empty_program_is_one_task_without_strands() {
    let program = build(&[]);
    assert_eq!((program.tasks(), program.strands(), program.scopes()), (1, 0, 1));
    assert_eq!((program.lines(), program.stack_lines(), program.total_touches()), (0, 0, 0));
    assert_eq!(program.stats().parallelism(), 1.0);
    assert_eq!(all(&Program::read(&file(&program)[..]).unwrap()), all(&program));
}

#[test]
fn touches_and_work_between_two_events_are_one_strand_and_nothing_is_none() {
    let mut builder = ProgramBuilder::new(meta());
    builder.work(1, 2, 3);
    builder.touch(70, true, false);
    builder.work(10, 20, 30);
    task(&mut builder, 5, |_| ());
    task(&mut builder, 5, |b| b.touch(9, false, true));
    builder.sync(ScopeId(5)).unwrap();
    let program = builder.finish().unwrap();
    let fork = |child| Op::Fork { child: TaskId(child), scope: ScopeId(1) };
    let expected = [Op::Strand(StrandId(0)), fork(1), fork(2), Op::Sync(ScopeId(1))];
    assert_eq!(program.ops(TaskId(0)).collect::<Vec<_>>(), expected);
    assert_eq!(program.ops(TaskId(1)).len(), 0);
    assert_eq!(program.work(StrandId(0)), Work { loads: 11, stores: 22, blocks: 33, touches: 1 });
    assert_eq!(program.stack_lines(), 10);
}

#[test]
fn a_join_is_two_forks_and_a_sync_of_one_scope_with_nothing_between() {
    let mut builder = ProgramBuilder::new(meta());
    let fork = |b: &mut ProgramBuilder, scope| task(b, scope, |_| ());
    let sync = |b: &mut ProgramBuilder, scope| b.sync(ScopeId(scope)).unwrap();
    // A join; three forks, of which the last two look like one; one with work between; two scopes.
    for (scope, forks) in [(1, 2), (2, 3)] {
        (0..forks).for_each(|_| fork(&mut builder, scope));
        sync(&mut builder, scope);
    }
    fork(&mut builder, 3);
    builder.work(1, 1, 1);
    fork(&mut builder, 3);
    sync(&mut builder, 3);
    fork(&mut builder, 4);
    fork(&mut builder, 5);
    sync(&mut builder, 5);
    fork(&mut builder, 6);
    fork(&mut builder, 6);
    sync(&mut builder, 4);
    let program = builder.finish().unwrap();
    let joins: Vec<_> = program.joins(TaskId(0)).collect();
    assert_eq!(joins, [[1, 2], [4, 5]].map(|halves| halves.map(TaskId)));
    // From each place among the operations the rest follow.
    let all: Vec<Op> = program.ops(TaskId(0)).collect();
    let mut ops = program.ops(TaskId(0));
    for done in 0..=all.len() {
        assert!(program.ops_from(ops.place()).eq(all[done..].iter().copied()), "{done}");
        assert_eq!(ops.next(), all.get(done).copied());
    }
}

#[test]
fn captured_words_are_kept_in_the_order_of_their_numbers_once_each_and_without_those_that_are_0() {
    for words in [
        [(3, 5), (1, 7), (3, 9), (2, 0), (300, 1)],
        [(1, 7), (2, 0), (3, 5), (3, 9), (300, 1)],
        [(1, 7), (2, 0), (3, 5), (300, 1), (300, 0)],
    ] {
        let mut builder = ProgramBuilder::new(meta());
        builder.fork_from(ScopeId(1), Declared::default(), SiteId(0), words).unwrap();
        builder.end().unwrap();
        let program = builder.finish().unwrap();
        assert_eq!(program.captured(TaskId(1)), [(1, 7), (3, 5), (300, 1)]);
    }
}

#[test]
fn operations_are_loads_stores_and_blocks_and_the_largest_number_where_there_are_more() {
    let work = Work { loads: 100, stores: 20, blocks: 3, touches: 5000 };
    assert_eq!(work.operations(), 123);
    for most in [Work { loads: u64::MAX, stores: 1, ..work }, Work { blocks: u64::MAX, ..work }] {
        assert_eq!(most.operations(), u64::MAX);
    }
}

#[test]
fn strands_that_touch_the_same_lines_are_stored_once() {
    let sized = |strands| {
        let mut builder = ProgramBuilder::new(meta());
        for _ in 0..strands {
            task(&mut builder, 1, |b| {
                (0..1000u64).for_each(|i| b.touch(i * i * 77 % 1_000_000, false, false));
            });
        }
        builder.sync(ScopeId(1)).unwrap();
        let program = builder.finish().unwrap();
        assert_eq!(program.total_touches(), strands * 1000);
        file(&program).len()
    };
    assert!(sized(1000) < sized(1) + 200, "{} {}", sized(1000), sized(1));
}

#[test]
fn work_span_and_depth_of_a_binary_tree() {
    fn tree(builder: &mut ProgramBuilder, depth: u32, scope: &mut u32) {
        builder.work(1, 1, 0);
        if depth > 0 {
            *scope += 1;
            let own = *scope;
            (0..2).for_each(|_| task(builder, own, |b| tree(b, depth - 1, scope)));
            builder.sync(ScopeId(own)).unwrap();
            builder.work(0, 0, 1);
        }
    }
    let mut builder = ProgramBuilder::new(meta());
    tree(&mut builder, 10, &mut 0);
    let stats = builder.finish().unwrap().stats();
    assert_eq!((stats.tasks, stats.depth), (2047, 10));
    assert_eq!(stats.operations, 2047 * 2 + 1023);
    assert_eq!(stats.span, 11 * 2 + 10);
    assert_eq!(stats.parallelism(), f64::from(2047 * 2 + 1023) / 32.0);
}

#[test]
fn a_sync_waits_for_a_spawn_from_a_grandchild_but_for_no_detached_task() {
    let mut builder = ProgramBuilder::new(meta());
    task(&mut builder, 2, |b| {
        task(b, 1, |b| b.work(100, 0, 0));
        task(b, 0, |b| b.work(1000, 0, 0));
    });
    builder.sync(ScopeId(2)).unwrap();
    builder.work(1, 0, 0);
    builder.sync(ScopeId(1)).unwrap();
    builder.work(950, 0, 0);
    let program = builder.finish().unwrap();
    assert_eq!(program.stats().span, 1050);
    let read = Program::read(&file(&program)[..]).unwrap();
    assert_eq!(all(&read), all(&program));
}

#[test]
fn what_makes_no_program_is_refused_with_a_reason() {
    let mut builder = ProgramBuilder::new(meta());
    assert_eq!(builder.end(), Err(BuildError::Tree(TreeError::EndOfRoot)));
    builder.fork(ScopeId(1), Declared::default()).unwrap();
    assert!(matches!(builder.sync(ScopeId(1)), Err(BuildError::Tree(TreeError::Sync(1, ..)))));
    assert_eq!(builder.finish().unwrap_err(), BuildError::Tree(TreeError::Open(1)));

    for line in [1 << 58, (1 << 60) - 1, 1 << 60, (1 << 62) - 1, 1 << 62, u64::MAX] {
        for stack in [false, true] {
            let mut builder = ProgramBuilder::new(meta());
            builder.touch(line, false, stack);
            assert_eq!(builder.finish().unwrap_err(), BuildError::Line(line));
        }
    }
    // A walk beyond the last line that an address may have: the page's end is named.
    for (end, expected) in [(1 << 58, None), ((1 << 58) + 1, Some((1 << 58) + 63))] {
        let mut builder = ProgramBuilder::new(meta());
        ((1 << 58) - 20..end).for_each(|line| builder.touch(line, false, false));
        assert_eq!(builder.finish().err(), expected.map(BuildError::Line));
    }
    let mut builder = ProgramBuilder::new(meta());
    builder.touch(1 << 33, false, true);
    assert_eq!(builder.finish().unwrap_err(), BuildError::TooManyLines);
    let name = "x".repeat(Meta::NAME_LIMIT + 1);
    let long = ProgramBuilder::new(Meta { name, ..meta() }).finish().unwrap_err();
    let expected = "cannot record this program: its name is 4097 bytes long, more than 4096";
    assert_eq!(long.to_string(), expected);
}

#[test]
fn lines_that_a_file_cannot_have_are_refused() {
    for (size, expected) in [(1, None), (64, None), (1 << 15, None)]
        .into_iter()
        .chain([0, 48, 1 << 16, u64::MAX].map(|size| (size, Some(Bytes(size)))))
    {
        let built = ProgramBuilder::new(Meta { line_size: Bytes(size), ..meta() }).finish();
        match expected {
            None => assert!(Program::read(&file(&built.unwrap())[..]).is_ok(), "{size}"),
            Some(size) => assert_eq!(built.unwrap_err(), BuildError::LineSize(size)),
        }
    }
    let odd = ProgramBuilder::new(Meta { line_size: Bytes(48), ..meta() }).finish().unwrap_err();
    let expected = "its lines are 48 B long, not a power of two up to 32 KiB";
    assert_eq!(odd.to_string(), format!("cannot record this program: {expected}"));
}

#[test]
fn spots_that_there_are_not_are_refused() {
    let spot = |b: &mut ProgramBuilder| {
        b.spot(Source { file: "src/a.rs".into(), line: 7, function: "f".into() }).unwrap()
    };
    let built = |build: &dyn Fn(&mut ProgramBuilder)| {
        let mut builder = ProgramBuilder::new(meta());
        build(&mut builder);
        let program = builder.finish()?;
        Program::read(&file(&program)[..]).unwrap();
        Ok(())
    };
    assert_eq!(built(&|b| b.touch_at(1, false, false, SpotId(1))), Err(BuildError::Spot(1)));
    assert_eq!(built(&|b| b.block(1, 1, SpotId(9))), Err(BuildError::Spot(9)));
    let touches = [RawTouch::new(1, false, false); 3];
    let told = |last| {
        move |b: &mut ProgramBuilder| {
            let known = spot(b);
            b.touches_at(&touches, &[known, SpotId(0), SpotId(last)]);
            b.block(0, 64, known);
        }
    };
    assert_eq!(built(&told(1)), Ok(()));
    assert_eq!(built(&told(2)), Err(BuildError::Spot(2)));
    // The order is free.
    let later = |b: &mut ProgramBuilder| {
        b.touch_at(1, false, false, SpotId(1));
        spot(b);
    };
    assert_eq!(built(&later), Ok(()));
}

#[test]
fn touches_told_at_once_are_those_told_one_by_one() {
    let mut builder = ProgramBuilder::new(meta());
    let source = |line| Source { file: "src/a.rs".into(), line, function: "f".into() };
    let [a, b] = [7, 9].map(|line| builder.spot(source(line)).unwrap());
    let touches = [
        RawTouch::new(640, true, false),
        RawTouch::dependent_on_last(641),
        RawTouch::new(3, false, true),
        RawTouch::new(642, false, false),
    ];
    builder.touches_at(&touches, &[a, b, b, SpotId(0)]);
    builder.touches_at(&[], &[]);
    builder.touch_at(643, true, false, b);
    let program = builder.finish().unwrap();
    let flags = |touch: Touch| (touch.line, touch.write, touch.stack, touch.dependent);
    let found: Vec<_> = program.touches(StrandId(0)).map(flags).collect();
    let expected = [
        (0, true, false, false),
        (1, false, false, true),
        (3, false, true, false),
        (2, false, false, false),
        (3, true, false, false),
    ];
    assert_eq!(found, expected);
    let mut spots = program.touch_spots(StrandId(0));
    assert_eq!([(); 5].map(|()| spots.next_spot()), [a, b, b, SpotId(0), b]);
}

#[test]
#[should_panic(expected = "a spot for each touch")]
fn touches_without_a_spot_each_are_refused() {
    let touches = [RawTouch::new(1, false, false), RawTouch::new(2, false, false)];
    ProgramBuilder::new(meta()).touches_at(&touches, &[SpotId(0)]);
}
