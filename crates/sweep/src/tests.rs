//! Sweeps as a whole: whatever happens on the way, the table is the same.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
};

use befit_lab::{LabError, Silent};
use befit_machine::Bytes;
use befit_program::{Declared, Meta, ProgramBuilder, ScopeId};
use serde_json::json;

use crate::{Grid, Resume, Shard, Sweep, merge, run_batch, table};

const THREADS: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Writes a recording of two tasks that touch so many lines each.
fn record(path: &Path, lines: u64) {
    let meta = Meta { name: "two halves".into(), line_size: Bytes(64), filter: 2 };
    let mut builder = ProgramBuilder::new(meta);
    for half in 0..2 {
        builder.fork(ScopeId(1), Declared { size: Some(Bytes(64 * lines)), strand: None }).unwrap();
        (0..lines).for_each(|line| builder.touch(4096 + half * lines + line, false, false));
        builder.work(8 * lines, 0, lines);
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    builder.finish().unwrap().save(path).unwrap();
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        record(&place.path("halves.befit"), 100);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn grid(&self, seeds: &str) -> Grid {
        Grid::from_json(&json!({
            "program": self.path("halves.befit"),
            "machine": ["l3:2 core:2 l1:1 pu:1", "xeon-7560-1s"],
            "scheduler": ["ws", "sb"],
            "sigma": [0.3, 1],
            "seed": seeds,
        }))
        .unwrap()
    }

    fn open(&self, seeds: &str, shard: Option<&str>, out: &str) -> Result<Sweep, LabError> {
        let shard = shard.map(|text| text.parse::<Shard>().unwrap());
        Sweep::open(self.grid(seeds), shard, &self.path(out), Resume::GoOn, &Silent)
    }

    fn open_anew(&self, seeds: &str, out: &str) -> Result<Sweep, LabError> {
        Sweep::open(self.grid(seeds), None, &self.path(out), Resume::Anew, &Silent)
    }

    /// The bytes of the table of a sweep in one go.
    fn table(&self, seeds: &str, shard: Option<&str>, out: &str) -> Vec<u8> {
        let mut sweep = self.open(seeds, shard, out).unwrap();
        sweep.run(THREADS).unwrap();
        assert!(sweep.failed().is_empty());
        sweep.finish().unwrap();
        fs::read(self.path(out)).unwrap()
    }
}

#[test]
fn shards_merged_are_the_bytes_of_one_go() {
    let place = Place::new();
    let whole = place.table("1..5", None, "whole.parquet");
    assert!(!place.path("whole.parquet.sweep").exists());
    let parts = ["2/3", "1/3", "3/3"];
    let paths = [0, 1, 2].map(|at| place.path(&format!("{at}.parquet")));
    for (at, shard) in parts.iter().enumerate() {
        place.table("1..5", Some(shard), &format!("{at}.parquet"));
    }
    assert_eq!(merge(&paths, &place.path("merged.parquet")).unwrap().rows, 40);
    assert_eq!(fs::read(place.path("merged.parquet")).unwrap(), whole);
    // Too few, too many, and others.
    let error = |paths: &[PathBuf]| merge(paths, &place.path("not")).unwrap_err().to_string();
    assert!(error(&paths[..2]).contains("missing: 3"), "{}", error(&paths[..2]));
    let twice = [&paths[..], &paths[..1]].concat();
    assert!(error(&twice).contains("2/3 is there twice"), "{}", error(&twice));
    place.table("1..4", Some("3/3"), "other.parquet");
    let other = [&paths[..2], &[place.path("other.parquet")]].concat();
    assert!(error(&other).contains("another grid"), "{}", error(&other));
    let whole = [place.path("whole.parquet")];
    assert!(error(&whole).contains("no shard"), "{}", error(&whole));
    assert!(!place.path("not").exists());
}

#[test]
fn regression_a_part_that_lacks_rows_leaves_the_output_as_it_was() {
    let place = Place::new();
    let paths = ["1/2", "2/2"].map(|shard| place.path(&format!("{}.parquet", &shard[..1])));
    place.table("1..3", Some("1/2"), "1.parquet");
    place.table("1..3", Some("2/2"), "2.parquet");
    let part = table::open(&paths[1]).unwrap();
    let (manifest, mut rows) = (part.manifest.clone(), part.rows().collect::<Vec<_>>());
    rows.pop();
    table::write(&paths[1], &manifest, rows.into_iter()).unwrap();
    let output = place.path("merged.parquet");
    fs::write(&output, "an earlier table").unwrap();
    let error = merge(&paths, &output).unwrap_err();
    assert!(matches!(error, LabError::Failed(_)));
    assert!(error.to_string().contains("23 rows, and the sweep 24"), "{error}");
    assert_eq!(fs::read_to_string(&output).unwrap(), "an earlier table");
}

#[test]
fn a_sweep_that_was_stopped_in_a_line_goes_on_and_loses_nothing() {
    let place = Place::new();
    let whole = place.table("1..5", None, "whole.parquet");
    let mut sweep = place.open("1..5", None, "out.parquet").unwrap();
    let first: Vec<usize> = sweep.pending().take(7).collect();
    let result = run_batch(&sweep.batch(&first), None, THREADS).unwrap();
    assert_eq!(sweep.append(&result.to_bytes()).unwrap(), []);
    // The same again, as from a worker that was believed lost.
    sweep.append(&result.to_bytes()).unwrap();
    assert!(place.open("1..5", None, "out.parquet").unwrap_err().to_string().contains("another"));
    drop(sweep);
    let journal = place.path("out.parquet.sweep/rows.jsonl");
    let mut file = OpenOptions::new().append(true).open(&journal).unwrap();
    file.write_all(b"{\"key\":\"00").unwrap();
    let sweep = place.open("1..5", None, "out.parquet").unwrap();
    assert_eq!((sweep.done(), sweep.pending().count()), (7, 33));
    drop(sweep);
    assert_eq!(place.table("1..5", None, "out.parquet"), whole);
    // It is complete: nothing is simulated again, and more seeds only add rows.
    assert_eq!(place.open("1..5", None, "out.parquet").unwrap().pending().count(), 0);
    assert_eq!(place.open("1..6", None, "out.parquet").unwrap().pending().count(), 8);
    fs::remove_dir_all(place.path("out.parquet.sweep")).unwrap();
    let error = place.open("1..4", None, "out.parquet").unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("not in this grid"), "{error}");
    assert!(!place.path("out.parquet.sweep").exists());
}

