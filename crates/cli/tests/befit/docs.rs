//! The documentation: its links lead somewhere, the book has all pages, and the README's way to a
//! page about one's own program works.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{assert_ends, command, users};

/// This checkout.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// All Markdown files of the checkout; not what is built.
fn pages(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // A folder `shared` or a link to one is not the project's.
        let is_ours =
            !name.starts_with('.') && !["target", "shared", "node_modules"].contains(&&*name);
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && is_ours {
            pages(&path, found);
        } else if kind.is_file() && name.ends_with(".md") {
            found.insert(path);
        }
    }
}

/// The targets of a page's links, without code.
fn links(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            plain += line;
            plain.push('\n');
        }
    }
    let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.split_whitespace().collect()).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut all = BTreeSet::new();
    pages(root(), &mut all);
    assert!(all.len() > 40, "{} pages", all.len());
    let mut broken = Vec::new();
    for page in &all {
        for link in links(&fs::read_to_string(page).unwrap()) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let is_there = target.exists();
            let is_page = target.extension().is_some_and(|extension| extension == "md");
            let has_anchor = || anchors(&fs::read_to_string(&target).unwrap()).contains(anchor);
            if !is_there || is_page && !anchor.is_empty() && !has_anchor() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_book_has_every_page_of_the_documentation_once() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let chapters = links(&summary);
    let of_book: BTreeSet<PathBuf> = chapters.iter().map(|chapter| docs.join(chapter)).collect();
    assert_eq!(of_book.len(), chapters.len(), "a chapter stands twice");
    let mut all = BTreeSet::new();
    pages(&docs, &mut all);
    all.remove(&docs.join("SUMMARY.md"));
    // Generated, and read by people one by one.
    all.retain(|page| !page.starts_with(docs.join("verified")));
    assert_eq!(of_book, all);
}

/// From a clone to a page about one's own program that uses rayon: the last of the README's three
/// commands, as it stands there. Its first two make this checkout and this command.
#[test]
fn three_commands_of_the_readme_lead_to_a_page_about_ones_own_program() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```sh\ngit clone ").unwrap();
    let lines: Vec<_> = rest.lines().take(4).collect();
    let [clone, install, compare, "```"] = lines[..] else { panic!("{lines:?}") };
    assert!(clone.ends_with(" && cd befit"), "{clone}");
    let folder = install.strip_prefix("cargo install --locked --path ").unwrap();
    assert!(root().join(folder).join("Cargo.toml").is_file(), "{install}");

    let _alone = users::alone("own");
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    let manifest = users::package("own", &format!("rayon = \"1\"{}", users::WORKSPACE));
    users::write(&own, &[("Cargo.toml", &manifest), ("src/main.rs", users::USES_RAYON)]);
    let page = folder.path().join("page.html");
    let line = compare
        .replace("path/to/Cargo.toml", own.join("Cargo.toml").to_str().unwrap())
        .replace("page.html", page.to_str().unwrap())
        .replace("its arguments", "30000");
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("befit"));
    let mut words: Vec<_> = words.collect();
    // The folder in which other tests have built befit for programs that use rayon.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("users-rayon");
    words.splice(1..1, ["--target-dir", target.to_str().unwrap()]);
    let output = command(&words).env("BEFIT_CACHE", folder.path().join("cache")).output().unwrap();
    assert_ends(&output, 0, &["odd: 15000"]);
    let page = fs::read_to_string(page).unwrap();
    for words in ["own 30000", "where misses come from", "src/main.rs:"] {
        assert!(page.contains(words), "the page has no '{words}'");
    }
}
