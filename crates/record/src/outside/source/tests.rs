//! Which files are the program's own. That lines are found is tested with a recorded program
//! (`tests/sources.rs`).

use super::*;

fn own(file: &str) -> bool {
    let mut libraries = Libraries::default();
    // The C code may come from another checkout, through a compiler cache.
    assert!(libraries.have("/other/crates/record/src/inside/c/region.c"));
    assert!(libraries.have("/befit/crates/record/src/inside/mod.rs"));
    !libraries.have(file)
}

#[test]
fn the_program_s_own_packages_are_no_libraries() {
    for file in [
        "/home/me/sort/src/main.rs",
        "/home/me/sort/../shared/src/lib.rs",
        "/home/me/rayon/rayon-demo/src/main.rs",
        "/befit/kernels/src/rrm.rs",
        "/befit/compat/programs/src/bin/fourier.rs",
    ] {
        assert!(own(file), "{file}");
    }
}

#[test]
fn the_standard_library_rayon_befit_and_what_cargo_fetches_are_libraries() {
    for file in [
        "/rustc/0123456789abcdef/library/core/src/ops/function.rs",
        "/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/panic.rs",
        "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/rayon-1.12.0/src/slice/mod.rs",
        "/root/.cargo/git/checkouts/sorts-0123/4567/src/lib.rs",
        "/home/me/sort/vendor/sorts/src/lib.rs",
        "/home/me/rayon/rayon-core/src/join/mod.rs",
        "/befit/crates/runtime/src/serial/mod.rs",
        "/befit/crates/queue/src/lib.rs",
        "/befit/compat/rayon-core/src/free.rs",
    ] {
        assert!(!own(file), "{file}");
    }
}

#[test]
fn regression_a_folder_vendor_above_the_workspace_makes_no_library_of_the_program() {
    let root = "/home/vendor/me/sort";
    let overlay = format!("{root}/target/befit-record/overlay-0123456789abcdef{root}");
    let mut known = Libraries::of(Some(root.into()));
    for at in [root, &overlay] {
        assert!(!known.have(&format!("{at}/src/main.rs")), "{at}");
        assert!(!known.have(&format!("{at}/src/vendor.rs")), "{at}");
        assert!(known.have(&format!("{at}/vendor/sorts/src/lib.rs")), "{at}");
    }
    // Packages may be vendored elsewhere.
    assert!(known.have("/srv/vendor/sorts/src/lib.rs"));
}

#[test]
fn the_root_of_a_workspace_is_the_folder_with_the_lockfile_above_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let program = root.join("target/befit-record/a-b-c/release/sort");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, "").unwrap();
    assert_ne!(workspace(&program), Some(root.clone()));
    fs::write(root.join("Cargo.lock"), "").unwrap();
    assert_eq!(workspace(&program), Some(root));
}

#[test]
fn a_file_is_named_from_its_package_on() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(in_package(&here.join("src/outside/source.rs")), "src/outside/source.rs");
    assert_eq!(in_package(Path::new("/nowhere/sort/src/bin/two.rs")), "src/bin/two.rs");
    assert_eq!(in_package(Path::new("/nowhere/sort.rs")), "/nowhere/sort.rs");
}

#[test]
fn a_program_without_line_tables_has_no_sources() {
    for program in ["/nowhere/nothing", "/bin/sh", "/etc/passwd"] {
        assert_eq!(Sources::of(program).find(&[0x1000, 0, u64::MAX]), None, "{program}");
    }
}