#[test]
fn a_shard_that_is_finished_does_not_grow_and_says_so() {
    let place = Place::new();
    place.table("1..5", Some("2/3"), "out.parquet");
    let error = place.open("1..6", Some("2/3"), "out.parquet").unwrap_err();
    let text = error.to_string();
    assert!(error.is_usage() && text.contains("not in this shard"), "{text}");
    // Likewise before it is finished.
    let mut sweep = place.open("1..5", Some("2/3"), "other.parquet").unwrap();
    let result = run_batch(&sweep.batch(&[0, 1, 2]), None, THREADS).unwrap();
    sweep.append(&result.to_bytes()).unwrap();
    drop(sweep);
    let text = place.open("1..6", Some("2/3"), "other.parquet").unwrap_err().to_string();
    assert!(text.contains("not in this shard"), "{text}");
}

#[test]
fn a_damaged_journal_is_told_with_the_way_out() {
    let place = Place::new();
    drop(begun(&place));
    let journal = place.path("out.parquet.sweep/rows.jsonl");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[0] = b'x';
    fs::write(&journal, bytes).unwrap();
    let error = place.open("1..5", None, "out.parquet").unwrap_err().to_string();
    assert!(error.contains("damaged at byte 0") && error.contains("--fresh"), "{error}");
    assert_eq!(place.open_anew("1..5", "out.parquet").unwrap().done(), 0);
}

