use std::thread;

use super::*;

const LOCK: &str = r#"# made by cargo
version = 4

[[package]]
name = "rayon"
version = "1.10.0"
dependencies = [
 "rayon-core",
]

[[package]]
name = "rayon-core"
version = "1.12.1"
checksum = "ab"

[[package]]
name = "zip"
version = "1.0.0"
"#;

/// A workspace `a/mine` beside `a/other`, with its target folder in it.
fn workspace(folder: &Path) -> Workspace {
    for at in ["a/mine/src", "a/mine/target", "a/other"] {
        fs::create_dir_all(folder.join(at)).unwrap();
    }
    fs::write(folder.join("a/mine/Cargo.toml"), "mine").unwrap();
    fs::write(folder.join("a/mine/Cargo.lock"), LOCK).unwrap();
    fs::write(folder.join("a/other/lib.rs"), "other").unwrap();
    let root = folder.join("a/mine");
    Workspace { target: root.join("target"), root, metadata: Value::Null }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn all_but_lockfile_and_target_are_seen_through_links_also_what_lies_beside_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path());
    let at = workspace.target.join("befit-record");
    // Twice: the second finds all in place.
    for _ in 0..2 {
        let overlay = Overlay::of(&workspace, &at, &workspace.root).unwrap();
        let root = overlay.path(&workspace.root);
        assert!(overlay.has(&root) && !overlay.has(&workspace.root));
        assert_eq!(read(&root.join("Cargo.toml")), "mine");
        assert_eq!(read(&root.join("../other/lib.rs")), "other");
        let beside = overlay.path(&workspace.root.join("../other"));
        assert_eq!(beside, overlay.path(&folder.path().join("a/other")));
        assert!(!root.is_symlink() && !root.join("target").exists());
    }
}

#[test]
fn links_follow_what_comes_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path());
    let overlay = Overlay::of(&workspace, folder.path(), folder.path()).unwrap();
    let seen = overlay.path(&workspace.root);
    fs::remove_dir(workspace.root.join("src")).unwrap();
    fs::write(workspace.root.join("build.rs"), "new").unwrap();
    Overlay::of(&workspace, folder.path(), folder.path()).unwrap();
    assert!(!seen.join("src").is_symlink());
    assert_eq!(read(&seen.join("build.rs")), "new");
}

#[test]
fn the_lockfile_is_the_users_without_rayon_core_until_cargo_has_written_it() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path());
    let lock = || {
        let overlay = Overlay::of(&workspace, folder.path(), folder.path()).unwrap();
        overlay.path(&workspace.root).join(LOCKFILE)
    };
    let own = read(&lock());
    assert!(own.contains("name = \"rayon\"") && own.contains("name = \"zip\""), "{own}");
    assert!(!own.contains("1.12.1"), "{own}");
    fs::write(lock(), "by cargo").unwrap();
    assert_eq!(read(&lock()), "by cargo");
    assert_eq!(read(&workspace.root.join(LOCKFILE)), LOCK);
    fs::write(workspace.root.join(LOCKFILE), LOCK.replace("zip", "zap")).unwrap();
    assert!(read(&lock()).contains("zap"));
    // What befit needs newer has changed.
    fs::write(folder.path().join(LOCKFILE), LOCK.replace("1.10.0", "1.11.0")).unwrap();
    assert!(!read(&lock()).contains("name = \"rayon\""));
}

#[test]
fn regression_a_lockfile_whose_lines_end_as_on_windows_is_understood() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path());
    fs::write(workspace.root.join(LOCKFILE), LOCK.replace('\n', "\r\n")).unwrap();
    assert!(workspace.may_use_rayon());
    let overlay = Overlay::of(&workspace, folder.path(), folder.path()).unwrap();
    assert_eq!(read(&overlay.lockfile(&workspace.root)), lock::with_room_for(LOCK, ""));
}

/// All files that are found in a folder, links followed, as cargo follows them.
fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    assert!(depth < 20, "without end: {}", folder.display());
    for name in names_in(folder).unwrap() {
        let path = folder.join(name);
        if path.is_dir() { walk(&path, depth + 1, found) } else { found.push(path) }
    }
}

#[test]
fn regression_no_folder_of_a_workspace_that_is_built_in_is_seen_wherever_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let mut workspace = workspace(folder.path());
    let root = workspace.root.clone();
    workspace.target = root.join("build/cargo");
    fs::create_dir_all(&workspace.target).unwrap();
    fs::create_dir_all(root.join("deep/in")).unwrap();
    for file in ["build/cargo/made", "build/own", "deep/own", "deep/in/own"] {
        fs::write(root.join(file), file).unwrap();
    }
    symlink(&root, folder.path().join("link")).unwrap();
    let below_link = folder.path().join("link/deep/in/b");
    let with_dots = root.join("src/../deep/in/c");
    for at in [workspace.target.join("a"), below_link, with_dots] {
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join("made"), "").unwrap();
        let beside = folder.path().join("a/other");
        let other = Workspace { target: at.clone(), root: beside, metadata: Value::Null };
        Overlay::of(&other, &at, &root).unwrap();
        for _ in 0..2 {
            let seen = Overlay::of(&workspace, &at, &root).unwrap().path(&root);
            let mut found = Vec::new();
            walk(&seen, 0, &mut found);
            let mut found: Vec<_> =
                found.iter().map(|it| it.strip_prefix(&seen).unwrap()).collect();
            found.sort_unstable();
            let own = ["Cargo.lock", "Cargo.toml", "build/own", "deep/in/own", "deep/own"];
            assert_eq!(found, own.map(Path::new), "{}", at.display());
            // Nor in a build that is the user's own.
            assert!(at.join("Cargo.toml").is_file());
        }
        fs::remove_dir_all(&at).unwrap();
    }
}

#[test]
fn a_workspace_may_use_rayon_if_it_asks_for_it_or_has_locked_it_or_has_locked_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut workspace = workspace(folder.path());
    let lock = workspace.root.join(LOCKFILE);
    assert!(workspace.may_use_rayon());
    fs::write(&lock, lock::with_room_for(LOCK, "")).unwrap();
    assert!(!workspace.may_use_rayon());
    let asks_for = |name: &str| {
        let dependency = serde_json::json!({"name": name, "path": "/b"});
        serde_json::json!({"packages": [{"dependencies": [dependency]}]})
    };
    workspace.metadata = asks_for("rayon");
    assert!(workspace.may_use_rayon() && workspace.befit().is_none());
    workspace.metadata = asks_for("befit");
    assert!(!workspace.may_use_rayon());
    assert_eq!(workspace.befit(), Some(Path::new("/b")));
    fs::remove_file(lock).unwrap();
    assert!(workspace.may_use_rayon());
}

/// A link that led to nothing any more was an error for the second that would remove it.
#[test]
fn regression_two_tidy_a_tree_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let [real, tree] = ["real", "tree"].map(|name| folder.path().join(name));
    fs::create_dir(&real).unwrap();
    let comes_and_goes = |name: &str| {
        for _ in 0..500 {
            fs::write(real.join(name), "").unwrap();
            mirror(&real, &tree, |_| true).unwrap();
            fs::remove_file(real.join(name)).unwrap();
            mirror(&real, &tree, |_| true).unwrap();
        }
    };
    thread::scope(|s| {
        s.spawn(|| comes_and_goes("one"));
        s.spawn(|| comes_and_goes("two"));
    });
    mirror(&real, &tree, |_| true).unwrap();
    assert!(names_in(&tree).unwrap().is_empty());
}
