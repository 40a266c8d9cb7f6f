//! A multi-layer perceptron: two hidden layers of rectified linear units, fitted by Adam (Kingma, Ba 2015) to the
//! squared error, with early stopping.

use super::{LearnError, Table};
use crate::{math::Stream, progress::Progress};

/// The parameters of the training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The most passes over the training rows.
    pub epochs: u32,
    /// The number of passes without a lower error on the held-out rows after which training stops.
    pub patience: u32,
    /// The learning rate of Adam.
    pub learning_rate: f64,
    /// The seed of the initial weights, the held-out rows, and the order of rows.
    pub seed: u64,
}

/// The numbers of units in the hidden layers.
const HIDDEN: [usize; 2] = [64, 32];
/// The number of rows in a mini-batch.
const BATCH: usize = 32;
/// One row in this many is held out for early stopping.
const HELD_OUT: usize = 7;

/// A fitted perceptron.
#[derive(Clone, Debug, PartialEq)]
pub struct Perceptron {
    features: Vec<Standard>,
    target: Standard,
    layers: Vec<Layer>,
}

/// The standardisation of a number to mean 0 and standard deviation 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Standard {
    mean: f64,
    deviation: f64,
}

impl Standard {
    fn of(values: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let count = values.len() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        let deviation = variance.sqrt();
        Self { mean, deviation: if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 } }
    }

    fn scale(self, value: f64) -> f32 {
        ((value - self.mean) / self.deviation) as f32
    }
}

/// A fully connected layer.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// The weights from the first input to all outputs, then those from the second and so on; at the end the biases.
    weights: Vec<f32>,
}

impl Layer {
    /// Initial weights by He, Zhang, Ren and Sun (2015), uniformly distributed.
    fn new(inputs: usize, outputs: usize, stream: &mut Stream) -> Self {
        let bound = (6.0 / inputs as f64).sqrt();
        let mut weights: Vec<f32> =
            (0..inputs * outputs).map(|_| ((2.0 * stream.unit() - 1.0) * bound) as f32).collect();
        weights.resize((inputs + 1) * outputs, 0.0);
        Self { inputs, outputs, weights }
    }

    /// Computes the outputs: the weighted sums of the inputs plus the biases.
    fn forward(&self, input: &[f32], output: &mut [f32]) {
        let (weights, biases) = self.weights.split_at(self.inputs * self.outputs);
        output.copy_from_slice(biases);
        for (input, weights) in input.iter().zip(weights.chunks_exact(self.outputs)) {
            if *input != 0.0 {
                add_scaled(output, *input, weights);
            }
        }
    }

    /// Adds the gradients of the weights to `sums`, and writes those of the inputs to `back`.
    fn backward(&self, input: &[f32], gradient: &[f32], sums: &mut [f32], back: &mut [f32]) {
        let (sums, biases) = sums.split_at_mut(self.inputs * self.outputs);
        add_scaled(biases, 1.0, gradient);
        for (input, sums) in input.iter().zip(sums.chunks_exact_mut(self.outputs)) {
            if *input != 0.0 {
                add_scaled(sums, *input, gradient);
            }
        }
        for (back, weights) in back.iter_mut().zip(self.weights.chunks_exact(self.outputs)) {
            *back = dot(weights, gradient);
        }
    }
}

fn add_scaled(to: &mut [f32], factor: f32, values: &[f32]) {
    for (to, value) in to.iter_mut().zip(values) {
        *to += factor * value;
    }
}

/// The dot product, summed in eight lanes on every processor, so that the result has the same bits everywhere.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    rest + sums.iter().sum::<f32>()
}

