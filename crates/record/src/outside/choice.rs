//! Which binary of a workspace is meant, and whether it can be recorded: known from cargo's
//! metadata and the lockfile, before anything is built.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;

use super::{Build, BuildError, named::may_name, overlay::Workspace};

/// The binary or example to build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub(super) package: Option<String>,
    /// `--bin` or `--example`.
    pub(super) flag: &'static str,
    pub(super) name: String,
}

/// The packages without which nothing can be recorded: any will do.
const RECORDED: [&str; 2] = ["befit", "rayon-core"];

/// Packages whose libraries have their own names, with `_` for `-`.
const NAMED_ALIKE: [&str; 3] = ["befit", "rayon", "rayon-core"];

/// The kinds of targets that others of the package are linked with.
const LIBRARIES: [&str; 4] = ["lib", "rlib", "dylib", "cdylib"];

impl Workspace {
    /// The binary that `build` means: the one that it names, or else the package's `default-run` or
    /// its only one.
    ///
    /// # Errors
    /// There is no such package or binary, or none at all, or several; or it is to be recorded and
    /// has neither befit nor rayon among all its dependencies, or names none that brings them.
    pub(super) fn choose(&self, build: &Build) -> Result<Choice, BuildError> {
        let meant = self.meant(build);
        if let (Some(name), []) = (&build.target.package, &meant[..]) {
            let packages = self.metadata["packages"].as_array().into_iter().flatten();
            let known = packages.filter_map(|package| package["name"].as_str()).collect::<Vec<_>>();
            let (name, known) = (name.clone(), known.join(", "));
            return Err(BuildError::NoSuchPackage { name, known });
        }
        let (flag, kind, asked) = match (&build.target.example, &build.target.bin) {
            (Some(example), _) => ("--example", "example", Some(example)),
            (None, bin) => ("--bin", "bin", bin.as_ref()),
        };
        let kinds = [kind];
        let of = |package| -> Vec<String> {
            let names = targets(package, &kinds).filter_map(|target| target["name"].as_str());
            names.map(str::to_owned).collect()
        };
        let mut found: Vec<(&Value, String)> = meant
            .iter()
            .flat_map(|package| of(package).into_iter().map(move |name| (*package, name)))
            .collect();
        let known: Vec<String> = found.iter().map(|(_, name)| name.clone()).collect();
        if let Some(asked) = asked {
            found.retain(|(_, name)| name == asked);
            if found.is_empty() {
                let name = asked.clone();
                return Err(BuildError::NoSuchTarget { flag, name, known: known.join(", ") });
            }
        }
        if let ([package], None) = (&meant[..], asked)
            && let Some(default) = package["default_run"].as_str()
        {
            found.retain(|(_, name)| name == default);
        }
        if found.is_empty() {
            return Err(BuildError::NoBinary);
        }
        // What is not recorded need not have anything to record.
        if !build.plain {
            found.retain(|(package, _)| self.may_be_recorded(package));
            let unnamed = found.first().and_then(|(package, name)| {
                let file = source(package, kind, name)?.to_owned();
                Some(BuildError::NotNamed { flag, name: name.clone(), file })
            });
            found.retain(|(package, name)| {
                source(package, kind, name).is_none_or(|file| self.may_bring(package, file, kind))
            });
            if found.is_empty() {
                return Err(unnamed.unwrap_or(BuildError::WithoutBefit));
            }
        }
        match &found[..] {
            [] => Err(BuildError::WithoutBefit),
            [(package, name)] => {
                Ok(Choice { package: specification(package), flag, name: name.clone() })
            }
            [(_, name), others @ ..] if others.iter().all(|(_, other)| other == name) => {
                let packages = found.iter().filter_map(|(package, _)| package["name"].as_str());
                let packages = packages.map(str::to_owned).collect();
                Err(BuildError::WhichPackage { flag, name: name.clone(), packages })
            }
            several => {
                let mut names: Vec<String> = Vec::new();
                for (_, name) in several {
                    if !names.contains(name) {
                        names.push(name.clone());
                    }
                }
                Err(BuildError::WhichBinary(names))
            }
        }
    }

