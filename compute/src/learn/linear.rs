//! Dense linear algebra for small matrices: Cholesky factorisation and a symmetric eigendecomposition.
//!
//! Only +, −, ×, ÷ and square roots are used, in a fixed order, so that the result has the same bits on every target.

/// A square matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    /// The number of rows and of columns.
    pub size: usize,
    /// The `size × size` entries, row by row.
    pub values: Vec<f64>,
}

impl Square {
    /// The matrix with the entries `f(row, column)`.
    pub fn from_fn(size: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let values = (0..size * size).map(|place| f(place / size, place % size)).collect();
        Self { size, values }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.size..][..self.size]
    }
}

/// The Cholesky factor L of a matrix A: the lower triangular matrix with L·Lᵀ = A.
#[derive(Clone, Debug)]
pub struct Cholesky(Square);

impl Cholesky {
    /// Factors a symmetric matrix; `None` where it is not positive definite.
    pub fn new(mut matrix: Square) -> Option<Self> {
        let n = matrix.size;
        for column in 0..n {
            for row in column..n {
                let sum = dot(&matrix.row(row)[..column], &matrix.row(column)[..column]);
                let rest = matrix.values[row * n + column] - sum;
                matrix.values[row * n + column] = if row == column {
                    if rest <= 0.0 || !rest.is_finite() {
                        return None;
                    }
                    rest.sqrt()
                } else {
                    rest / matrix.values[column * n + column]
                };
            }
        }
        Some(Self(matrix))
    }

    /// Solves A·x = b for x.
    pub fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = self.forward(right);
        let n = self.0.size;
        for row in (0..n).rev() {
            let mut rest = x[row];
            for (below, value) in x.iter().enumerate().skip(row + 1) {
                rest -= self.0.values[below * n + row] * value;
            }
            x[row] = rest / self.0.values[row * n + row];
        }
        x
    }

    /// Solves L·x = b for x by forward substitution.
    pub fn forward(&self, right: &[f64]) -> Vec<f64> {
        let mut x = right.to_vec();
        for row in 0..self.0.size {
            let line = self.0.row(row);
            x[row] = (x[row] - dot(&line[..row], &x[..row])) / line[row];
        }
        x
    }

    /// The diagonal entries of L.
    pub fn diagonal(&self) -> impl Iterator<Item = f64> {
        (0..self.0.size).map(|i| self.0.values[i * self.0.size + i])
    }
}

/// The dot product, summed in four lanes so that it vectorises and has the same bits on every target.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (a_fours, a_rest) = a.as_chunks::<4>();
    let (b_fours, b_rest) = b.as_chunks::<4>();
    for (x, y) in a_fours.iter().zip(b_fours) {
        for lane in 0..4 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    lanes[0] + lanes[1] + (lanes[2] + lanes[3]) + rest
}

/// Eigenvalues and eigenvectors of a symmetric matrix.
#[derive(Clone, Debug)]
pub struct Eigen {
    /// The eigenvalues, in no particular order.
    pub values: Vec<f64>,
    /// The eigenvectors: row k belongs to eigenvalue k.
    pub vectors: Square,
}

impl Eigen {
    /// Cyclic Jacobi rotations (Golub and Van Loan, 8.5): exact to rounding, cheap below a hundred rows.
    pub fn new(mut matrix: Square) -> Self {
        let n = matrix.size;
        let mut vectors = Square::from_fn(n, |row, column| f64::from(u8::from(row == column)));
        let scale: f64 = matrix.values.iter().map(|v| v * v).sum();
        for _sweep in 0..30 {
            let mut off = 0.0;
            for p in 0..n {
                for q in p + 1..n {
                    off += matrix.values[p * n + q] * matrix.values[p * n + q];
                }
            }
            // Relative to the squared Frobenius norm, which rotations preserve: off-diagonal entries at rounding level.
            if off <= 1e-26 * scale {
                break;
            }
            for p in 0..n {
                for q in p + 1..n {
                    rotate(&mut matrix, &mut vectors, p, q);
                }
            }
        }
        Self { values: (0..n).map(|i| matrix.values[i * n + i]).collect(), vectors }
    }
}

/// The Jacobi rotation that makes the entry (p, q) zero.
fn rotate(matrix: &mut Square, vectors: &mut Square, p: usize, q: usize) {
    let n = matrix.size;
    let off = matrix.values[p * n + q];
    if off == 0.0 {
        return;
    }
    let theta = (matrix.values[q * n + q] - matrix.values[p * n + p]) / (2.0 * off);
    // The smaller root of t² + 2θt − 1 = 0, by the form without cancellation: angles of at most π/4 converge.
    let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    for k in 0..n {
        let (a, b) = (matrix.values[k * n + p], matrix.values[k * n + q]);
        matrix.values[k * n + p] = cosine * a - sine * b;
        matrix.values[k * n + q] = sine * a + cosine * b;
    }
    turn_rows(&mut matrix.values, n, p, q, cosine, sine);
    turn_rows(&mut vectors.values, n, p, q, cosine, sine);
}

/// Applies the rotation to the rows p and q.
fn turn_rows(values: &mut [f64], n: usize, p: usize, q: usize, cosine: f64, sine: f64) {
    let (upper, lower) = values.split_at_mut(q * n);
    for (a, b) in upper[p * n..][..n].iter_mut().zip(&mut lower[..n]) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(n: usize) -> Square {
        Square::from_fn(n, |i, j| 1.0 / (1.0 + (i as f64 - j as f64).abs()) + f64::from(u8::from(i == j)))
    }

    #[test]
    fn cholesky_solves() {
        let matrix = sample(7);
        let x: Vec<f64> = (0..7).map(f64::from).collect();
        let right: Vec<f64> = (0..7).map(|row| dot(matrix.row(row), &x)).collect();
        let solved = Cholesky::new(matrix).map(|c| c.solve(&right)).unwrap_or_default();
        assert!(solved.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-12), "{solved:?}");
        assert!(Cholesky::new(Square::from_fn(2, |_, _| 1.0)).is_none());
    }

    #[test]
    fn eigenvectors_reconstruct_the_matrix() {
        let matrix = sample(12);
        let eigen = Eigen::new(matrix.clone());
        for row in 0..12 {
            for column in 0..12 {
                let rebuilt: f64 =
                    (0..12).map(|k| eigen.values[k] * eigen.vectors.row(k)[row] * eigen.vectors.row(k)[column]).sum();
                assert!((rebuilt - matrix.row(row)[column]).abs() < 1e-11);
            }
        }
    }
}
