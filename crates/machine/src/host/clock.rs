//! The clock of the fastest core.

use super::sysfs::{Cpu, Files};

/// In MHz: the base clock where the driver tells it, else the highest, else what /proc/cpuinfo says
/// of the model, else of the moment (to the nearest 100, so that it is the same from run to run).
pub(super) fn mhz(files: &Files, cpus: &[Cpu]) -> Option<u32> {
    for file in ["base_frequency", "cpuinfo_max_freq"] {
        let path = |cpu: &Cpu| format!("sys/devices/system/cpu/cpu{}/cpufreq/{file}", cpu.number);
        let khz = cpus.iter().filter_map(|cpu| files.number(&path(cpu)).ok()?).max();
        if let Some(mhz) = khz.and_then(|khz| u32::try_from(khz / 1000).ok()).filter(|mhz| *mhz > 0)
        {
            return Some(mhz);
        }
    }
    let info = files.text("proc/cpuinfo")?;
    let values = |key: &'static str| {
        info.lines()
            .filter_map(move |line| line.split_once(':').filter(|(k, _)| k.trim() == key))
            .map(|(_, v)| v)
    };
    let model = values("model name").find_map(in_model_name);
    let now = || values("cpu MHz").filter_map(|v| v.trim().parse::<f64>().ok()).fold(0.0, f64::max);
    model.or_else(|| Some((now() / 100.0).round() as u32 * 100).filter(|mhz| *mhz > 0))
}

/// The clock in `Intel(R) Xeon(R) CPU X7560 @ 2.27GHz`, in MHz.
pub(crate) fn in_model_name(name: &str) -> Option<u32> {
    let ghz: f64 = name.rsplit_once('@')?.1.trim().strip_suffix("GHz")?.trim().parse().ok()?;
    Some((ghz * 1000.0).round() as u32).filter(|mhz| (1..100_000).contains(mhz))
}

#[cfg(test)]
mod tests {
    use super::in_model_name;

    #[test]
    fn a_model_name_tells_its_clock() {
        assert_eq!(in_model_name("Intel(R) Xeon(R) CPU           X7560  @ 2.27GHz"), Some(2270));
        assert_eq!(in_model_name("AMD EPYC 7742 64-Core Processor"), None);
        assert_eq!(in_model_name("odd @ 1e300GHz"), None);
    }
}
