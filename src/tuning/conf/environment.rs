//! One configuration for a whole job, as environment variables.

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Algorithm, Configuration, Protocol},
    tuning::support::Library,
};

/// Lines of a shell, and why they are not what a tuner file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The configuration.
    pub configuration: Configuration,
    /// `export NCCL_ALGO=Ring` and so on, a line each.
    pub text: String,
    /// What must be known.
    pub warnings: Vec<String>,
}

/// A configuration as environment variables.
#[must_use]
pub fn environment(configuration: Configuration, library: Library) -> Environment {
    let Configuration { algorithm, protocol, channels } = configuration;
    let mut warnings = vec![
        "The environment and a tuner file are not equivalent: variables hold for every collective, size and communicator \
         of the job, a rule for those that it names."
            .to_owned(),
    ];
    let mut text = String::new();
    let algorithm_name = match algorithm {
        Algorithm::Tree => Some("Tree"),
        Algorithm::Ring => Some("Ring"),
        Algorithm::CollnetDirect => Some("CollnetDirect"),
        Algorithm::CollnetChain => Some("CollnetChain"),
        Algorithm::Nvls => Some("NVLS"),
        Algorithm::NvlsTree => Some("NVLSTree"),
        Algorithm::Pat => Some("PAT"),
        Algorithm::Direct | Algorithm::None => None,
    };
    let protocol_name = match protocol {
        Protocol::Ll => Some("LL"),
        Protocol::Ll128 => Some("LL128"),
        Protocol::Simple => Some("Simple"),
        Protocol::None => None,
    };
    match (algorithm_name, protocol_name) {
        (Some(algorithm), Some(protocol)) => {
            text += &format!("export NCCL_ALGO={algorithm}\nexport NCCL_PROTO={protocol}\n");
            warnings.push(
                "A collective that can't run this algorithm falls back to another without a word, or ends with an error."
                    .to_owned(),
            );
        }
        _ => warnings.push(format!("{algorithm}/{protocol} can't be asked for; only the channels are set.")),
    }
    if channels > 0 {
        text += &format!("export NCCL_MIN_NCHANNELS={channels}\nexport NCCL_MAX_NCHANNELS={channels}\n");
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
