//! Simulated logs, for examples and tests.

use super::{iteration::Iteration, read::MARK};
use crate::bandit::{draws::normal, environment::Simulation};

/// The arms of the simulator's worlds, in their order; the last is the library's choice.
pub const ARMS: [&str; 4] = ["tree/simple", "tree/ll128", "ring/simple", "auto"];

/// The simulated environments by name.
pub fn worlds() -> [(&'static str, Simulation); 4] {
    [
        ("One arm is clearly better", Simulation::clear()),
        ("Two modes", Simulation::two_modes()),
        ("Drift", Simulation::drift()),
        ("Nothing to gain", Simulation::nothing_to_gain()),
    ]
}

/// A log of a world in which arms take turns, as this program writes it.
pub fn log(world: &Simulation, arms: &[&str], size_bytes: u64, rounds: u64, seed: u64) -> String {
    let mut text = format!("{MARK}\ncollType,nBytes,nNodes,nRanks,latency_ms,arm,call,propensity\n");
    let steps = rounds as usize * arms.len();
    let table = world.table(seed, steps);
    let propensity = 1.0 / arms.len() as f64;
    for step in 0..steps {
        let arm = step % arms.len();
        let latency = table.value(step, arm);
        text += &format!("allreduce,{size_bytes},2,8,{latency:.4},{},{step},{propensity}\n", arms[arm]);
    }
    text
}

/// The worked case as a log: 25 ms of computation on 108 multiprocessors; ring/simple on 24 channels takes 2.0 ms,
/// tree/ll128 on 4 takes 2.6, the library's choice 2.4 on 20. Alone the first wins; beside computation it loses.
pub fn overlap_log(seed: u64) -> String {
    const ARMS: [(&str, f64, u32); 3] = [("auto", 2.4, 20), ("ring/simple/24", 2.0, 24), ("tree/ll128/4", 2.6, 4)];
    let job = Iteration { compute_ms: 25.0, multiprocessors: 108 };
    let mut text = format!("{MARK}\ncollective,size_bytes,nodes,ranks,iteration_ms,arm,overlap,strategy\n");
    for step in 0..400_u64 {
        for overlap in [false, true] {
            for (index, (arm, time_ms, channels)) in (0..).zip(ARMS) {
                let noise = 1.0 + 0.004 * normal(seed, 2 * index + u64::from(overlap), step);
                let iteration = job.time_ms(time_ms, channels, overlap) * noise;
                let overlap = u8::from(overlap);
                text += &format!("all_reduce,16777216,1,8,{iteration:.4},{arm},{overlap},interleaved\n");
            }
        }
    }
    text
}
