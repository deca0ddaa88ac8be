use std::fs;

use super::*;
use crate::{Bytes, Cycles, MachineSpec, Part, Placement, invariants};

const HOST: &str = "(mhz=2600) l3:1(size=32MiB ways=16) core:4 l2:1(size=1MiB ways=16)
                    l1:1(size=48KiB ways=12) pu:1";

fn host() -> Machine {
    HOST.parse().unwrap()
}

/// The host with a calibration file of this text.
fn calibrated(text: &str) -> Result<Machine, MachineError> {
    applied(host(), text)
}

fn applied(host: Machine, text: &str) -> Result<Machine, MachineError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.machine");
    fs::write(&path, text).unwrap();
    from_file(host, &path, || Some("Zen 4".to_owned()))
}

#[test]
fn figures_come_from_the_file_and_workers_from_the_host() {
    let text = "# measured\n  # é\n(mhz=3350 latency=400 bandwidth=12 streams=60 call=77)\n\
                l3:1(size=6MiB ways=12 latency=50 link=20) core:2 l2:1(size=1MiB latency=13)\n\
                l1:1(size=48KiB ways=12) pu:1";
    let m = calibrated(text).unwrap();
    invariants::check(&m);
    assert_eq!((m.workers().len(), m.mhz, m.name.as_str()), (4, 3350, host().name.as_str()));
    assert_eq!((m.memory.latency, m.memory.streams), (Cycles(400), Some(60.0)));
    assert_eq!((m.prices.call, m.prices.wake), (77.0, 5.0 * 3350.0));
    let l3 = m.clusters()[1].cache.unwrap();
    assert_eq!((l3.size, l3.ways, l3.latency), (Bytes::mib(6), 12, Cycles(50)));
    assert_eq!(l3.link.unwrap().write, 20.0);
    assert!(m.calibration().unwrap().ends_with("host.machine"));
}

#[test]
fn the_number_of_controllers_is_the_host_s() {
    for (of_host, of_file, placement, expected) in [
        (1, 4, "interleaved", Placement::Interleaved),
        (1, 4, "3", Placement::Bound(1)),
        (4, 1, "interleaved", Placement::Interleaved),
        (4, 1, "1", Placement::Bound(1)),
        (4, 4, "3", Placement::Bound(3)),
    ] {
        let mut host = host();
        host.memory.controllers = of_host;
        let file = format!(
            "(mhz=3350 bandwidth=12 controllers={of_file} placement={placement}) l3:1(size=6MiB) \
             core:4 l2:1(size=1MiB) l1:1(size=48KiB) pu:1"
        );
        let memory = applied(host, &file).unwrap().memory;
        assert_eq!((memory.controllers, memory.placement), (of_host, expected));
        assert_eq!(memory.bandwidth, 12.0);
    }
}

#[test]
fn a_cache_becomes_no_smaller_than_one_below_it() {
    // The cores of the second kind share an L2 of another size, which was not measured.
    let hybrid = || {
        let l1 = Part::cache(1, Bytes::kib(32), 8, vec![Part::worker(None)]);
        let core = Part::core(100, vec![l1]);
        let big = Part::cache(2, Bytes::mib(1), 16, vec![core.clone()]);
        let little = Part::cache(2, Bytes::mib(4), 16, vec![core; 4]);
        let l3 = Part::cache(3, Bytes::mib(12), 12, vec![big, little]);
        MachineSpec::new("host", vec![l3]).build().unwrap()
    };
    for (found, size) in [("6MiB ways=12", Bytes::mib(6)), ("3MiB ways=12", Bytes(4_194_816))] {
        let file = format!("l3:1(size={found}) core:1 l2:1(size=768KiB) l1:1(size=32KiB) pu:1");
        let m = applied(hybrid(), &file).unwrap();
        invariants::check(&m);
        let sizes: Vec<Bytes> = m.clusters().iter().skip(1).map(|c| c.size()).take(4).collect();
        let l1 = Bytes::kib(32);
        assert_eq!(sizes, [size, Bytes::kib(768), l1, Bytes::mib(4)]);
    }
}

#[test]
fn a_file_of_other_caches_is_not_used_and_the_name_says_so() {
    let m = calibrated("(mhz=3350) core:4 l2:1 l1:1 pu:1").unwrap();
    assert_eq!((m.mhz, m.calibration()), (2600, None));
    assert!(m.name.ends_with(OF_ANOTHER));
}