/// Adam's moment estimates for the weights of a layer.
struct Adam {
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Adam {
    /// Updates the weights. `correction` has the bias corrections 1 / (1 − βᵗ) of both moments.
    fn step(&mut self, weights: &mut [f32], gradient: &[f32], rate: f32, correction: [f32; 2]) {
        const DECAY: [f32; 2] = [0.9, 0.999];
        for (((weight, gradient), mean), square) in
            weights.iter_mut().zip(gradient).zip(&mut self.mean).zip(&mut self.square)
        {
            *mean = DECAY[0] * *mean + (1.0 - DECAY[0]) * gradient;
            *square = DECAY[1] * *square + (1.0 - DECAY[1]) * gradient * gradient;
            *weight -= rate * (*mean * correction[0]) / ((*square * correction[1]).sqrt() + 1e-8);
        }
    }
}

/// The inputs, and the outputs of each layer, for one row.
struct Activations(Vec<Vec<f32>>);

impl Activations {
    fn forward(&mut self, layers: &[Layer]) -> f32 {
        let last = layers.len() - 1;
        for (index, layer) in layers.iter().enumerate() {
            let (before, after) = self.0.split_at_mut(index + 1);
            layer.forward(&before[index], &mut after[0]);
            if index < last {
                after[0].iter_mut().for_each(|value| *value = value.max(0.0));
            }
        }
        self.0[last + 1][0]
    }
}

impl Perceptron {
    /// Fits to `target`, one number per row.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for fewer than ten rows, numbers that are not finite, no epochs, or shapes that do not
    /// match.
    pub fn fit(
        table: &Table,
        target: &[f64],
        parameters: Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        table.check(target, 10)?;
        if parameters.epochs == 0 {
            return Err(LearnError::Parameter { name: "epochs", value: "0".to_owned(), expected: "at least 1" });
        }
        let width = table.names().len();
        let column = |index: usize| (0..table.rows()).map(move |row| table.row(row)[index]);
        let features: Vec<Standard> = (0..width).map(|index| Standard::of(column(index))).collect();
        let scaled = Standard::of(target.iter().copied());
        let inputs: Vec<Vec<f32>> = (0..table.rows()).map(|row| scale(&features, table.row(row))).collect();
        let targets: Vec<f32> = target.iter().map(|target| scaled.scale(*target)).collect();

        let mut stream = Stream::new(parameters.seed);
        let sizes = [width, HIDDEN[0], HIDDEN[1], 1];
        let layers: Vec<Layer> = sizes.windows(2).map(|pair| Layer::new(pair[0], pair[1], &mut stream)).collect();
        let mut order: Vec<usize> = (0..table.rows()).collect();
        stream.shuffle(&mut order);
        let (watched, kept) = order.split_at_mut(table.rows() / HELD_OUT);
        let mut fit = Fit::new(layers, &sizes);
        let mut best = (f32::INFINITY, fit.layers.clone(), 0);
        for epoch in 0..parameters.epochs {
            progress.report("Training the perceptron", u64::from(epoch), u64::from(parameters.epochs));
            stream.shuffle(kept);
            for batch in kept.chunks(BATCH) {
                fit.step(batch, &inputs, &targets, parameters.learning_rate as f32);
            }
            let error = fit.error(watched, &inputs, &targets);
            if error < best.0 {
                best = (error, fit.layers.clone(), epoch);
            }
            if epoch >= best.2 + parameters.patience {
                break;
            }
        }
        progress.report("Training the perceptron", u64::from(parameters.epochs), u64::from(parameters.epochs));
        Ok(Self { features, target: scaled, layers: best.1 })
    }

    /// Predicts one number per row.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for another number of features than in training, or numbers that are not finite.
    pub fn predict(&self, table: &Table) -> Result<Vec<f64>, LearnError> {
        table.check_width(self.features.len())?;
        let mut activations = activations(&[self.features.len(), HIDDEN[0], HIDDEN[1], 1]);
        let mut predict = |row: &[f64]| {
            activations.0[0] = scale(&self.features, row);
            f64::from(activations.forward(&self.layers)) * self.target.deviation + self.target.mean
        };
        Ok((0..table.rows()).map(|row| predict(table.row(row))).collect())
    }
}

fn scale(features: &[Standard], row: &[f64]) -> Vec<f32> {
    features.iter().zip(row).map(|(feature, value)| feature.scale(*value)).collect()
}

fn activations(sizes: &[usize]) -> Activations {
    Activations(sizes.iter().map(|size| vec![0.0; *size]).collect())
}

/// The state of the training.
struct Fit {
    layers: Vec<Layer>,
    adam: Vec<Adam>,
    gradients: Vec<Vec<f32>>,
    activations: Activations,
    /// The gradients of the outputs of each layer.
    back: Vec<Vec<f32>>,
    /// Adam's decay rates to the power of the number of steps.
    decayed: [f32; 2],
}

impl Fit {
    fn new(layers: Vec<Layer>, sizes: &[usize]) -> Self {
        let zeros = || layers.iter().map(|layer| vec![0.0; layer.weights.len()]);
        Self {
            adam: zeros().map(|zeros| Adam { mean: zeros.clone(), square: zeros }).collect(),
            gradients: zeros().collect(),
            activations: activations(sizes),
            back: sizes.iter().map(|size| vec![0.0; *size]).collect(),
            decayed: [1.0; 2],
            layers,
        }
    }

