use befit_machine::Bytes;

use super::*;
use crate::{Meta, ProgramBuilder, ScopeId};

/// A program of `build`, recorded line by line.
fn program(build: impl FnOnce(&mut ProgramBuilder)) -> Program {
    let meta = Meta { name: "some".into(), line_size: Bytes(64), filter: 1 };
    let mut builder = ProgramBuilder::new(meta);
    build(&mut builder);
    builder.finish().unwrap()
}

fn task(b: &mut ProgramBuilder, scope: u32, body: impl FnOnce(&mut ProgramBuilder)) {
    b.fork(ScopeId(scope), Default::default()).unwrap();
    body(b);
    b.end().unwrap();
}

/// Touches `line` and others by turns.
fn revisit(b: &mut ProgramBuilder, line: u64, write: bool) {
    for i in 0..100 {
        b.touch(line, write, false);
        b.touch(100 + i, false, false);
    }
}

fn hot(program: &Program, touches: u64) -> Vec<u32> {
    program.hot_lines(0, touches, NonZeroUsize::MIN)
}

#[test]
fn a_line_that_parallel_strands_write_is_hot() {
    for (writes, expected) in [([true, true], 1), ([true, false], 1), ([false, false], 0)] {
        let program = program(|b| {
            for write in writes {
                task(b, 1, |b| revisit(b, 7, write));
            }
            b.sync(ScopeId(1)).unwrap();
        });
        assert_eq!(hot(&program, 1000).len(), expected, "{writes:?}");
        assert!(hot(&program, 100).is_empty(), "it has more touches");
    }
}

/// A task that touches `line` so often, one touch right after another.
fn stay(b: &mut ProgramBuilder, scope: u32, line: u64, touches: u64) {
    task(b, scope, |b| (0..touches).for_each(|_| b.touch(line, true, false)));
}

#[test]
fn of_more_hot_lines_than_are_kept_the_hottest_are_and_of_these_what_fits() {
    // Two tasks for each of 70 lines: they hand the line k over 64 + k times at most.
    let program = program(|b| {
        (0..70).for_each(|line| (0..2).for_each(|_| stay(b, 1, line, 64 + line)));
        b.sync(ScopeId(1)).unwrap();
    });
    assert_eq!(hot(&program, u64::MAX), Vec::from_iter(6..70));
    assert_eq!(hot(&program, 2 * 133 + 2 * 132), [68, 69]);
    assert_eq!(hot(&program, 2 * 133 + 2 * 132 - 1), [67, 69], "all of them, or none");
    assert_eq!(hot(&program, 2 * 70 - 1), [0; 0]);
}

#[test]
fn a_line_is_hot_from_64_handovers_on_each_the_touches_of_the_one_that_makes_fewer() {
    for (touches, handovers) in [([64, 1000], 64), ([1000, 63], 63)] {
        let program = program(|b| {
            touches.into_iter().for_each(|touches| stay(b, 1, 5, touches));
            b.sync(ScopeId(1)).unwrap();
        });
        assert_eq!(!hot(&program, u64::MAX).is_empty(), handovers >= 64, "{touches:?}");
    }
}

#[test]
fn fresh_touches_are_those_that_a_strand_has_not_just_made_by_the_line_s_class() {
    // Three strands alike, and one of other lines; page 3 follows page 0 in dense numbers.
    let fresh = |coarser, threads| {
        let program = program(|b| {
            for first in [0, 0, 0, 3 * 64 + 2] {
                task(b, 1, |b| {
                    for line in [0, 0, 1, 1, 0, 3] {
                        b.touch(first + line, false, false);
                        b.touch(line, true, true);
                    }
                });
            }
            b.sync(ScopeId(1)).unwrap();
        });
        let of = program.fresh_touches(coarser, NonZeroUsize::new(threads).unwrap());
        let all = (0..).zip(of).filter(|(_, count)| *count > 0);
        all.collect::<Vec<(usize, u64)>>()
    };
    for threads in [1, 3] {
        assert_eq!(fresh(0, threads), [(0, 3), (1, 3), (2, 1), (3, 4), (5, 1)]);
        // 0 and 1 are one line of two, 66 and 67 another.
        assert_eq!(fresh(1, threads), [(0, 3), (1, 3), (33, 1), (34, 1)]);
    }
}

#[test]
fn longer_lines_have_hot_ones_of_their_own() {
    let program = program(|b| {
        for line in [14, 15] {
            task(b, 1, |b| revisit(b, line, true));
        }
        b.sync(ScopeId(1)).unwrap();
    });
    let hot = |coarser| program.hot_lines(coarser, 1000, NonZeroUsize::MIN);
    assert_eq!([0, 1, 0, 1].map(|coarser| hot(coarser).len()), [0, 1, 0, 1]);
}

#[test]
fn lines_that_are_handed_on_are_not_hot() {
    let program = program(|b| {
        for _ in 0..10 {
            task(b, 1, |b| revisit(b, 7, true));
            b.sync(ScopeId(1)).unwrap();
        }
        revisit(b, 7, true);
    });
    assert!(hot(&program, 10_000).is_empty());
}

