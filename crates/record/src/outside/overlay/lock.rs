//! Lockfiles, as far as they must be understood.
//!
//! Cargo takes a patched package only if no locked package conflicts with it; else it keeps rayon's
//! own, and only warns. Conflicts are rayon-core in another version, and older versions of packages
//! that befit needs.

use std::{fs, io, path::Path};

const PACKAGE: &str = "[[package]]\n";

/// The text of a lockfile. Cargo keeps the ends of lines that it finds in one, also `\r\n`.
pub(super) fn read(file: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(file)?.replace("\r\n", "\n"))
}

/// The parts of a lockfile between its packages' headings; the first comes before all headings.
fn packages(lock: &str) -> impl Iterator<Item = &str> {
    lock.split(PACKAGE)
}

/// True if rayon-core is locked.
pub(super) fn names_rayon_core(lock: &str) -> bool {
    packages(lock).any(is_rayon_core)
}

/// Where the locked packages rayon-core come from, each a version and a source as in
/// `1.12.1 (registry+https://…)`.
pub(super) fn rayon_cores(lock: &str) -> Vec<String> {
    let one = |package| {
        let version = value(package, "version").unwrap_or_default();
        format!("{version} ({})", value(package, "source").unwrap_or("a folder"))
    };
    packages(lock).filter(|package| is_rayon_core(package)).map(one).collect()
}

fn is_rayon_core(package: &str) -> bool {
    value(package, "name") == Some("rayon-core")
}

/// The lockfile `users` without the packages that conflict with a rayon-core whose own lockfile is
/// `ours`: cargo then locks these anew.
pub(super) fn with_room_for(users: &str, ours: &str) -> String {
    let needed: Vec<_> = packages(ours).filter_map(Locked::new).collect();
    let in_the_way = |package: &&str| {
        let mine = Locked::new(package);
        is_rayon_core(package)
            || mine.is_some_and(|mine| needed.iter().any(|ours| mine.is_outdated_by(ours)))
    };
    packages(users).filter(|package| !in_the_way(package)).collect::<Vec<_>>().join(PACKAGE)
}

/// A package at a version, without what follows a `-` or `+`.
#[derive(Debug)]
struct Locked<'a> {
    name: &'a str,
    version: Vec<u64>,
}

impl<'a> Locked<'a> {
    fn new(package: &'a str) -> Option<Self> {
        let version = value(package, "version")?.split(['-', '+']).next()?;
        let version = version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { name: value(package, "name")?, version })
    }

    /// True if a build can have only one of the two, and `other` is newer.
    fn is_outdated_by(&self, other: &Self) -> bool {
        // Versions can stand for one another if they are equal up to the first number that is not
        // 0.
        let significant =
            |version: &[u64]| version.iter().position(|n| *n > 0).map(|at| version[..=at].to_vec());
        self.name == other.name
            && significant(&self.version) == significant(&other.version)
            && self.version < other.version
    }
}

fn value<'a>(package: &'a str, key: &str) -> Option<&'a str> {
    let values = package.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
    values.filter_map(|value| value.strip_suffix('"')).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(packages: &[(&str, &str)]) -> String {
        let packages = packages.iter().map(|(name, version)| {
            let dependencies = "dependencies = [\n \"rayon-core\",\n]\n";
            format!("\n{PACKAGE}name = \"{name}\"\nversion = \"{version}\"\n{dependencies}")
        });
        format!("# made by cargo\nversion = 4\n{}", packages.collect::<String>())
    }

    #[test]
    fn rayon_core_goes_whatever_its_version_and_nothing_else_that_befit_does_not_need() {
        let users = lock(&[("rayon", "1.10.0"), ("rayon-core", "1.12.1"), ("zip", "0.5.0")]);
        assert!(names_rayon_core(&users));
        assert_eq!(with_room_for(&users, ""), lock(&[("rayon", "1.10.0"), ("zip", "0.5.0")]));
        assert!(!names_rayon_core(&with_room_for(&users, "")));
        let fork = users.replace("\"1.12.1\"", "\"1.12.1\"\nsource = \"git+https://a.b\"");
        assert_eq!(rayon_cores(&fork), ["1.12.1 (git+https://a.b)"]);
        assert_eq!(rayon_cores(&users), ["1.12.1 (a folder)"]);
    }

    #[test]
    fn what_befit_needs_newer_goes_if_a_build_cannot_have_both() {
        let ours = lock(&[
            ("libc", "0.2.191"),
            ("syn", "3.0.9"),
            ("cfg", "1.2.0"),
            ("bits", "2.4.0"),
            ("rc", "1.0.0-rc.1"),
        ]);
        let users = lock(&[
            ("libc", "0.2.156"),
            ("syn", "2.0.9"),
            ("cfg", "1.3.0"),
            ("bits", "2.4.0"),
            ("rc", "1.0.0"),
        ]);
        let kept = [("syn", "2.0.9"), ("cfg", "1.3.0"), ("bits", "2.4.0"), ("rc", "1.0.0")];
        assert_eq!(with_room_for(&users, &ours), lock(&kept));
        assert_eq!(with_room_for(&ours, &ours), ours);
    }
}
