//! Models of which a step can be estimated: read from the files of the frameworks that train them, or known by name.

mod hugging_face;
mod known;
mod transformer;

pub use self::{
    hugging_face::MODEL_TYPES,
    known::{KNOWN, known},
    transformer::{Attention, FeedForward, Layer, Matrix, Norm, Transformer},
};
use crate::text::yaml::{self, KeyError, YamlError};

/// Why a model can't be read from a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelFileError {
    /// A value is not what its key asks for.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The architecture is not known.
    #[error(
        "the model_type \"{model_type}\" is not known: a decoder of one of {} is read. {}{}",
        MODEL_TYPES.join(", "),
        if found.is_empty() { "Nothing in it looks like a decoder".to_owned() } else { format!("It has {}", found.join(", ")) },
        if missing.is_empty() { String::new() } else { format!("; of what a decoder needs, it lacks {}", missing.join(", ")) }
    )]
    UnknownType {
        /// The architecture's name.
        model_type: String,
        /// Keys of it that a decoder has.
        found: Vec<&'static str>,
        /// Keys that a decoder has and this lacks.
        missing: Vec<&'static str>,
    },
    /// Sizes are missing.
    #[error("a {model_type} needs {}, which {} missing", keys.join(", "), if keys.len() == 1 { "is" } else { "are" })]
    Missing {
        /// The architecture's name.
        model_type: String,
        /// The keys that are missing.
        keys: Vec<&'static str>,
    },
    /// The text is of no known form.
    #[error("this is no configuration of a model: a config.json of Hugging Face has a model_type")]
    NotAModel,
}

impl From<YamlError> for ModelFileError {
    fn from(error: YamlError) -> Self {
        Self::Key(error.into())
    }
}

/// Whether a mapping is the configuration of a model.
pub fn is_model(root: &yaml::Node) -> bool {
    hugging_face::is_one(root)
}

/// Reads a model from the text of a `config.json` of Hugging Face.
///
/// # Errors
/// Returns an error if the text is no such file, its architecture is not known, a size is missing, or sizes contradict
/// each other.
pub fn read(text: &str) -> Result<Transformer, ModelFileError> {
    let root = yaml::parse(text)?;
    if !is_model(&root) {
        return Err(ModelFileError::NotAModel);
    }
    hugging_face::read(&root)
}

/// Reads a model from a parsed `config.json`.
///
/// # Errors
/// As [`read`].
pub fn of(root: &yaml::Node) -> Result<Transformer, ModelFileError> {
    hugging_face::read(root)
}
