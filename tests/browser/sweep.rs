//! Sweeps to drop: made by the tests, or real ones where they are at hand.

use std::fs;

use crate::loading::dist;

/// The algorithms and protocols of [`sweep`], with their latency in µs and their bandwidth per channel in GB/s.
const PATHS: [(&str, &str, f64, f64); 4] = [
    ("RING", "LL", 18.0, 0.9),
    ("RING", "SIMPLE", 46.0, 2.4),
    ("TREE", "LL", 11.0, 0.6),
    ("TREE", "SIMPLE", 31.0, 1.7),
];

/// A sweep of `all_reduce` on 2 nodes with 16 ranks: `sizes` sizes from 4 KiB, four configurations on each of
/// `channels` channel counts. Small messages are quickest on TREE with LL, large ones on RING with SIMPLE.
pub fn sweep(sizes: u32, channels: u32) -> String {
    let mut text =
        String::from("collective,num_nodes,num_gpus,size_bytes,time_ip_us,busbw_ip,errors_ip,algo,proto,nchannels\n");
    for size in (0..sizes).map(|step| 4096_u64 << step) {
        for (algorithm, protocol, latency_us, gbps) in PATHS {
            for channels in (1..=channels).map(|step| step * 4) {
                let gbps = gbps * f64::from(channels);
                let time_us = latency_us + f64::from(channels) / 4.0 + size as f64 / (gbps * 1000.0);
                let busbw = size as f64 / time_us / 1000.0 * 2.0 * 15.0 / 16.0;
                text +=
                    &format!("all_reduce,2,16,{size},{time_us:.2},{busbw:.3},0,{algorithm},{protocol},{channels}\n");
            }
        }
    }
    text
}

/// As [`sweep`], small, with three repeats that differ by a per cent, runs of the default, and one run that stalled.
pub fn noisy_sweep() -> String {
    let mut text = String::from(
        "collective,num_nodes,num_gpus,size_bytes,time_ip_us,busbw_ip,errors_ip,algo,proto,nchannels,requested_algo,\
         requested_proto,requested_nchannels\n",
    );
    let plain = sweep(8, 4);
    for repeat in 0..3_u32 {
        for (index, row) in plain.lines().skip(1).enumerate() {
            let cells: Vec<&str> = row.split(',').collect();
            let noise = 1.0 + f64::from((index as u32 * 7 + repeat * 5) % 11) / 1000.0;
            let stall = if (index, repeat) == (40, 1) { 8.0 } else { 1.0 };
            let time_us: f64 = cells[4].parse::<f64>().unwrap() * noise * stall;
            let busbw = cells[5].parse::<f64>().unwrap() / noise / stall;
            let head = cells[..4].join(",");
            let what = cells[7..].join(",");
            text += &format!("{head},{time_us:.2},{busbw:.3},0,{what},{what}\n");
            if index % 16 == 0 {
                text += &format!("{head},{:.2},{:.3},0,{what},,,\n", time_us * 1.2, busbw / 1.2);
            }
        }
    }
    text
}

/// [`noisy_sweep`] where everything takes `factor` times as long.
pub fn slower(factor: f64) -> String {
    let slower = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if let (Ok(time_us), Ok(busbw)) = (cells[4].parse::<f64>(), cells[5].parse::<f64>()) {
            cells[4] = format!("{:.2}", time_us * factor);
            cells[5] = format!("{:.3}", busbw / factor);
        }
        cells.join(",") + "\n"
    };
    noisy_sweep().lines().map(slower).collect()
}

/// The example that comes with the page.
pub fn example() -> Vec<u8> {
    fs::read(dist().join("examples/simulated_sweep.csv")).unwrap()
}
