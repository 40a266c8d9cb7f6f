//! The forms of products and of attention against the tables that were measured, and how far they carry to a GPU that
//! was not: `cargo test --release --test training_time kernel_forms -- --nocapture`

use std::collections::BTreeMap;

use collectune::math::ln;
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

/// A GPU with the measured efficiency of another one's kernels, or of all together.
fn with_kernels_of(name: &str, other: Option<&str>) -> Device {
    let mut catalogue = Catalogue::built_in();
    let kernels = other.and_then(|other| catalogue.gpu(other).unwrap().kernels.clone());
    catalogue.gpus.iter_mut().for_each(|gpu| gpu.kernels.clone_from(&kernels));
    Device::of(&catalogue, name).unwrap()
}

/// A GPU whose kernels are not measured: those of all together stand in.
fn without_kernels(name: &str) -> Device {
    with_kernels_of(name, None)
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

/// Products of a dense layer on a rank, forward and backward: `[m, k, n]`.
fn layer(hidden: u32, width: u32, tokens: u32, tensor: u32) -> Vec<[u32; 3]> {
    let forward = [
        [tokens, hidden, 3 * hidden / tensor],
        [tokens, hidden / tensor, hidden],
        [tokens, hidden, width / tensor],
        [tokens, width / tensor, hidden],
    ];
    forward.into_iter().flat_map(|[m, k, n]| [[m, k, n], [m, n, k], [k, m, n]]).collect()
}

/// The measured products of one layout, as a trace with shapes would have them, correct those of another layout: by one
/// factor for all, which is what an estimate takes from a trace, or by the factor of the nearest shape.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn one_factor_of_a_trace_serves_other_shapes_nearly_as_well_as_the_nearest_shape() {
    let layouts: Vec<(u32, u32)> =
        [1024, 2048, 4096, 8192, 16_384].into_iter().flat_map(|tokens| [1, 2, 4, 8].map(|tp| (tokens, tp))).collect();
    let models = [(2048, 8192), (3072, 12_288), (4096, 16_384), (5120, 16_384), (8192, 16_384)];
    let mut by_kind = [[0.0; 3]; 2];
    for (key, name) in GPUS {
        let measured: BTreeMap<[u32; 3], f64> = rows(&format!("step/operators/gemm_{key}_bf16.csv"))
            .into_iter()
            .flat_map(|row| {
                let [m, n, k] = [0, 1, 2].map(|at| row[at] as u32);
                [([m, k, n], row[3]), ([n, k, m], row[3])]
            })
            .collect();
        for (kind, other) in GPUS.iter().map(|(_, other)| (usize::from(*other != name), *other)) {
            let device = with_kernels_of(name, Some(other));
            let of = |(hidden, width): (u32, u32), (tokens, tp): (u32, u32)| {
                let known = layer(hidden, width, tokens, tp).into_iter();
                let known = known.filter_map(|shape| Some((shape, *measured.get(&shape)?)));
                let computed = |shape: [u32; 3]| device.product_us(shape.map(f64::from), Precision::Bf16);
                known.map(|(shape, us)| (shape, us, computed(shape))).collect::<Vec<_>>()
            };
            let mut errors = [const { Vec::new() }; 3];
            for (model, traced, asked) in models.iter().flat_map(|model| {
                layouts.iter().flat_map(|traced| layouts.iter().map(|asked| (*model, *traced, *asked)))
            }) {
                let (traced_products, products) = (of(model, traced), of(model, asked));
                if traced == asked || traced_products.len() < 6 || products.len() < 6 {
                    continue;
                }
                let sum = |all: &[([u32; 3], f64, f64)]| {
                    all.iter().fold((0.0, 0.0), |(us, computed), product| (us + product.1, computed + product.2))
                };
                let ((traced_us, traced_computed), (us, computed)) = (sum(&traced_products), sum(&products));
                let square = |value: f64| value * value;
                let distance = |a: [u32; 3], b: [u32; 3]| {
                    a.iter().zip(b).map(|(a, b)| square(ln(f64::from(*a) / f64::from(b)))).sum::<f64>()
                };
                let by_nearest: f64 = products
                    .iter()
                    .map(|(shape, _, computed)| {
                        let nearer = |a: &&([u32; 3], f64, f64), b: &&([u32; 3], f64, f64)| {
                            distance(a.0, *shape).total_cmp(&distance(b.0, *shape))
                        };
                        let (_, us, of_it) = traced_products.iter().min_by(nearer).unwrap();
                        computed * us / of_it
                    })
                    .sum();
                for (all, found) in
                    errors.iter_mut().zip([computed, computed * traced_us / traced_computed, by_nearest])
                {
                    all.push((found / us - 1.0_f64).abs());
                }
            }
            let medians = errors.map(|mut all| {
                all.sort_by(f64::total_cmp);
                100.0 * all[all.len() / 2]
            });
            let share = if kind == 0 { 0.25 } else { 1.0 / 12.0 };
            by_kind[kind].iter_mut().zip(medians).for_each(|(sum, median)| *sum += share * median);
        }
    }
    for (of, [none, factor, nearest]) in ["the GPU's own row", "another GPU's row"].iter().zip(by_kind) {
        println!(
            "products of another layout by {of}: {none:.1} %; by one factor {factor:.1} %, by the nearest {nearest:.1} %"
        );
    }
    let [[_, own, own_nearest], [uncorrected, other, other_nearest]] = by_kind;
    assert!(other < uncorrected / 2.0, "{other} {uncorrected}");
    // The reason that no estimate has a factor for each shape.
    assert!(own_nearest > own - 0.5 && other_nearest > other - 1.0, "{by_kind:?}");
}
