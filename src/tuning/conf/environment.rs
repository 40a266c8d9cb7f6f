//! One configuration for a whole job, as environment variables.

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Configuration, Scale},
    launch,
    tuning::{
        baselines::Measurements,
        platform::Library,
        sweep::{self, Sweep},
    },
    units::percent,
};

/// Lines of a shell, and why they are not what a tuner file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The configuration that the variables force.
    pub configuration: Configuration,
    /// `export NCCL_ALGO=Ring` and so on, a line each.
    pub text: String,
    /// Warnings about what the variables do besides.
    pub warnings: Vec<String>,
}

/// The one configuration that serves all measured sizes of a collective and scale best, and what that comes to: the
/// highest mean share of the best of each size.
pub fn best_single(sweep: &Sweep, collective: Collective, scale: Scale) -> Option<(Configuration, String)> {
    let points = sweep.points_of(collective, scale);
    let configuration = Measurements::new(points).best_single(collective, scale)?;
    let mut lost = Vec::new();
    let mut gains = Vec::new();
    for of_size in points.chunk_by(|a, b| a.workload == b.workload) {
        let own = of_size.iter().find(|point| point.configuration == configuration);
        let best = sweep::best(of_size);
        if let (Some(own), Some(best)) = (own, best) {
            lost.push((1.0 - own.busbw_gbps / best.busbw_gbps) * 100.0);
            gains.extend(sweep.default_at(&own.workload).map(|d| (own.busbw_gbps / d.busbw_gbps - 1.0) * 100.0));
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let worst = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let default = match gains.len() {
        0 => String::new(),
        _ => format!("; against the default {} on average, {} at worst", percent(mean(&gains)), percent(worst)),
    };
    let text = format!(
        "{configuration} for all of {collective} on {scale} loses {:.1} % of the best of each size on average, {:.1} % at \
         most{default}.",
        mean(&lost),
        lost.iter().copied().fold(0.0, f64::max),
    );
    Some((configuration, text))
}

/// A configuration as environment variables.
pub fn environment(configuration: Configuration, library: Library) -> Environment {
    let Configuration { algorithm, protocol, channels } = configuration;
    let mut warnings = vec![
        "The environment and a tuner file are not equivalent: variables hold for every collective, size and communicator \
         of the job, a rule for those that it names."
            .to_owned(),
    ];
    // Of the collectives that a tuner decides all have the same variables.
    let text = launch::environment(Some(configuration), Collective::AllReduce)
        .into_iter()
        .map(|(name, value)| format!("export {name}={value}\n"))
        .collect();
    warnings.push(if launch::takes_a_request(algorithm, protocol) {
        "A collective that can't run this algorithm falls back to another without a word, or ends with an error."
            .to_owned()
    } else {
        format!("{algorithm}/{protocol} can't be asked for; only the channels are set.")
    });
    if channels > 0 {
        warnings.push(match library {
            Library::Rccl => {
                "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS are a base that RCCL multiplies, where a rule's number is the \
                 total: the two can end in different numbers of channels."
            }
            Library::Nccl => {
                "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS decide how many channels are built, a rule's number how many \
                 of them are used."
            }
        }
        .to_owned());
    }
    Environment { configuration, text, warnings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Protocol};

    #[test]
    fn direct_sets_channels_only() {
        let of = |algorithm| {
            let configuration = Configuration { algorithm, protocol: Protocol::Simple, channels: 8 };
            environment(configuration, Library::Rccl)
        };
        assert_eq!(
            of(Algorithm::Ring).text,
            "export NCCL_ALGO=Ring\nexport NCCL_PROTO=Simple\nexport NCCL_MIN_NCHANNELS=8\nexport NCCL_MAX_NCHANNELS=8\n"
        );
        assert!(!of(Algorithm::Direct).text.contains("NCCL_ALGO"));
        assert!(of(Algorithm::Ring).warnings[0].contains("not equivalent"));
    }
}