    /// The packages among whose binaries one is meant.
    fn meant(&self, build: &Build) -> Vec<&Value> {
        let all = || self.metadata["packages"].as_array().into_iter().flatten();
        if let Some(asked) = &build.target.package {
            return all().filter(|package| is_asked_for(package, asked)).collect();
        }
        let manifest =
            build.target.manifest_path.as_deref().and_then(|path| path.canonicalize().ok());
        let is_meant = |package: &&Value| {
            let own =
                package["manifest_path"].as_str().and_then(|p| Path::new(p).canonicalize().ok());
            own.is_some() && own == manifest
        };
        if let Some(package) = all().find(is_meant) {
            return vec![package];
        }
        let members = self.metadata["workspace_default_members"].as_array();
        let is_member = |package: &&Value| members.is_none_or(|m| m.contains(&package["id"]));
        all().filter(is_member).collect()
    }

    /// False if the lockfile shows that nothing that `package` is built with can be recorded.
    fn may_be_recorded(&self, package: &Value) -> bool {
        let lock = self.lockfile();
        let lock = dependencies(&lock);
        let own = package["name"].as_str().filter(|own| lock.contains_key(own));
        own.is_some_and(|own| brings(own, &lock))
            || direct(package).any(|one| brings(one["name"].as_str().unwrap_or_default(), &lock))
    }

    /// False if the target that begins in `file`, of this kind, names no crate that can be recorded
    /// or brings one: then it is not linked with any.
    fn may_bring(&self, package: &Value, file: &Path, kind: &str) -> bool {
        let lock = self.lockfile();
        let lock = dependencies(&lock);
        let as_named = |name: &str| name.replace('-', "_");
        // A binary does not see what examples and tests alone need, nor build scripts' needs.
        let is_seen = |one: &&Value| match one["kind"].as_str() {
            Some("dev") => kind == "example",
            other => other.is_none(),
        };
        let mut crates = BTreeSet::new();
        for one in direct(package).filter(is_seen) {
            let name = one["name"].as_str().unwrap_or_default();
            if !brings(name, &lock) {
                continue;
            }
            let rename = one["rename"].as_str();
            crates.insert(as_named(rename.unwrap_or(name)));
            match self.member(name) {
                Some(member) => {
                    let own = targets(member, &LIBRARIES).next();
                    crates.extend(own.and_then(|target| target["name"].as_str()).map(as_named));
                }
                // The library's name may be another than the package's. The manifest that has it is
                // elsewhere.
                None if rename.is_none() && !NAMED_ALIKE.contains(&name) => return true,
                None => {}
            }
        }
        let library = targets(package, &LIBRARIES).next();
        if let Some(library) = library
            && library["src_path"].as_str().is_none_or(|own| may_name(Path::new(own), &crates))
        {
            crates.extend(library["name"].as_str().map(as_named));
        }
        may_name(file, &crates)
    }

    /// The text of the lockfile; empty without one.
    fn lockfile(&self) -> String {
        fs::read_to_string(self.root.join("Cargo.lock")).unwrap_or_default()
    }

    /// The package of that name, if it is one of the workspace's.
    fn member(&self, name: &str) -> Option<&Value> {
        let mut all = self.metadata["packages"].as_array().into_iter().flatten();
        all.find(|one| one["name"] == name)
    }
}

/// What cargo knows a package by, also where the lockfile has another package of that name.
fn specification(package: &Value) -> Option<String> {
    let name = package["name"].as_str()?;
    Some(match package["version"].as_str() {
        Some(version) => format!("{name}@{version}"),
        None => name.to_owned(),
    })
}

/// Whether a package is the one that `--package` names: by its name, or as `name@version`.
fn is_asked_for(package: &Value, asked: &str) -> bool {
    let (name, version) = asked.split_once('@').map_or((asked, None), |(n, v)| (n, Some(v)));
    package["name"] == *name && version.is_none_or(|version| package["version"] == *version)
}

/// The targets of a package that are of one of these kinds.
fn targets<'a>(package: &'a Value, kinds: &[&str]) -> impl Iterator<Item = &'a Value> {
    let all = package["targets"].as_array().into_iter().flatten();
    all.filter(|target| {
        let own = target["kind"].as_array().into_iter().flatten().filter_map(Value::as_str);
        own.into_iter().any(|kind| kinds.contains(&kind))
    })
}