#[test]
fn regression_a_file_that_found_more_than_a_cache_has_is_of_another_machine() {
    let with = |l3: &str, l1: &str| {
        let text =
            format!("(mhz=3350) l3:1(size={l3}) core:4 l2:1(size=1MiB) l1:1(size={l1}) pu:1");
        calibrated(&text).unwrap()
    };
    assert_eq!(with("32MiB", "48KiB").mhz, 3350);
    for (l3, l1) in [("33MiB", "48KiB"), ("16MiB", "64KiB")] {
        let m = with(l3, l1);
        assert_eq!((m.mhz, m.calibration()), (2600, None), "{l3}, {l1}");
        assert!(m.name.ends_with(OF_ANOTHER));
    }
}

#[test]
fn regression_a_file_of_another_processor_is_not_used_and_one_that_names_none_is() {
    let line = "(mhz=3350) l3:1(size=8MiB) core:4 l2:1(size=1MiB) l1:1(size=48KiB) pu:1\n";
    let of = |comment: &str| calibrated(&format!("# measured\n{comment}{line}")).unwrap();
    for comment in ["", "# processor: Zen 4\n", "# processor: Zen 4 \r\n"] {
        assert_eq!(of(comment).mhz, 3350, "{comment}");
    }
    let m = of("# processor: Zen 3\n");
    assert_eq!((m.mhz, m.calibration()), (2600, None));
    assert!(m.name.ends_with(OF_ANOTHER_PROCESSOR));
}

#[test]
fn the_model_is_that_of_the_first_processor() {
    let info = "processor\t: 0\nmodel\t\t: 46\nmodel name\t: Intel(R) Xeon(R) CPU     X7560\n\
                model name\t: other\n";
    assert_eq!(model_in(info).unwrap(), "Intel(R) Xeon(R) CPU X7560");
    assert_eq!(model_in("processor: 0\nmodel name:\n"), None);
}

#[test]
fn a_missing_file_is_no_error_and_a_bad_one_names_its_line() {
    let missing = from_file(host(), Path::new("/nowhere/host.machine"), || None).unwrap();
    assert_eq!(missing, host());
    for (text, expected) in [
        ("# é\n(mhz=3000)\nl3:1 core:4 foo:1", "host.machine, line 3: `foo:1`: unknown type"),
        ("# a\n\n", "line 3: holds no synthetic string"),
        ("(mhz=0) pu:1", "line 1: machine: mhz must be above 0"),
        ("#\n(steal=-1) pu:1", "line 2: machine: the price `steal`"),
    ] {
        let message = calibrated(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_file_is_a_machine_too_on_whatever_machine_this_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        Machine::find(path.to_str().unwrap())
    };
    let server = file("server.machine", "# measured\n(mhz=3350) l3:2 core:8 l1:1 pu:1").unwrap();
    assert_eq!((server.name.as_str(), server.mhz, server.workers().len()), ("server", 3350, 16));
    assert_eq!(server.calibration(), None);
    for (name, text, expected) in [
        ("drawn.txt", "┌──────┐", "drawn.txt, line 1: "),
        ("empty", "", "line 1: holds no synthetic string"),
        ("not", "\u{feff}\n <html>", if cfg!(feature = "xml") { "byte" } else { "`xml`" }),
    ] {
        let message = file(name, text).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let large = "#".repeat(LARGEST_FILE as usize + 1);
    assert!(matches!(file("large.machine", &large), Err(MachineError::Read { .. })));
}

#[test]
fn the_file_lies_where_the_environment_says() {
    let find = |set: &[(&str, &str)]| {
        file(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| PathBuf::from(value)))
    };
    let home = ("HOME", "/home/a");
    let config = ("XDG_CONFIG_HOME", "/c");
    let path = |text: &str| Some(PathBuf::from(text));
    assert_eq!(find(&[home]), path("/home/a/.config/befit/host.machine"));
    assert_eq!(find(&[home, config]), path("/c/befit/host.machine"));
    assert_eq!(find(&[home, config, ("BEFIT_CALIBRATION", "m")]), path("m"));
    assert_eq!(find(&[home, ("BEFIT_CALIBRATION", "")]), None);
    assert_eq!(find(&[home, ("XDG_CONFIG_HOME", "c")]), find(&[home]));
    assert_eq!(find(&[]), None);
}
