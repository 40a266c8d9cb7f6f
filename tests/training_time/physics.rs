//! Regressors without samples: operators at a share of the peak, collectives at a bandwidth.

use collectune::training_time::{
    catalogue::Catalogue,
    prediction::{Direction, Mark, Missing, Prediction, Regressors},
    samples::Communicator,
    scope::Scope,
};

pub struct Physics {
    pub catalogue: Catalogue,
    /// Of the peak; shared out by the operator's name, so that no two are alike.
    pub efficiency: f64,
    pub intra_gbps: f64,
    pub inter_gbps: f64,
    /// Tensor degrees above are extrapolated.
    pub sampled_tensor: f64,
    pub residuals: Vec<f64>,
}

impl Physics {
    pub fn new() -> Self {
        Self {
            catalogue: Catalogue::built_in(),
            efficiency: 0.6,
            intra_gbps: 200.0,
            inter_gbps: 20.0,
            sampled_tensor: 4.0,
            residuals: (0..41).map(|step| f64::from(step - 20) / 400.0).collect(),
        }
    }
}

fn number(name: &str) -> u32 {
    name.bytes().fold(7_u32, |number, byte| number.wrapping_mul(31).wrapping_add(u32::from(byte)))
}

impl Regressors for Physics {
    fn operator(&self, name: &str, direction: Direction, scope: &Scope) -> Result<Prediction, Missing> {
        let known = self.catalogue.operator(name).ok_or_else(|| Missing::Operator(name.to_owned()))?;
        let number = number(name);
        let efficiency = self.efficiency * (0.8 + f64::from(number % 17) / 80.0);
        let of = |name: &str| scope.get(name).unwrap_or(1.0);
        let forward = if name.ends_with("_optimizer") {
            let parameters = 12.0 * of("dim") * of("dim") * of("encoders") / of("mp");
            parameters * 20.0 / 1500.0 / 1e3
        } else {
            let flop = known.flop(scope).ok().flatten().unwrap_or(0.0);
            let bytes = known.bytes(scope).ok().flatten().unwrap_or(0.0);
            (flop / 312e12 * 1e6).max(bytes / 2039.0 / 1e3) / efficiency + 5.0
        };
        let (factor, way) = if direction == Direction::Forward { (1.0, 0) } else { (2.1, 1) };
        let mark = if of("mp") > self.sampled_tensor { Mark::Extrapolated } else { Mark::Interpolated };
        Ok(Prediction {
            time_us: forward * factor,
            mark,
            beyond: None,
            regressor: number % 1_000_003 * 2 + way,
            least_us: 0.0,
        })
    }

    fn collective(&self, name: &str, elements: u64, group: Communicator) -> Result<Prediction, Missing> {
        let ranks = f64::from(group.ranks());
        let gbps = if group.nodes > 1 { self.inter_gbps * f64::from(group.per_node) } else { self.intra_gbps };
        let factor = match name {
            "p2p" => 1.0,
            "allgather_large" => ranks - 1.0,
            "alltoall" => (ranks - 1.0) / ranks,
            _ => 2.0 * (ranks - 1.0) / ranks,
        };
        let time_us = 20.0 + 2.0 * elements as f64 * factor / gbps / 1e3;
        let mark = Mark::Interpolated;
        Ok(Prediction { time_us, mark, beyond: None, regressor: number(name) % 1009 + group.ranks(), least_us: 0.0 })
    }

    fn residuals(&self, _: u32, _: Mark) -> &[f64] {
        &self.residuals
    }
}
