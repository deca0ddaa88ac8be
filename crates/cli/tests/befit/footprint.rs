//! `befit footprint`.

use crate::common::{assert_fails, befit, printed};

#[test]
fn a_cache_that_the_machine_does_not_have_is_refused_before_anything_is_built() {
    assert_fails(
        &befit(&["footprint", "array-abc", "--level", "3"]),
        2,
        &["gems-sparc", "no L3", "L1, L2"],
    );
    assert_fails(&befit(&["footprint", "array-abc", "--level", "0"]), 2, &["--level"]);
}

#[test]
fn a_setting_that_a_kernel_does_not_have_is_answered_with_those_it_has() {
    assert_fails(
        &befit(&["footprint", "array-abc:tasks=d"]),
        2,
        &["'tasks=d'", "tasks=abc|ab|ac|bc", "schedule=1|2"],
    );
}

#[test]
fn the_tasks_of_the_arrays_have_the_overlap_that_the_kernel_gives_them() {
    let text =
        printed(&befit(&["footprint", "array-abc", "--n", "1", "--tasks", "6", "--format", "csv"]));
    let cells = |previous: &str, current: &str| -> Vec<i64> {
        let row =
            text.lines().find(|line| line.starts_with(&format!("{previous},{current},"))).unwrap();
        row.split(',').map(|cell| cell.parse().unwrap()).collect()
    };
    // A after A, B after A, C after A; a line more or less for what else a task touches: its sum.
    for (pair, hits) in [(("0", "0"), 256), (("0", "1"), 128), (("0", "2"), 0)] {
        let row = cells(pair.0, pair.1);
        assert!((row[2] - hits).abs() <= 3, "{pair:?}: {row:?}");
        assert_eq!(row[2..8].iter().sum::<i64>(), 256, "{pair:?}");
    }
}
