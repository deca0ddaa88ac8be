//! The script of a bundle, with stubs in place of the programs that it runs.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

/// Says what it was called with; its pool has two threads.
const PEERS: &str = r#"echo "peers $*" >>"$FOLDER/calls"
case $1 in threads) echo 2 ;; *) echo '{}' ;; esac"#;
/// Its calibration leaves a file.
const BEFIT: &str = r#"echo "befit $*" >>"$FOLDER/calls"
[ "$1" != calibrate ] || while [ $# -gt 0 ]; do
    if [ "$1" = --output ]; then echo machine >"$2"; fi
    shift
done
echo '{}'"#;

/// One test at a time: a file that is being written cannot be run, and a process that another test
/// starts meanwhile has it open for a moment.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder with the script and the stubs in `bundle`, and an empty `tmp`.
fn bundled(befit: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [bundle, tmp] = ["bundle", "tmp"].map(|name| folder.path().join(name));
    fs::create_dir(&bundle).unwrap();
    fs::create_dir(tmp).unwrap();
    let script = include_str!("../src/bundle/measure.sh").to_owned();
    let stub = |text: &str| format!("#!/bin/sh\n{text}\n");
    for (name, text) in [("measure.sh", script), ("befit", stub(befit)), ("peers", stub(PEERS))] {
        let file = bundle.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// The script, called in `folder`.
fn script(folder: &Path, output: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .arg("bundle/measure.sh")
        .current_dir(folder)
        .args(output)
        .stderr(Stdio::null())
        .stdout(Stdio::null());
    command.env("FOLDER", folder).env("TMPDIR", folder.join("tmp"));
    command
}

fn calls(folder: &Path) -> String {
    fs::read_to_string(folder.join("calls")).unwrap_or_default()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn the_file_lies_where_the_caller_says() {
    let _alone = alone();
    let bundled = bundled(BEFIT);
    let folder = bundled.path();
    assert!(script(folder, &["mine.json"]).status().unwrap().success());
    let text = fs::read_to_string(folder.join("mine.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["threads"], &document["predicted"]), (&2.into(), &serde_json::json!({})));
    assert!(is_empty(&folder.join("tmp")) && !folder.join("mine.json.part").exists());
    assert!(script(folder, &[]).status().unwrap().success());
    assert_eq!(fs::read_to_string(folder.join("bundle/measured.json")).unwrap(), text);
}

#[test]
fn what_else_a_part_measured_counts_where_some_of_it_failed() {
    let _alone = alone();
    let bundled = bundled(BEFIT);
    let folder = bundled.path();
    // One ends with whole results, one in the middle of them.
    let peers = "case $1 in fib) echo '{}'; exit 1 ;; spawn) echo '{'; echo ' {}'; exit 1 ;; esac";
    fs::write(folder.join("bundle/peers"), format!("#!/bin/sh\n{peers}\n{PEERS}\n")).unwrap();
    assert!(script(folder, &["mine.json"]).status().unwrap().success());
    let text = fs::read_to_string(folder.join("mine.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let peers = document["peers"].as_array().unwrap();
    // Seven programs on one and on two threads.
    let lost = peers.iter().filter(|part| part.is_null()).count();
    assert_eq!((peers.len(), lost), (14, 2), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let _alone = alone();
    let bundled = bundled(BEFIT);
    let folder = bundled.path();
    for output in ["nowhere/mine.json", "tmp"] {
        assert_eq!(script(folder, &[output]).status().unwrap().code(), Some(1), "{output}");
    }
    assert_eq!(calls(folder), "");
}

#[test]
fn results_are_kept_where_the_file_cannot_be_written_in_the_end() {
    let _alone = alone();
    let bundled = bundled(&format!("{BEFIT}\nrm -rf \"$FOLDER/gone\""));
    let folder = bundled.path();
    fs::create_dir(folder.join("gone")).unwrap();
    assert_eq!(script(folder, &["gone/mine.json"]).status().unwrap().code(), Some(1));
    let work = fs::read_dir(folder.join("tmp")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(work.join("all")).unwrap();
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
}

/// The script where no file may have more than `blocks` of 512 or 1024 bytes: as on a full disk,
/// writing fails; returns its exit code and what it says.
fn without_room(folder: &Path, blocks: u32) -> (Option<i32>, String) {
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec /bin/sh bundle/measure.sh mine");
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", &limited]).current_dir(folder).stdout(Stdio::null());
    let output = sh.env("FOLDER", folder).env("TMPDIR", folder.join("tmp")).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn without_room_for_temporary_files_the_file_of_before_stays() {
    let _alone = alone();
    // There is no room for a single part, or for each part but not for all.
    let spaces = "i=0; while [ $i -lt 200 ]; do printf '%100s\\n' ''; i=$((i + 1)); done";
    for (more, blocks) in [(":", 0), (spaces, 200)] {
        let bundled = bundled(BEFIT);
        let folder = bundled.path();
        let stub = format!("#!/bin/sh\n{PEERS}\n[ \"$1\" = threads ] || {{ {more}; }}\n");
        fs::write(folder.join("bundle/peers"), stub).unwrap();
        fs::write(folder.join("mine"), "of before").unwrap();
        let (code, said) = without_room(folder, blocks);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("no room in {}", folder.join("tmp").display())), "{said}");
        assert_eq!(fs::read_to_string(folder.join("mine")).unwrap(), "of before");
        assert!(is_empty(&folder.join("tmp")) && !folder.join("mine.part").exists());
    }
}

#[test]
fn a_command_that_is_not_there_leaves_no_file_behind() {
    let _alone = alone();
    let bundled = bundled(BEFIT);
    let folder = bundled.path();
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["dirname", "timeout", "mktemp", "rm"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|place| place.join(name))
            .find(|file| file.exists());
        std::os::unix::fs::symlink(found.unwrap(), bin.join(name)).unwrap();
    }
    let status = script(folder, &["mine.json"]).env("PATH", &bin).status().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(is_empty(&folder.join("tmp")) && !folder.join("mine.json.part").exists());
    assert_eq!(calls(folder), "");
}

#[test]
fn the_script_is_in_its_own_folder_whatever_cdpath_says() {
    let _alone = alone();
    let bundled = bundled(BEFIT);
    let folder = bundled.path();
    fs::create_dir_all(folder.join("other/bundle")).unwrap();
    let status = script(folder, &["mine.json"]).env("CDPATH", folder.join("other")).status();
    assert!(status.unwrap().success());
    assert!(calls(folder).contains("peers fib"), "{}", calls(folder));
}

#[test]
fn asked_to_end_the_script_asks_once_what_it_runs_and_leaves_nothing() {
    let _alone = alone();
    let slow = r#"if [ "$1" = verify ]; then
    trap 'echo asked >>"$FOLDER/calls"' INT TERM
    echo verify >>"$FOLDER/calls"
    left=600
    while [ $left -gt 0 ] && ! grep -q asked "$FOLDER/calls"; do
        sleep 0.1
        left=$((left - 1))
    done
    sleep 0.3
    exit 130
fi"#;
    let bundled = bundled(&format!("{slow}\n{BEFIT}"));
    let folder = bundled.path();
    let mut script = script(folder, &["mine.json"]).spawn().unwrap();
    while !calls(folder).contains("verify") {
        assert!(script.try_wait().unwrap().is_none(), "it ended by itself");
        thread::sleep(Duration::from_millis(10));
    }
    let pid = script.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    assert_eq!(script.wait().unwrap().code(), Some(130));
    assert_eq!(calls(folder).matches("asked").count(), 1, "{}", calls(folder));
    assert!(!calls(folder).contains("peers fib"), "{}", calls(folder));
    assert!(is_empty(&folder.join("tmp")) && !folder.join("mine.json.part").exists());
}

#[test]
fn a_machine_that_was_not_calibrated_has_no_prediction() {
    let _alone = alone();
    let bundled = bundled("echo \"befit $*\" >>\"$FOLDER/calls\"; echo '{}'");
    let folder = bundled.path();
    assert!(script(folder, &["mine.json"]).status().unwrap().success());
    let text = fs::read_to_string(folder.join("mine.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(document["predicted"].is_null() && document["measured"].is_object(), "{text}");
    assert!(!calls(folder).contains("befit sim"), "{}", calls(folder));
}