    fn step(&mut self, batch: &[usize], inputs: &[Vec<f32>], targets: &[f32], rate: f32) {
        self.gradients.iter_mut().for_each(|gradient| gradient.fill(0.0));
        let last = self.layers.len();
        for &row in batch {
            self.activations.0[0].copy_from_slice(&inputs[row]);
            let predicted = self.activations.forward(&self.layers);
            self.back[last][0] = (predicted - targets[row]) / batch.len() as f32;
            for index in (0..last).rev() {
                let (before, after) = self.back.split_at_mut(index + 1);
                let input = &self.activations.0[index];
                self.layers[index].backward(input, &after[0], &mut self.gradients[index], &mut before[index]);
                if index > 0 {
                    // The derivative of a rectified unit is 0 where its output is 0.
                    for (back, value) in before[index].iter_mut().zip(input) {
                        *back = if *value > 0.0 { *back } else { 0.0 };
                    }
                }
            }
        }
        self.decayed = [self.decayed[0] * 0.9, self.decayed[1] * 0.999];
        let correction = self.decayed.map(|decayed| 1.0 / (1.0 - decayed));
        for ((layer, adam), gradient) in self.layers.iter_mut().zip(&mut self.adam).zip(&self.gradients) {
            adam.step(&mut layer.weights, gradient, rate, correction);
        }
    }

    fn error(&mut self, rows: &[usize], inputs: &[Vec<f32>], targets: &[f32]) -> f32 {
        let mut sum = 0.0;
        for &row in rows {
            self.activations.0[0].copy_from_slice(&inputs[row]);
            let rest = self.activations.forward(&self.layers) - targets[row];
            sum += rest * rest;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn parameters() -> Parameters {
        Parameters { epochs: 150, patience: 15, learning_rate: 3e-3, seed: 1 }
    }

    fn valley() -> (Table, Vec<f64>) {
        let mut table = Table::new(&["x", "y"]);
        let mut stream = Stream::new(4);
        let mut target = Vec::new();
        for _ in 0..400 {
            let (x, y) = (1000.0 * stream.unit(), stream.normal());
            table.push(&[x, y]);
            target.push((x - 500.0).abs() / 100.0 + y);
        }
        (table, target)
    }

    #[test]
    fn follows_what_is_not_straight() -> Result<(), LearnError> {
        let (table, target) = valley();
        let perceptron = Perceptron::fit(&table, &target, parameters(), &mut Silent)?;
        let pairs: Vec<(f64, f64)> = target.iter().copied().zip(perceptron.predict(&table)?).collect();
        let r2 = crate::learn::metrics::r2(&pairs).unwrap_or_default();
        assert!(r2 > 0.95, "{r2}");
        assert_eq!(Perceptron::fit(&table, &target, parameters(), &mut Silent)?, perceptron);
        Ok(())
    }

    #[test]
    fn bad_input_is_an_error() -> Result<(), LearnError> {
        let (table, target) = valley();
        assert!(Perceptron::fit(&table, &target[1..], parameters(), &mut Silent).is_err());
        assert!(Perceptron::fit(&table, &target, Parameters { epochs: 0, ..parameters() }, &mut Silent).is_err());
        let mut constant = Table::new(&["x"]);
        (0..20).for_each(|_| constant.push(&[5.0]));
        let perceptron = Perceptron::fit(&constant, &[2.0; 20], parameters(), &mut Silent)?;
        assert!((perceptron.predict(&constant)?[0] - 2.0).abs() < 1.0);
        assert!(perceptron.predict(&table).is_err());
        Ok(())
    }
}
