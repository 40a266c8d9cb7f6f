use collectune::training_time::{
    anatomy::Anatomy,
    catalogue::Catalogue,
    memory::{self, GIB, StageMemory},
    run::{Recompute, Run},
};

use super::{
    reference::{gpt, run},
    support::real,
};

fn of(run: &Run) -> Vec<StageMemory> {
    memory::of(run, &Anatomy::of(run, &Catalogue::built_in()))
}

fn without_flash(run: &mut Run) {
    run.model.layer.retain(|name| name != "flash_atten");
}

#[test]
fn activations_are_those_of_the_paper() {
    // Layers, hidden, heads, pp, b, v; GiB of states, without recomputation, selective.
    let rows = [
        ([48, 6144, 64, 1, 4, 1], [45.5625, 59.25, 9.5625]),
        ([96, 12288, 96, 8, 1, 3], [45.5625, 66.84375, 12.351_562_5]),
        ([105, 20480, 128, 35, 1, 3], [31.640_625, 114.023_437_5, 23.076_171_875]),
    ];
    for ([layers, hidden, heads, pp, b, v], [states, none, selective]) in rows {
        let mut run = run(gpt(layers, hidden, heads, 2048), [pp, 8, 1, 8], b, 280);
        run.execution.virtual_stages = v;
        without_flash(&mut run);
        let gib = |bytes: f64| bytes / GIB;
        let near = |ours: f64, theirs: f64| assert!((ours / theirs - 1.0).abs() <= 1e-9, "{layers}: {ours} {theirs}");
        run.execution.recompute = Recompute::None;
        near(gib(of(&run)[0].activations), none);
        run.execution.recompute = Recompute::Selective;
        run.execution.sequence_parallel = true;
        near(gib(of(&run)[0].activations), selective);
        // 18 bytes for each of 12·E·dim² parameters; biases and norms are left out there.
        let counted = f64::from(layers) * 12.0 * f64::from(hidden) * f64::from(hidden) / f64::from(pp * 8);
        near(gib(18.0 * counted), states);
    }
}

#[test]
fn example_p_fits() {
    let mut run = run(gpt(32, 4096, 32, 4096), [4, 2, 2, 4], 4, 8);
    for (zero, expected) in [(0, [20.6111, 17.8797, 16.8797, 19.9198]), (1, [15.5324, 13.3781, 12.3781, 14.8411])] {
        run.execution.zero = zero;
        let ours: Vec<f64> = of(&run).iter().map(|stage| stage.total() / GIB).collect();
        println!("zero {zero}: {ours:.4?} GiB");
        for (ours, theirs) in ours.iter().zip(expected) {
            assert!((ours - theirs).abs() <= 1e-4, "{ours} {theirs}");
        }
    }
    let stage = of(&run)[0];
    assert_eq!(stage.first_too_much(memory::capacity_bytes(80.0, 2.0)), None);
    assert_eq!(stage.first_too_much(stage.weights + 1.0), Some("Gradients"));
    assert_eq!(stage.first_too_much(stage.total() - 1.0), Some("Recomputed layer"));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn everything_that_ran_is_found_to_fit() {
    let mut largest: f64 = 0.0;
    for name in ["multi", "single"] {
        let text = real::text(&format!("training_time/vtrain/ground_truth_{name}.csv"));
        for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let [gpus, batch, b, hidden, heads, layers, sequence, tp, dp, pp] =
                cells[cells.len() - 11..cells.len() - 1].try_into().unwrap();
            let model = gpt(layers as u32, hidden as u32, heads as u32, sequence as u32);
            assert_eq!(gpus, tp * dp * pp);
            let mut run = run(model, [pp as u32, tp as u32, dp as u32, 8], b as u32, (batch / b / dp) as u32);
            run.execution.zero = 0;
            without_flash(&mut run);
            for stage in of(&run) {
                largest = largest.max(stage.total() / GIB);
            }
        }
    }
    println!("largest: {largest:.3} GiB");
    assert!((largest - 76.166).abs() < 5e-4, "{largest}");
}