#[test]
fn tasks_of_an_outer_scope_run_beside_what_its_tasks_wait_for() {
    let program = program(|b| {
        task(b, 1, |b| {
            task(b, 1, |b| revisit(b, 7, true));
            task(b, 2, |b| revisit(b, 8, true));
            b.sync(ScopeId(2)).unwrap();
            // Line 7 is still written meanwhile; line 8 is not.
            revisit(b, 7, true);
            revisit(b, 8, true);
        });
        b.sync(ScopeId(1)).unwrap();
        revisit(b, 9, true);
        revisit(b, 7, true);
    });
    let lines = hot(&program, 10_000);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0] % 64, 7);
}

/// Two tasks that fight for one line.
fn fighting() -> Program {
    program(|b| {
        (0..2).for_each(|_| task(b, 1, |b| revisit(b, 7, true)));
        b.sync(ScopeId(1)).unwrap();
    })
}

#[test]
fn what_was_found_before_is_told_to_the_same_program_instead_of_a_pass() {
    let (found, again) = (fighting(), fighting());
    assert_eq!(found.spreads(), []);
    let lines = [0, 1].map(|coarser| found.hot_lines(coarser, 1000, NonZeroUsize::MIN));
    let known = found.spreads();
    assert_eq!(known.iter().map(|spread| spread.coarser).collect::<Vec<_>>(), [0, 1]);
    // As nothing else tells that it is not looked for again, it is told another line.
    let mut told = known.clone();
    told[0].hot[0].0 += 1;
    again.know(told.clone());
    assert_eq!(again.spreads(), told);
    assert_eq!(hot(&again, 1000), [lines[0][0] + 1]);
    assert_eq!(again.hot_lines(1, 1000, NonZeroUsize::MIN), lines[1]);
    // What is known already stays.
    again.know(known);
    assert_eq!(again.spreads(), told);
}

#[test]
fn what_cannot_be_of_a_program_is_not_taken() {
    let program = fighting();
    hot(&program, 1000);
    let damaged = |change: &dyn Fn(&mut Spread)| {
        let (program, mut spreads) = (fighting(), program.spreads());
        change(&mut spreads[0]);
        program.know(spreads);
        program.spreads().len()
    };
    assert_eq!(damaged(&|_| {}), 1);
    assert_eq!(damaged(&|spread| spread.hot = vec![(1, 1); 64]), 1);
    assert_eq!(damaged(&|spread| spread.hot = vec![(1, 1); 65]), 0);
    assert_eq!(damaged(&|spread| spread.hot[0].0 = program.lines()), 0);
    assert_eq!(damaged(&|spread| spread.hot[0].1 = u64::MAX), 0);
    assert_eq!(damaged(&|spread| spread.fresh[63] = 2 * program.total_touches()), 0);
    assert_eq!(damaged(&|spread| spread.coarser = 40), 0);
}

#[test]
fn a_line_that_leaves_the_table_and_comes_back_is_counted_once_on_any_number_of_threads() {
    // Two lines that are counted at one place of the table, by turns.
    let other = (1..).find(|line| place(*line) == place(0)).unwrap();
    let (first, last) = (u64::from(other) + 64, u64::from(other) + 200);
    let program = program(|b| {
        // So that dense numbers are those given here.
        (0..last).for_each(|line| b.touch(line, false, false));
        for task_number in 0..12 {
            task(b, 1, |b| {
                (0..100).for_each(|_| b.touch(0, true, false));
                (0..200).for_each(|_| b.touch(u64::from(other), false, false));
                (0..300).for_each(|_| b.touch(0, false, false));
                // With as many handovers as the first line may be said to have, more or less.
                for line in 0..60 {
                    (0..90 + 4 * line).for_each(|_| b.touch(first + line, true, false));
                }
                // No two tasks are alike.
                b.touch(first + 64 + task_number, false, false);
            });
        }
        b.sync(ScopeId(1)).unwrap();
    });
    let on = |threads| {
        let program = program.clone();
        program.hot_lines(0, u64::MAX, NonZeroUsize::new(threads).unwrap());
        program.spreads().remove(0)
    };
    let one = on(1);
    // 100 touches are found of it, then 200 of 300: the others drove the other line out.
    assert!(one.hot.contains(&(0, 12 * 300)), "{:?}", one.hot);
    assert_eq!(on(7), one);
    // The threads decide in which order the parts are found.
    let strands = program.strands_by_blob();
    let part = program.counted(Counter::new(&[]), 0, 0..strands.len() as u32, &strands);
    let mut revisits = part.revisits;
    for seed in 0..10 {
        fastrand::Rng::with_seed(seed).shuffle(&mut revisits);
        assert_eq!(program.hottest(revisits.clone()), one.hot, "seed {seed}");
    }
}

#[test]
fn touches_are_counted_up_to_the_largest_number() {
    let mut counter = Counter::new(&[]);
    counter.begin(0, 1);
    let touch = Touch { line: 5, ..Touch::default() };
    counter.touch(touch, 5);
    let counted = &mut counter.table[place(5)];
    (counted.revisit.touches, counted.stays) = (u32::MAX - 1, u32::MAX - 1);
    (0..3).for_each(|_| counter.touch(touch, 5));
    let Part { revisits, .. } = counter.finish();
    let expected = Revisit { blob: 0, line: 5, touches: u32::MAX, writes: false };
    assert_eq!(revisits, [expected]);
}
