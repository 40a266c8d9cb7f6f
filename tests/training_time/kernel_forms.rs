//! The forms of products and of attention against the tables that were measured, and how far they carry to a GPU that
//! was not: `cargo test --release --test training_time kernel_forms -- --nocapture`

use collectune::training_time::{
    catalogue::Catalogue,
    estimate::{
        device::{AttentionShape, Device, Precision},
        efficiency::AttentionKernel,
    },
};
use serde_json::Value;

use super::support::real;

/// The measured GPUs: as the tables call them, and in the catalogue.
const GPUS: [(&str, &str); 4] =
    [("a100_sxm", "A100-SXM4-80GB"), ("h100_sxm", "H100"), ("b200_sxm", "B200"), ("l40s", "L40S")];

fn device(name: &str) -> Device {
    Device::of(&Catalogue::built_in(), name).unwrap()
}

/// A GPU whose kernels are not measured: those of all together stand in.
fn without_kernels(name: &str) -> Device {
    let mut catalogue = Catalogue::built_in();
    catalogue.gpus.iter_mut().for_each(|gpu| gpu.kernels = None);
    Device::of(&catalogue, name).unwrap()
}

fn rows(name: &str) -> Vec<Vec<f64>> {
    let text = real::text(name);
    // The kernel's name stands in front of a row of attention.
    let row = |line: &str| line.split(',').filter_map(|field| field.parse().ok()).collect();
    text.lines().skip(1).map(row).collect()
}

fn median_error(rows: &[Vec<f64>], time_us: impl Fn(&[f64]) -> f64) -> f64 {
    let mut errors: Vec<f64> = rows.iter().map(|row| (time_us(row) / row.last().unwrap() - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn forms_have_the_values_of_their_coefficients() {
    let reference: Value = serde_json::from_str(&real::text("step/reference/coefficients.json")).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let mut compared = 0;
    for (key, name) in GPUS {
        for (precision, form) in [(Precision::Bf16, "bf16"), (Precision::Fp8, "fp8")] {
            let (own, pooled) = (device(name), without_kernels(name));
            for row in reference["gemm"][form][key]["expected"].as_array().into_iter().flatten() {
                let shape = ["m", "k", "n"].map(|side| number(&row[side]));
                for (device, field) in [(&own, "own_us"), (&pooled, "pooled_us")] {
                    let (found, expected) = (device.product_us(shape, precision), number(&row[field]));
                    assert!((found / expected - 1.0).abs() < 1e-4, "{name} {form} {shape:?}: {found}, {expected}");
                    compared += 1;
                }
            }
        }
        for row in reference["attention_head_128"][key]["expected"].as_array().into_iter().flatten() {
            let of = |field: &str| number(&row[field]);
            let shape = AttentionShape {
                batch: of("b"),
                sequence: of("s"),
                heads: of("heads"),
                kv_heads: of("kv"),
                width: 128.0,
                window: None,
            };
            for (device, field) in [(device(name), "own_us"), (without_kernels(name), "pooled_us")] {
                let (found, expected) = (device.attention_us(shape, AttentionKernel::Flash3), of(field));
                assert!((found / expected - 1.0).abs() < 1e-4, "{name} {shape:?}: {found}, {expected}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 100, "{compared}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn kernels_of_a_measured_gpu_are_near_their_table() {
    // The medians of the specification: of the own fit, in percent, and half a point.
    let limits = [("bf16", [4.7, 5.3, 5.5, 11.3]), ("fp8", [0.0, 13.8, 12.3, 11.3])];
    for (form, limits) in limits {
        for ((key, name), limit) in GPUS.iter().zip(limits).filter(|(_, limit)| *limit > 0.0) {
            let rows = rows(&format!("step/operators/gemm_{key}_{form}.csv"));
            let precision = if form == "fp8" { Precision::Fp8 } else { Precision::Bf16 };
            let of =
                |device: &Device| median_error(&rows, |row| device.product_us([row[0], row[2], row[1]], precision));
            let (own, pooled) = (100.0 * of(&device(name)), 100.0 * of(&without_kernels(name)));
            println!("products {form} {name:16} {:5} rows: {own:.1} %, of all GPUs together {pooled:.1} %", rows.len());
            assert!(own <= limit + 0.5, "{name} {form}: {own}");
        }
    }
    for ((key, name), limit) in GPUS.iter().zip([5.5, 6.4, 9.0, 6.8]) {
        let rows = rows(&format!("step/operators/attention_{key}_bf16.csv"));
        let rows: Vec<Vec<f64>> = rows.into_iter().filter(|row| row[4] == 128.0).collect();
        let of = |device: &Device| {
            median_error(&rows, |row| {
                let [batch, sequence, heads, kv_heads, width] = [row[0], row[1], row[2], row[3], row[4]];
                let shape = AttentionShape { batch, sequence, heads, kv_heads, width, window: None };
                device.attention_us(shape, AttentionKernel::Flash3)
            })
        };
        let (own, pooled) = (100.0 * of(&device(name)), 100.0 * of(&without_kernels(name)));
        println!("attention {name:16} {:5} rows: {own:.1} %, of all GPUs together {pooled:.1} %", rows.len());
        assert!(own <= limit + 3.0, "{name}: {own}");
    }
}
