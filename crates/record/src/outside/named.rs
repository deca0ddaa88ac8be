//! Whether the source of a target names a crate: what a target does not name, it is not linked
//! with, though its package may have it for another.
//!
//! Files are looked at as text, and in doubt a name is there: in a comment, or where a module's
//! file is not found. Only a macro of another crate may bring a name that the text has not.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// False if `root`, a target's first file, and the files of its modules name none of `crates`.
pub(super) fn may_name(root: &Path, crates: &BTreeSet<String>) -> bool {
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    let mut next = vec![(root.to_owned(), folder)];
    let mut seen = BTreeSet::new();
    while let Some((file, folder)) = next.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&file) else { return true };
        let words = words(&text);
        // Other files that are part of it, by other names.
        let elsewhere =
            |pair: &[&str]| matches!(pair, ["include", "!"] | ["path", "="] | ["mod", "$"]);
        if words.windows(2).any(elsewhere) || words.iter().any(|word| crates.contains(*word)) {
            return true;
        }
        for (name, inline) in modules(&words) {
            let found = files(&name, &inline, &folder);
            if found.is_empty() {
                return true;
            }
            next.extend(found);
        }
    }
    false
}

/// The names, and all other characters but spaces, each by itself.
fn words(text: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if is_name(first) {
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    words
}

/// The modules that have files of their own, each with the modules that may be around it.
fn modules(words: &[&str]) -> Vec<(String, Vec<String>)> {
    let starting = |with: &str| -> Vec<String> {
        let is_one = |three: &&[&str]| three[0] == "mod" && three[2] == with;
        words.windows(3).filter(is_one).map(|three| three[1].to_owned()).collect()
    };
    let inline = starting("{");
    starting(";").into_iter().map(|name| (name, inline.clone())).collect()
}

/// The files that may be the module `name`, each with the folder of its own modules.
fn files(name: &str, inline: &[String], folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let around = inline.iter().map(|module| folder.join(module));
    let places = [folder.to_owned()].into_iter().chain(around);
    let candidates = places.flat_map(|place| {
        let own = place.join(name);
        [(own.with_extension("rs"), own.clone()), (own.join("mod.rs"), own)]
    });
    candidates.filter(|(file, _)| file.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a target of these files, the first its root, may name befit.
    fn names_befit(files: &[(&str, &str)]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        may_name(&folder.path().join(files[0].0), &BTreeSet::from(["befit".to_owned()]))
    }

    #[test]
    fn a_crate_is_named_in_any_file_of_the_target_and_only_as_a_whole_word() {
        let main = |text| ("src/main.rs", text);
        assert!(names_befit(&[main("fn main() { befit::join(a, b); }")]));
        assert!(!names_befit(&[main("fn main() { befitting::join(a, b); }")]));
        // Files of other targets say nothing.
        assert!(!names_befit(&[main("fn main() {}"), ("src/a.rs", "use befit::join;")]));
        let deep = [("src/a.rs", "pub mod b ;"), ("src/a/b/mod.rs", "use befit::join;")];
        assert!(names_befit(&[main("mod a;"), deep[0], deep[1]]));
        assert!(!names_befit(&[main("mod a;"), deep[0], ("src/a/b.rs", "fn b() {}")]));
        assert!(names_befit(&[main("mod a { mod b; }"), deep[1]]), "a file of an inline module");
    }

    #[test]
    fn in_doubt_a_crate_is_named() {
        let doubtful =
            ["mod a;", "include!(\"a\");", "#[path = \"a\"] mod a;", "mod $name;", "/* befit */"];
        for text in doubtful {
            assert!(names_befit(&[("main.rs", text)]), "{text}");
        }
    }
}
