//! What can be seen of the GPUs before the first launch: other jobs on them, and clocks that are held down. Either
//! would spoil what a campaign measures.

use std::{fs, path::Path, time::Duration};

use super::{
    launcher::{Command, Template},
    process::{self, Ending},
};
use crate::{collective::Scale, tuning::platform::Library, units::count};

/// How long the tool of the vendor may take, in seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// A GPU that is busier than this, in per cent, or on which more memory is taken, in bytes, is used by something else.
const BUSY_PCT: f64 = 5.0;
const TAKEN_BYTES: f64 = (2_u64 << 30) as f64;

/// A GPU as the vendor's tool shows it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Gpu {
    busy_pct: Option<f64>,
    taken_bytes: Option<f64>,
    /// It says that its clocks are held down, by heat or by power.
    is_slowed: bool,
}

/// The tool that a library's vendor has for looking at GPUs, with its arguments.
fn tool(library: Library) -> (&'static str, Vec<String>) {
    let (program, arguments) = match library {
        Library::Rccl => ("rocm-smi", "--showuse --showmeminfo vram --csv"),
        Library::Nccl => (
            "nvidia-smi",
            "--query-gpu=utilization.gpu,memory.used,clocks_throttle_reasons.hw_slowdown,\
             clocks_throttle_reasons.sw_thermal_slowdown --format=csv",
        ),
    };
    (program, arguments.split(' ').map(str::to_owned).collect())
}

/// Looks at the GPUs of all nodes through the launcher. Returns sentences on what would spoil measurements, or on why
/// nothing can be seen. `output` takes what the tool says.
pub(super) fn look(template: &Template, scale: Scale, library: Library, folder: &Path, output: &Path) -> Vec<String> {
    let (program, arguments) = tool(library);
    let words = template.command(&Command { scale, environment: &[], program, arguments: &arguments });
    let unseen = |why: &str| vec![format!("clocks of the GPUs and other jobs on them were not seen: {program} {why}")];
    match process::run(&words, folder, output, LIMIT) {
        Ok(Ending::Ended(status)) if status.success() => {}
        Ok(Ending::Ended(_)) => return unseen("can't be run on the nodes"),
        Ok(Ending::Stopped) => return Vec::new(),
        Ok(Ending::TimedOut) => return unseen(&format!("took more than {} s", LIMIT.as_secs())),
        Err(error) => return unseen(&format!("can't be started ({error})")),
    }
    let text = String::from_utf8_lossy(&fs::read(output).unwrap_or_default()).into_owned();
    let gpus = gpus(&text);
    if gpus.is_empty() { unseen("shows no table that is known") } else { findings(&gpus) }
}

/// The GPUs in the output of a tool. Each rank prints its node's, so that each GPU may be there several times; lines of
/// the launcher and of other tools are passed over.
fn gpus(text: &str) -> Vec<Gpu> {
    let mut header: Vec<String> = Vec::new();
    let mut gpus = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let is_header = ["GPU use (%)", "utilization.gpu [%]"].iter().any(|name| cells.contains(name));
        if is_header {
            header = cells.iter().map(|cell| (*cell).to_owned()).collect();
        } else if cells.len() > 1 && cells.len() == header.len() {
            let mut gpu = Gpu::default();
            for (name, cell) in header.iter().zip(cells) {
                let (number, unit) = cell.split_once(' ').unwrap_or((cell, ""));
                let number = number.parse::<f64>().ok();
                match name.as_str() {
                    "GPU use (%)" | "utilization.gpu [%]" => gpu.busy_pct = number,
                    "VRAM Total Used Memory (B)" => gpu.taken_bytes = number,
                    "memory.used [MiB]" if unit == "MiB" => gpu.taken_bytes = number.map(|mib| mib * 1048576.0),
                    name if name.starts_with("clocks_") => gpu.is_slowed |= cell == "Active",
                    _ => {}
                }
            }
            gpus.push(gpu);
        }
    }
    gpus
}

fn findings(gpus: &[Gpu]) -> Vec<String> {
    let mut found = Vec::new();
    let most = |of: fn(&Gpu) -> Option<f64>| gpus.iter().filter_map(of).fold(0.0, f64::max);
    let (busy_pct, taken_bytes) = (most(|gpu| gpu.busy_pct), most(|gpu| gpu.taken_bytes));
    if busy_pct > BUSY_PCT || taken_bytes > TAKEN_BYTES {
        found.push(format!(
            "something else runs on the GPUs: up to {busy_pct:.0} % busy, up to {:.1} GiB of memory taken; what it does is \
             measured, too",
            taken_bytes / f64::from(1_u32 << 30)
        ));
    }
    let slowed = gpus.iter().filter(|gpu| gpu.is_slowed).count() as u64;
    if slowed > 0 {
        let gpus = count(slowed, "line");
        found.push(format!("clocks are held down by heat or power ({gpus} of nvidia-smi say so): busbw will be low"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NVIDIA: &str = "Warning: something of the launcher\n\
        utilization.gpu [%], memory.used [MiB], clocks_throttle_reasons.hw_slowdown, clocks_throttle_reasons.sw_thermal_slowdown\n\
        0 %, 3 MiB, Not Active, Not Active\n\
        97 %, 40536 MiB, Not Active, Active\n";

    const AMD: &str = "device,GPU use (%),VRAM Total Memory (B),VRAM Total Used Memory (B)\n\
        card0,0,206141652992,297259008\n\ncard1,0,206141652992,297259008\n";

    #[test]
    fn tables_of_both_vendors_are_read() {
        let seen = gpus(NVIDIA);
        assert_eq!(seen[0], Gpu { busy_pct: Some(0.0), taken_bytes: Some(3145728.0), is_slowed: false });
        assert_eq!((seen.len(), seen[1].busy_pct, seen[1].is_slowed), (2, Some(97.0), true));
        let seen = gpus(AMD);
        assert_eq!(seen, vec![Gpu { busy_pct: Some(0.0), taken_bytes: Some(297_259_008.0), is_slowed: false }; 2]);
        assert_eq!(gpus("rocm-smi: command not found\n1, 2, 3\n"), []);
    }

    #[test]
    fn what_would_spoil_measurements_is_said() {
        let found = findings(&gpus(NVIDIA));
        assert!(found[0].contains("up to 97 % busy, up to 39.6 GiB of memory"), "{found:?}");
        assert!(found[1].contains("1 line of nvidia-smi"), "{found:?}");
        assert_eq!(findings(&gpus(AMD)), Vec::<String>::new());
    }
}