/// The first file of a target of that kind and name.
fn source<'a>(package: &'a Value, kind: &str, name: &str) -> Option<&'a Path> {
    let found = targets(package, &[kind]).find(|target| target["name"] == name)?;
    found["src_path"].as_str().map(Path::new)
}

/// What the manifest of a package asks for.
fn direct(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}

/// Whether the package of that name can be recorded or depends on one that can. What was added to
/// the manifest since cargo last looked, and is not in the lockfile, may bring anything.
fn brings(name: &str, lock: &BTreeMap<&str, Vec<&str>>) -> bool {
    let mut next = vec![name];
    let mut seen = BTreeSet::new();
    while let Some(name) = next.pop() {
        let Some(more) = lock.get(name) else { return true };
        if RECORDED.contains(&name) {
            return true;
        }
        if seen.insert(name) {
            next.extend(more);
        }
    }
    false
}

/// The names of the packages that each package of a lockfile depends on, all its versions together.
fn dependencies(lock: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let quoted = |text: &'_ str| -> Option<(usize, usize)> {
        let begin = text.find('"')? + 1;
        Some((begin, begin + text[begin..].find('"')?))
    };
    let mut package = "";
    for line in lock.lines() {
        let Some((begin, end)) = quoted(line) else { continue };
        let word = line[begin..end].split(' ').next().unwrap_or_default();
        if line.starts_with("name = ") {
            package = word;
            all.entry(package).or_default();
        } else if line.starts_with(' ') {
            all.entry(package).or_default().push(word);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Target;

    /// A workspace of two packages: `app` with two binaries and an example, on `lib`, and `tool`.
    fn workspace(root: &Path, default_run: Option<&str>) -> Workspace {
        let target = |kind: &str, name: &str| json!({"kind": [kind], "name": name});
        let package = |name: &str, targets: Vec<Value>, dependency: &str| {
            json!({
                "name": name, "id": name, "targets": targets, "default_run": default_run,
                "manifest_path": root.join(name).join("Cargo.toml"),
                "dependencies": [{"name": dependency}],
            })
        };
        let app = vec![target("bin", "one"), target("bin", "two"), target("example", "show")];
        let tool = vec![target("bin", "t")];
        let metadata = json!({
            "workspace_root": root, "target_directory": root.join("target"),
            "workspace_default_members": ["app", "tool"],
            "packages": [package("app", app, "lib"), package("tool", tool, "libc")],
        });
        Workspace::new(&metadata.to_string()).unwrap()
    }

    fn lock(root: &Path, befit: &str) {
        let entry = |name: &str, dependency: &str| {
            format!("[[package]]\nname = \"{name}\"\ndependencies = [\n \"{dependency}\",\n]\n\n")
        };
        let text = entry("app", "lib") + &entry("lib", befit) + &entry("tool", "libc 0.2");
        let text = text + "[[package]]\nname = \"libc\"\n\n" + &entry(befit, "libc");
        fs::write(root.join("Cargo.lock"), text).unwrap();
    }

    fn build(package: Option<&str>, bin: Option<&str>, example: Option<&str>) -> Build {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let (package, bin, example) = (text(package), text(bin), text(example));
        let target = Target { package, bin, example, ..Target::default() };
        Build { target, ..Build::default() }
    }

    #[test]
    fn the_binary_is_the_one_that_is_named_or_the_only_one_that_can_be_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        lock(root, "rayon-core");
        let choose = |default, build: &Build| {
            let choice = workspace(root, default).choose(build);
            choice.map(|c| format!("{} {} {}", c.package.unwrap(), c.flag, c.name))
        };
        let named = |bin| choose(None, &build(None, bin, None)).unwrap();
        assert_eq!(named(Some("two")), "app --bin two");
        let example = choose(None, &build(Some("app"), None, Some("show"))).unwrap();
        assert_eq!(example, "app --example show");
        let default = choose(Some("one"), &build(Some("app"), None, None)).unwrap();
        assert_eq!(default, "app --bin one");
        // `tool` has nothing to record.
        for (wrong, said) in [
            (build(None, None, None), "several binaries: one, two;"),
            (build(None, Some("three"), None), "no --bin three; there are: one, two, t"),
            (build(None, Some("t"), None), "uses neither befit nor rayon"),
            (build(Some("tool"), None, Some("show")), "no --example show; there are: none"),
        ] {
            let error = choose(None, &wrong).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let plain = Build { plain: true, ..build(None, Some("t"), None) };
        assert_eq!(choose(None, &plain).unwrap(), "tool --bin t");
    }

    #[test]
    fn a_binary_that_names_nothing_that_brings_befit_is_refused_and_not_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        lock(root, "rayon-core");
        let write = |file: &str, text: &str| fs::write(root.join(file), text).unwrap();
        let mut all = workspace(root, None);
        for target in all.metadata["packages"][0]["targets"].as_array_mut().unwrap() {
            let name = target["name"].as_str().unwrap().to_owned();
            target["src_path"] = json!(root.join(name + ".rs"));
        }
        write("one.rs", "use lib::go;");
        write("two.rs", "fn main() {}");
        let two = build(None, Some("two"), None);
        // Of what is no package of the workspace nobody knows what its library is called.
        assert!(all.choose(&two).is_ok());
        let lib = json!({"name": "lib", "targets": [{"kind": ["lib"], "name": "other_lib"}]});
        all.metadata["packages"].as_array_mut().unwrap().push(lib);
        let of = |bin| all.choose(&build(None, bin, None));
        assert_eq!(of(None).unwrap().name, "one");
        let error = of(Some("two")).unwrap_err();
        assert!(error.is_usage(), "{error}");
        let said = error.to_string();
        for word in ["two.rs names neither befit nor rayon", "--bin two has no forks"] {
            assert!(said.contains(word), "{said}");
        }
        // By the package's own library, if that names one.
        let library = json!({"kind": ["lib"], "name": "app", "src_path": root.join("lib.rs")});
        all.metadata["packages"][0]["targets"].as_array_mut().unwrap().push(library);
        write("two.rs", "use app::go;");
        for (text, found) in [("use lib::go;", true), ("pub fn go() {}", false)] {
            write("lib.rs", text);
            assert_eq!(all.choose(&two).is_ok(), found, "{text}");
        }
        write("two.rs", "use other_lib::go;");
        assert!(all.choose(&two).is_ok());
        // Rayon's library is called as rayon is, and so is one that is renamed.
        all.metadata["packages"].as_array_mut().unwrap().pop();
        for dependency in [json!({"name": "rayon-core"}), json!({"name": "lib", "rename": "l"})] {
            all.metadata["packages"][0]["dependencies"] = json!([dependency]);
            for (text, found) in [("use rayon_core as l;", true), ("use other_lib::go;", false)] {
                write("two.rs", text);
                assert_eq!(all.choose(&two).is_ok(), found, "{dependency}: {text}");
            }
        }
    }

    #[test]
    fn a_package_is_named_with_its_version_where_it_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = workspace(folder.path(), None);
        all.metadata["packages"][0]["version"] = json!("1.2.0");
        let package =
            |asked| Some(all.choose(&build(Some(asked), Some("one"), None)).ok()?.package);
        let expected = Some(Some("app@1.2.0".to_owned()));
        assert_eq!([package("app"), package("app@1.2.0")], [expected.clone(), expected]);
        assert_eq!(package("app@1.2.1"), None);
    }

    #[test]
    fn regression_of_two_packages_with_a_binary_of_one_name_one_is_to_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = workspace(folder.path(), None);
        all.metadata["packages"][1]["targets"][0]["name"] = json!("one");
        let said = |bin| all.choose(&build(None, bin, None)).unwrap_err().to_string();
        let both = said(Some("one"));
        assert!(both.contains("a --bin one: app, tool; name one of them with --package"), "{both}");
        let several = said(None);
        assert!(several.contains("several binaries: one, two; name one"), "{several}");
        assert!(all.choose(&build(Some("tool"), Some("one"), None)).is_ok());
    }

    #[test]
    fn what_the_lockfile_does_not_know_yet_may_bring_befit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let one = build(None, Some("one"), None);
        assert!(workspace(root, None).choose(&one).is_ok(), "no lockfile");
        lock(root, "serde");
        assert!(matches!(workspace(root, None).choose(&one), Err(BuildError::WithoutBefit)));
        fs::write(root.join("Cargo.lock"), "").unwrap();
        assert!(workspace(root, None).choose(&one).is_ok(), "a lockfile without lib");
    }
}
