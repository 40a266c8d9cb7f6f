//! Non-negative least squares (Lawson and Hanson 1974, chapter 23).

use super::linear::{Cholesky, Square};

/// The coefficients ≥ 0 that minimise Σ (row · coefficients − target)². `rows` and `target` are paired up to the
/// shorter one; without rows all coefficients are 0.
pub fn non_negative(rows: &[Vec<f64>], target: &[f64], columns: usize) -> Vec<f64> {
    let scale: Vec<f64> = (0..columns)
        .map(|column| rows.iter().map(|row| row[column] * row[column]).sum::<f64>().sqrt())
        .map(|norm| if norm > 0.0 { norm } else { 1.0 })
        .collect();
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>() / (scale[a] * scale[b]);
    let gram = Square::from_fn(columns, product);
    let right: Vec<f64> = (0..columns)
        .map(|column| rows.iter().zip(target).map(|(row, y)| row[column] * y).sum::<f64>() / scale[column])
        .collect();
    let at = |a: usize, b: usize| gram.values[a * columns + b];
    let mut x = vec![0.0; columns];
    let mut passive = vec![false; columns];
    // Each iteration adds a column to the passive set; well-posed problems need far fewer than three times the number
    // of columns.
    for _ in 0..3 * columns {
        let gradient =
            |column: usize| right[column] - (0..columns).map(|other| at(column, other) * x[other]).sum::<f64>();
        let best = (0..columns).filter(|column| !passive[*column]).map(|column| (gradient(column), column));
        let Some((steepest, entering)) = best.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        if steepest <= 1e-10 * right[entering].abs() {
            break;
        }
        passive[entering] = true;
        loop {
            let inside: Vec<usize> = (0..columns).filter(|column| passive[*column]).collect();
            // Columns have norm 1; the small term on the diagonal keeps collinear ones solvable.
            let block =
                Square::from_fn(inside.len(), |a, b| at(inside[a], inside[b]) + if a == b { 1e-12 } else { 0.0 });
            let part: Vec<f64> = inside.iter().map(|column| right[*column]).collect();
            let Some(solved) = Cholesky::new(block).map(|cholesky| cholesky.solve(&part)) else {
                passive[entering] = false;
                break;
            };
            // Go towards the solution until the first coefficient reaches zero.
            let blocked = inside.iter().zip(&solved).filter(|(_, value)| **value <= 0.0);
            let step = blocked.map(|(column, value)| x[*column] / (x[*column] - value)).fold(1.0, f64::min);
            if step >= 1.0 && solved.iter().all(|value| *value > 0.0) {
                inside.iter().zip(&solved).for_each(|(column, value)| x[*column] = *value);
                break;
            }
            for (column, value) in inside.iter().zip(&solved) {
                x[*column] += step * (value - x[*column]);
                if *value <= 0.0 && x[*column] <= 1e-14 {
                    x[*column] = 0.0;
                    passive[*column] = false;
                }
            }
            if !passive.contains(&true) {
                break;
            }
        }
    }
    x.iter().zip(&scale).map(|(value, scale)| value / scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Stream;

    fn loss(rows: &[Vec<f64>], target: &[f64], x: &[f64]) -> f64 {
        let error = |(row, y): (&Vec<f64>, &f64)| row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>() - y;
        rows.iter().zip(target).map(|pair| error(pair) * error(pair)).sum()
    }

    #[test]
    fn recovers_the_true_coefficients() {
        let rows = vec![vec![1.0, 0.0, 2.0], vec![0.0, 1.0, 1.0], vec![1.0, 1.0, 0.0], vec![2.0, 1.0, 1.0]];
        let target: Vec<f64> = rows.iter().map(|row| 2.0 * row[0] + 3.0 * row[2]).collect();
        let found = non_negative(&rows, &target, 3);
        assert!((found[0] - 2.0).abs() < 1e-6 && found[1].abs() < 1e-6 && (found[2] - 3.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn the_solution_is_a_local_minimum() {
        let mut stream = Stream::new(3);
        for _ in 0..200 {
            let columns = 1 + stream.below(5);
            let rows: Vec<Vec<f64>> = (0..8).map(|_| (0..columns).map(|_| 10.0 * stream.unit()).collect()).collect();
            let target: Vec<f64> = (0..8).map(|_| 20.0 * stream.unit() - 5.0).collect();
            let found = non_negative(&rows, &target, columns);
            assert!(found.iter().all(|value| *value >= 0.0), "{found:?}");
            let least = loss(&rows, &target, &found);
            for column in 0..columns {
                for change in [-1e-3, 1e-3] {
                    let mut other = found.clone();
                    other[column] = (other[column] + change).max(0.0);
                    assert!(loss(&rows, &target, &other) >= least - 1e-6, "{found:?}");
                }
            }
        }
    }
}