#[test]
fn of_sweeps_that_begin_at_once_one_goes_on_and_the_others_take_nothing_of_it_away() {
    const SWEEPS: usize = 4;
    let place = Place::new();
    for round in 0..50 {
        let out = format!("{round}.parquet");
        let start = Barrier::new(SWEEPS);
        let open = || {
            start.wait();
            place.open("1..2", None, &out)
        };
        let opened: Vec<_> = thread::scope(|scope| {
            let all: Vec<_> = (0..SWEEPS).map(|_| scope.spawn(open)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (mut on, refused): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        assert_eq!(on.len(), 1, "round {round}: {refused:?}");
        for error in refused {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("another process works on this sweep"), "{error}");
        }
        let kept = ["manifest.json", "rows.jsonl"].map(|name| format!("{out}.sweep/{name}"));
        assert!(kept.iter().all(|file| place.path(file).exists()), "round {round}");
        on.pop().unwrap().unwrap().finish().unwrap();
        assert!(place.path(&out).exists());
    }
}

/// A sweep of 40 of which the first seven are done.
fn begun(place: &Place) -> Sweep {
    let mut sweep = place.open("1..5", None, "out.parquet").unwrap();
    let first: Vec<usize> = sweep.pending().take(7).collect();
    let result = run_batch(&sweep.batch(&first), None, THREADS).unwrap();
    sweep.append(&result.to_bytes()).unwrap();
    sweep
}

#[test]
fn a_sweep_that_begins_anew_takes_nothing_of_one_that_is_under_way_away() {
    let place = Place::new();
    let sweep = begun(&place);
    let error = place.open_anew("1..5", "out.parquet").map(drop).unwrap_err().to_string();
    assert!(error.contains("another process works on this sweep"), "{error}");
    drop(sweep);
    assert_eq!(place.open("1..5", None, "out.parquet").unwrap().done(), 7);
    // Now that nobody works on it, it does begin anew.
    assert_eq!(place.open_anew("1..5", "out.parquet").unwrap().done(), 0);
    assert_eq!(place.open("1..5", None, "out.parquet").unwrap().done(), 0);
}

#[test]
fn a_sweep_that_cannot_begin_anew_takes_nothing_of_the_earlier_one_away() {
    let place = Place::new();
    drop(begun(&place));
    for program in ["none.befit", "rmm"] {
        let grid = json!({"program": program, "machine": "xeon-7560", "scheduler": "ws"});
        let grid = Grid::from_json(&grid).unwrap();
        let anew = Sweep::open(grid, None, &place.path("out.parquet"), Resume::Anew, &Silent);
        assert!(anew.unwrap_err().is_usage());
    }
    assert_eq!(place.open("1..5", None, "out.parquet").unwrap().done(), 7);
}

#[test]
fn a_sweep_that_an_older_befit_left_goes_on() {
    let place = Place::new();
    drop(begun(&place));
    // Those had no such file.
    let _ = fs::remove_file(place.path("out.parquet.sweep/lock"));
    assert_eq!(place.open("1..5", None, "out.parquet").unwrap().done(), 7);
}

#[test]
fn figures_that_have_lost_their_manifest_are_not_taken_over() {
    let place = Place::new();
    drop(begun(&place));
    // As after `--fresh` that is killed while it removes: the recording may be another since.
    fs::remove_file(place.path("out.parquet.sweep/manifest.json")).unwrap();
    record(&place.path("halves.befit"), 150);
    let sweep = place.open("1..5", None, "out.parquet").unwrap();
    assert_eq!((sweep.done(), sweep.pending().count()), (0, 40));
}

#[test]
fn a_recording_that_has_changed_is_told_in_one_line() {
    let place = Place::new();
    // No other test has read this one into the process.
    record(&place.path("halves.befit"), 222);
    let sweep = place.open("1..5", None, "out.parquet").unwrap();
    let batch = sweep.batch(&[0]);
    drop(sweep);
    record(&place.path("halves.befit"), 101);
    let error = place.open("1..5", None, "out.parquet").unwrap_err();
    let text = error.to_string();
    assert!(error.is_usage() && text.contains("halves.befit has changed"), "{text}");
    assert_eq!(text.lines().count(), 1);
    // A worker that nobody can send it to sees it, too.
    let result = run_batch(&batch, None, THREADS).unwrap();
    let text = String::from_utf8(result.to_bytes()).unwrap();
    assert!(text.contains("has changed since the sweep began"), "{text}");
}

#[test]
fn a_simulation_that_fails_has_its_reason_in_its_row_and_is_tried_again_next_time() {
    let place = Place::new();
    let mut sweep = place.open("1..5", None, "out.parquet").unwrap();
    sweep.fail(3, "lost");
    sweep.run(NonZeroUsize::MIN).unwrap();
    assert_eq!((sweep.done(), sweep.failed().len()), (39, 1));
    sweep.finish().unwrap();
    let table = crate::table::open(&place.path("out.parquet")).unwrap();
    let errors: Vec<_> = table.rows().map(|row| row.unwrap().last().unwrap().is_some()).collect();
    assert_eq!((errors.len(), errors[3]), (40, true));
    assert_eq!(errors.iter().filter(|error| **error).count(), 1);
    assert_eq!(place.open("1..5", None, "out.parquet").unwrap().pending().collect::<Vec<_>>(), [3]);
}

#[test]
fn a_recording_that_cannot_be_read_is_asked_for_and_then_taken_from_the_folder() {
    let place = Place::new();
    record(&place.path("halves.befit"), 333);
    let sweep = place.open("1..5", None, "out.parquet").unwrap();
    let hash = sweep.recording(0).hash.clone();
    let batch = sweep.batch(&[0, 1]);
    let elsewhere = place.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(place.path("halves.befit"), elsewhere.join("kept")).unwrap();
    assert_eq!(run_batch(&batch, Some(&elsewhere), THREADS).unwrap().missing, Some(hash.clone()));
    fs::rename(elsewhere.join("kept"), elsewhere.join(format!("{hash}.befit"))).unwrap();
    let result = run_batch(&batch, Some(&elsewhere), THREADS).unwrap();
    assert_eq!((result.missing, result.done.len()), (None, 2));
    assert!(result.done.iter().all(|(_, figures)| figures.is_ok()));
}

/// A grid on a machine in a file of hwloc's: so many cores.
fn on_a_file(place: &Place, cores: u32) -> Grid {
    let file = place.path("mine.xml");
    let core = |at| format!(r#"<object type="Core"><object type="PU" os_index="{at}"/></object>"#);
    let cores: String = (0..cores).map(core).collect();
    let cache = r#"<object type="L2Cache" cache_size="32768" cache_linesize="64" depth="2""#;
    let text = format!(r#"<object type="Machine">{cache}>{cores}</object></object>"#);
    fs::write(&file, format!(r#"<topology version="2.0">{text}</topology>"#)).unwrap();
    Grid::from_json(&json!({
        "program": place.path("halves.befit"), "machine": file, "scheduler": "ws"
    }))
    .unwrap()
}

#[test]
fn another_file_at_the_path_of_a_recording_is_not_read_by_a_worker_that_it_can_be_sent_to() {
    let place = Place::new();
    record(&place.path("halves.befit"), 555);
    let sweep = place.open("1..5", None, "out.parquet").unwrap();
    let hash = sweep.recording(0).hash.clone();
    let bytes = sweep.recording_bytes(&hash).unwrap();
    let batch = sweep.batch(&[0, 1]);
    record(&place.path("halves.befit"), 556);
    let elsewhere = place.path("elsewhere");
    let run = || run_batch(&batch, Some(&elsewhere), THREADS).unwrap();
    assert_eq!((run().missing, run().done), (Some(hash.clone()), vec![]));
    // At the client it is none to be sent.
    let error = sweep.recording_bytes(&hash).unwrap_err().to_string();
    assert!(error.contains("has changed since the sweep began"), "{error}");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(format!("{hash}.befit")), bytes).unwrap();
    assert!(run().missing.is_none() && run().done.iter().all(|(_, figures)| figures.is_ok()));
}

#[test]
fn a_recording_that_a_batch_itself_displaces_is_read_again() {
    let place = Place::new();
    record(&place.path("halves.befit"), 777);
    let grid = Grid::from_json(&json!({
        "program": place.path("halves.befit"), "machine": "xeon-7560-1s", "scheduler": "ws",
        "sizes": ["declared", "learned", "measured", "none", "only-learned", "usual"],
    }));
    let out = place.path("out.parquet");
    let sweep = Sweep::open(grid.unwrap(), None, &out, Resume::GoOn, &Silent).unwrap();
    let run = |numbers: &[usize]| {
        let result = run_batch(&sweep.batch(numbers), Some(place.0.path()), NonZeroUsize::MIN);
        result.unwrap().done.into_iter().map(|(_, figures)| figures.map(drop)).collect::<Vec<_>>()
    };
    // The process keeps it with the last sizes; before it comes to these again it has read others.
    assert_eq!(run(&[5]), [Ok(())]);
    let hash = &sweep.recording(0).hash;
    fs::rename(place.path("halves.befit"), place.path(&format!("{hash}.befit"))).unwrap();
    assert_eq!(run(&[0, 1, 2, 3, 4, 5]), [const { Ok(()) }; 6]);
}

#[test]
fn a_worker_refuses_another_machine_of_the_same_name_and_finds_a_new_one() {
    let place = Place::new();
    let workers = |out: &str, cores: u32| {
        let grid = on_a_file(&place, cores);
        let sweep = Sweep::open(grid, None, &place.path(out), Resume::GoOn, &Silent).unwrap();
        let result = run_batch(&sweep.batch(&[0]), None, THREADS).unwrap();
        let workers = crate::column::figure_names().iter().position(|name| name == "workers");
        let figures = result.done[0].1.clone().unwrap();
        (sweep, figures[workers.unwrap()])
    };
    // The process keeps the machines of earlier batches, and the file becomes another one's.
    assert_eq!(workers("two.parquet", 2).1, Some(2));
    let (sweep, four) = workers("four.parquet", 4);
    assert_eq!(four, Some(4));
    // As for a worker that sees another file, or is on another host.
    let mut batch: serde_json::Value = serde_json::from_slice(&sweep.batch(&[0])).unwrap();
    let name = place.path("mine.xml").display().to_string();
    batch["machines"][&name] = "another".into();
    let error = run_batch(&serde_json::to_vec(&batch).unwrap(), None, THREADS).unwrap_err();
    assert!(error.contains("mine.xml is another one for this worker"), "{error}");
}

#[test]
fn a_batch_of_another_version_is_told_whatever_else_is_in_it() {
    let place = Place::new();
    let batch = place.open("1..5", None, "out.parquet").unwrap().batch(&[0]);
    let mut batch: serde_json::Value = serde_json::from_slice(&batch).unwrap();
    batch["version"] = "0.0.1+another".into();
    for part in ["machines", "jobs"] {
        let error = run_batch(&serde_json::to_vec(&batch).unwrap(), None, THREADS).unwrap_err();
        assert!(error.starts_with("this worker has befit "), "{error}");
        assert!(error.ends_with("and the sweep befit 0.0.1+another"), "{error}");
        batch.as_object_mut().unwrap().remove(part).unwrap();
    }
    let error = run_batch(b"{}", None, THREADS).unwrap_err();
    assert!(error.starts_with("this is no batch"), "{error}");
}

#[test]
fn a_grid_is_a_product_or_several_and_each_configuration_is_there_once() {
    let of = |text: &str| Grid::from_toml(text).map(|grid| grid.configurations().len());
    let base = "program = 'a.befit'\nmachine = 'xeon-7560'\n";
    assert_eq!(of(&format!("{base}scheduler = ['ws', 'sb', 'ws']\nseed = '1..20'")).unwrap(), 40);
    let floats = "scheduler = 'ws'\nseed = [1, 1.0, 2.0]\ncores = [2, 2.0]\nshrink = 1.0";
    assert_eq!(of(&format!("{base}{floats}")).unwrap(), 2);
    let table = format!("[[grid]]\n{base}scheduler = 'ws'\n");
    assert_eq!(of(&format!("{table}{table}seed = [1, 2]\n")).unwrap(), 2);
    for (text, part) in [
        ("scheduler = 'wss'", "unknown scheduler"),
        ("scheduler = 'ws'\nsigma = 3", "sigma: '3' is not a number"),
        ("scheduler = 'ws'\nsigma = nan", "sigma: every number must be finite"),
        ("scheduler = 'ws'\nsigma = [0.5, -inf]", "sigma: every number must be finite"),
        ("scheduler = 'ws'\nseed = inf", "seed: every number must be finite"),
        (
            "scheduler = 'ws'\nseed = -1",
            "seed: -1 is no whole number from 0 to 9223372036854775807",
        ),
        ("scheduler = 'ws'\nshrink = 0", "shrink: 0 is no whole number from 1 to 4294967295"),
        ("scheduler = 'ws'\ncores = 4294967296", "4294967296 is no whole number from 1 to"),
        ("scheduler = 'ws'\ncores = 1.5", "cores: 1.5 is no whole number from 1 to 4294967295"),
        ("scheduler = 'ws'\nsigme = 1", "has no sigme; known: program, machine"),
        ("scheduler = 'ws'\nseed = '5..1'", "no range"),
        ("scheduler = 'ws'\nseed = []", "an axis is empty"),
        ("scheduler = 'ws'\nsizes = 'learned=x'", "is none of usual"),
        ("", "needs a scheduler"),
        ("scheduler = ", "TOML"),
    ] {
        let error = of(&format!("{base}{text}")).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(part), "{text}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
    let error = of(&format!("{table}mu = nan\n")).unwrap_err().to_string();
    assert!(error.contains("mu: every number must be finite"), "{error}");
    // A shard has every n-th, so all together have each once.
    for bad in ["0/2", "3/2", "1", "x/2"] {
        assert!(bad.parse::<Shard>().is_err(), "{bad}");
    }
}
