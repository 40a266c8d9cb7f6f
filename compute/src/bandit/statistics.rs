//! Running statistics of an arm's latencies, and the posterior of its mean.

/// Count, mean and sum of squared deviations, updated value by value (Welford 1962). The count may be discounted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The number of values; a fraction after discounting.
    pub n: f64,
    /// The mean of the values.
    pub mean: f64,
    /// The sum of squared deviations from the mean.
    pub squares: f64,
}

impl Statistics {
    /// Computes the statistics of a slice.
    pub fn of(values: &[f64]) -> Self {
        let mut all = Self::default();
        values.iter().for_each(|value| all.add(*value));
        all
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.n += 1.0;
        let before = value - self.mean;
        self.mean += before / self.n;
        self.squares += before * (value - self.mean);
    }

    /// Multiplies the weight of all values so far by `share`.
    pub fn discount(&mut self, share: f64) {
        self.n *= share;
        self.squares *= share;
    }

    /// The standard deviation of a sample; 0 for fewer than two values.
    pub fn deviation(&self) -> f64 {
        if self.n > 1.0 { (self.squares.max(0.0) / (self.n - 1.0)).sqrt() } else { 0.0 }
    }
}

/// The pooled standard deviation within arms: √(Σ SS / (Σ n − K)), at least 1e-9.
pub fn pooled_deviation(arms: &[Statistics]) -> f64 {
    let freedom = arms.iter().map(|arm| arm.n).sum::<f64>() - arms.len() as f64;
    let squares: f64 = arms.iter().map(|arm| arm.squares).sum();
    if freedom > 0.0 { (squares / freedom).max(0.0).sqrt().max(1e-9) } else { 1e-9 }
}

/// A Normal-Inverse-Gamma distribution of an arm's mean and variance: the prior, or the posterior given values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalInverseGamma {
    /// The centre of the distribution of the mean.
    pub mean: f64,
    /// The number of values that the knowledge of the mean is worth.
    pub kappa: f64,
    /// The shape parameter of the variance's distribution.
    pub alpha: f64,
    /// The scale parameter of the variance's distribution.
    pub beta: f64,
}

impl NormalInverseGamma {
    /// A weak prior about `mean`: κ₀ = 0.1, α₀ = 1, β₀ = (0.1 m₀)².
    pub fn weak(mean: f64) -> Self {
        let spread = 0.1 * mean;
        Self { mean, kappa: 0.1, alpha: 1.0, beta: spread * spread }
    }

    /// The posterior after some values.
    ///
    /// ```
    /// use collectune_compute::bandit::statistics::{NormalInverseGamma, Statistics};
    /// let of = NormalInverseGamma::weak(10.0).posterior(&Statistics::of(&[10.0, 11.0, 9.0, 10.0]));
    /// assert!((of.mean - 10.0).abs() < 1e-12 && (of.kappa - 4.1).abs() < 1e-12);
    /// assert!((of.alpha - 3.0).abs() < 1e-12 && (of.beta - 2.0).abs() < 1e-12);
    /// ```
    pub fn posterior(&self, values: &Statistics) -> Self {
        let Statistics { n, mean, squares } = *values;
        let kappa = self.kappa + n;
        let distance = mean - self.mean;
        Self {
            mean: (self.kappa * self.mean + n * mean) / kappa,
            kappa,
            alpha: self.alpha + n / 2.0,
            beta: self.beta + squares / 2.0 + self.kappa * n * distance * distance / (2.0 * kappa),
        }
    }

    /// The scale of the marginal distribution of the mean, a t distribution with 2α degrees of freedom.
    pub fn scale(&self) -> f64 {
        (self.beta / (self.alpha * self.kappa)).max(0.0).sqrt()
    }

    /// The degrees of freedom of this distribution.
    pub fn freedom(&self) -> f64 {
        2.0 * self.alpha
    }

    /// The 95 % credible interval of the mean.
    pub fn interval(&self) -> (f64, f64) {
        let wide = self.scale() * super::student::quantile(0.975, self.freedom());
        (self.mean - wide, self.mean + wide)
    }
}
