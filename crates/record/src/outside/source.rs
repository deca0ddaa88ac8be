//! The line of the program's own source that a site is at: of the functions that run at a fork, the
//! innermost one that is not a library's.
//!
//! The instrumented build has line tables, and its process tells the return addresses on its stack.

use std::{
    cell::{OnceCell, RefCell},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use addr2line::{Context, Frame};
use befit_program::Source;
use gimli::{Dwarf, EndianRcSlice, RunTimeEndian};
use object::{Object, ObjectSection};

#[cfg(test)]
mod tests;

type Bytes = EndianRcSlice<RunTimeEndian>;

/// Finds sources in the line tables of a program, which are read when they are first needed.
pub(super) struct Sources {
    program: PathBuf,
    lines: OnceCell<Option<Context<Bytes>>>,
    libraries: RefCell<Libraries>,
}

impl Sources {
    /// For the program in the file `program`. Where it has no line tables, no source is known.
    pub(super) fn of(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let libraries = RefCell::new(Libraries::of(workspace(&program)));
        Self { program, lines: OnceCell::new(), libraries }
    }

    /// The source of a fork with these return addresses, the innermost first. Milliseconds.
    pub(super) fn find(&self, callers: &[u64]) -> Option<Source> {
        let lines = self.lines.get_or_init(|| read(&self.program)).as_ref()?;
        let mut libraries = self.libraries.borrow_mut();
        for address in callers {
            // What comes before the return address is the call.
            let frames = lines.find_frames(address.saturating_sub(1)).skip_all_loads();
            let Ok(mut frames) = frames else { continue };
            while let Ok(Some(frame)) = frames.next() {
                if let Some(source) = source(&frame, &mut libraries) {
                    return Some(source);
                }
            }
        }
        None
    }
}

/// The line tables of a program; none if it has none that can be read.
fn read(program: &Path) -> Option<Context<Bytes>> {
    let bytes = fs::read(program).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |name: &str| {
        let section = file.section_by_name(name);
        let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Bytes::new(Rc::from(bytes), endian)
    };
    let dwarf = Dwarf::load(|id| Ok::<_, gimli::Error>(section(id.name())));
    Context::from_dwarf(dwarf.ok()?).ok()
}

/// Where a function is, unless that is in a library.
fn source(frame: &Frame<'_, Bytes>, libraries: &mut Libraries) -> Option<Source> {
    let location = frame.location.as_ref()?;
    let (file, line) = (location.file?, location.line?);
    if libraries.have(file) {
        return None;
    }
    let function = frame.function.as_ref()?.demangle().ok()?;
    Some(Source { file: in_package(Path::new(file)).into(), line, function: function.into() })
}

/// What is not the program's own code: the standard library, packages from a registry or from git,
/// rayon, and befit. Packages that the program names by a path are its own.
#[derive(Default)]
struct Libraries {
    /// The workspace's root, if that is known.
    root: Option<PathBuf>,
    /// The folder of befit's crates, once a function of the recorder has shown where it is. There
    /// may be two: C code that a compiler cache has is that of the checkout that built it first.
    befit: Vec<PathBuf>,
}

impl Libraries {
    fn of(root: Option<PathBuf>) -> Self {
        Self { root, ..Self::default() }
    }

    fn have(&mut self, file: &str) -> bool {
        if let Some((crates, _)) = file.split_once("/record/src/inside/")
            && !self.befit.iter().any(|known| known == Path::new(crates))
        {
            self.befit.push(crates.into());
        }
        let is_standard = file.starts_with("/rustc/") || file.contains("/rustlib/src/rust/");
        let fetched = ["/registry/src/", "/git/checkouts/"];
        let rayon = ["/rayon/src/", "/rayon-core/src/"];
        is_standard
            || fetched.into_iter().chain(rayon).any(|part| file.contains(part))
            || self.have_vendored(file)
            || self.befit.iter().any(|crates| is_befit(crates, Path::new(file)))
    }

    /// Whether a file lies in a folder that packages are vendored into. Above the workspace's root
    /// that name means nothing.
    fn have_vendored(&self, file: &str) -> bool {
        // Through an overlay, after whose name the path begins anew.
        let in_overlay = file.rsplit_once("/overlay-").and_then(|(_, rest)| rest.split_once('/'));
        let file = in_overlay.map_or(file.to_owned(), |(_, path)| format!("/{path}"));
        let root = self.root.as_deref().unwrap_or(Path::new("/"));
        let below = Path::new(&file).strip_prefix(root).unwrap_or(Path::new(&file));
        // The last one is the file's own name.
        below.iter().rev().skip(1).any(|folder| folder == "vendor")
    }
}

/// The root of the workspace that a program was built in: cargo has put the program into a folder
/// of it, unless that was asked to be elsewhere.
fn workspace(program: &Path) -> Option<PathBuf> {
    let has_lock = |folder: &&Path| folder.join("Cargo.lock").is_file();
    let program = program.canonicalize().ok()?;
    // What cargo builds in has no such file, but for overlays, and programs do not lie in these.
    program.ancestors().skip(1).find(has_lock).map(Path::to_owned)
}

/// The crates of befit that a recorded program runs; others beside them, such as the kernels', are
/// programs.
fn is_befit(crates: &Path, file: &Path) -> bool {
    let ours = ["machine", "queue", "record", "runtime", "sched"];
    ours.iter().any(|name| file.starts_with(crates.join(name)))
}

/// A file's name from its package's folder on: the innermost with a manifest. Where there is none
/// (any more), from the folder `src` on.
fn in_package(file: &Path) -> String {
    let has_manifest = |folder: &&Path| folder.join("Cargo.toml").is_file();
    let sources = || file.ancestors().find(|folder| folder.ends_with("src"))?.parent();
    let package = file.ancestors().skip(1).find(has_manifest).or_else(sources);
    let relative = package.and_then(|package| file.strip_prefix(package).ok()).unwrap_or(file);
    relative.to_string_lossy().into_owned()
}
