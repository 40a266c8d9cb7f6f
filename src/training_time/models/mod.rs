//! Models of which a step can be estimated: read from the files of the frameworks that train them, or known by name.

mod deepspeed;
mod file;
mod hugging_face;
mod known;
mod megatron;
mod script;
mod shell_words;
mod torchtitan;
mod transformer;

pub use self::{
    file::{MeasuredStep, MissingField, ModelFile, TrainingSettings},
    hugging_face::MODEL_TYPES,
    known::{KNOWN, known},
    transformer::{Attention, FeedForward, Layer, MOST_PREDICTION_LAYERS, Matrix, Norm, Transformer},
};
use crate::{
    text::{
        toml::{self, TomlError},
        yaml::{self, KeyError, YamlError},
    },
    units::first_of,
};

/// A note on a training in single precision.
const NO_FP32: &str = "It computes in fp32, of which no step is estimated: the step is that of bf16";

/// Why a model can't be read from a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelFileError {
    /// A value is not what its key asks for.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The text is no TOML.
    #[error(transparent)]
    Toml(#[from] TomlError),
    /// The architecture is not known.
    #[error(
        "the model_type \"{model_type}\" is not known: a decoder of one of {} is read. {}{}",
        MODEL_TYPES.join(", "),
        if found.is_empty() { "Nothing in it looks like a decoder".to_owned() } else { format!("It has {}", found.join(", ")) },
        if missing.is_empty() { String::new() } else { format!("; of what a decoder needs, it lacks {}", missing.join(", ")) }
    )]
    UnknownType {
        /// The architecture's name, as `model_type` has it.
        model_type: String,
        /// Keys of it that a decoder has.
        found: Vec<&'static str>,
        /// Keys that a decoder has and this lacks.
        missing: Vec<&'static str>,
    },
    /// Sizes are missing.
    #[error("a {model_type} needs {}, which {} missing", keys.join(", "), if keys.len() == 1 { "is" } else { "are" })]
    Missing {
        /// The architecture's name, as `model_type` has it.
        model_type: String,
        /// The keys that are missing.
        keys: Vec<&'static str>,
    },
    /// The value of an argument is not what was expected.
    #[error("line {line}, {key}: {expected} was expected, not \"{found}\"")]
    Argument {
        /// Line of the value, from 1.
        line: u32,
        /// The argument's name with underscores, as a log lists it.
        key: String,
        /// A description of the expected value.
        expected: String,
        /// The value that was found.
        found: String,
    },
    /// Arguments contradict each other.
    #[error("line {line}, {key}: {message}")]
    Contradiction {
        /// Line of the argument, from 1.
        line: u32,
        /// The argument's name with underscores, as a log lists it.
        key: String,
        /// Both values, and what would fit.
        message: String,
    },
    /// A program of Megatron-LM that trains something else.
    #[error("{program}.py trains no decoder, such as pretrain_gpt.py does: of other models no step is estimated")]
    NotADecoder {
        /// The program's name, without its ending.
        program: String,
    },
    /// Sizes are left open.
    #[error("the file leaves open: {}", open.join("; "))]
    Open {
        /// Each with its reason.
        open: Vec<String>,
    },
    /// The configuration of a program that is not read, by its name.
    #[error(
        "this looks like a configuration of {0}, which is not read: give the model by its name or its config.json, and \
         choose the layout"
    )]
    OtherProgram(&'static str),
    /// The text is of no known form.
    #[error(
        "this is no configuration of a model: a config.json of Hugging Face has a model_type, arguments of Megatron-LM \
         have num-layers, and TorchTitan's TOML has the tables model and training"
    )]
    NotAModel,
}

impl From<YamlError> for ModelFileError {
    fn from(error: YamlError) -> Self {
        Self::Key(error.into())
    }
}

/// Whether a mapping is the configuration of a model, or of how one is trained.
pub fn is_model(root: &yaml::Node) -> bool {
    hugging_face::is_one(root) || deepspeed::is_one(root)
}

/// The forms of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFormat {
    /// A `config.json` of Hugging Face.
    HuggingFace,
    /// Arguments of Megatron-LM.
    Megatron,
    /// A configuration of DeepSpeed.
    DeepSpeed,
    /// TorchTitan's TOML: a model by its name and flavor, and how it is trained.
    TorchTitan,
}

/// The form of a text by its content; `None` if it has none of them.
pub fn identify(text: &str) -> Option<ModelFormat> {
    match () {
        () if megatron::is_one(text) => Some(ModelFormat::Megatron),
        () if torchtitan::is_one(text) => Some(ModelFormat::TorchTitan),
        () if deepspeed::KEYS.iter().any(|key| text.contains(key)) => Some(ModelFormat::DeepSpeed),
        () if text.contains("model_type") => Some(ModelFormat::HuggingFace),
        () => None,
    }
}

/// Reads a model and how it is trained from the text of a file: a `config.json` of Hugging Face, or arguments of
/// Megatron-LM (a script, a command line, or their list in a log), TorchTitan's TOML, or how one is trained from
/// DeepSpeed's JSON.
///
/// # Errors
/// Returns an error if the text is no such file, its architecture is not known, a size of a `config.json` is missing,
/// or sizes contradict each other.
pub fn read_file(text: &str) -> Result<ModelFile, ModelFileError> {
    match identify(text) {
        Some(ModelFormat::Megatron) => return megatron::read(text),
        Some(ModelFormat::TorchTitan) => return torchtitan::read(&toml::parse(text)?),
        _ => {}
    }
    let root = yaml::parse(text)?;
    of(&root)
}

/// The program whose configuration this is and that is not read, by the keys that only its files have.
fn other_program(root: &yaml::Node) -> Option<&'static str> {
    const PROGRAMS: [(&str, &str, &str); 10] = [
        ("nanotron", "model", "model_config"),
        ("NeMo or Megatron Bridge", "model", "tensor_model_parallel_size"),
        ("Megatron Bridge", "model", "_target_"),
        ("Axolotl", "base_model", ""),
        ("Accelerate", "distributed_type", ""),
        ("torchtune", "model", "_component_"),
        ("GPT-NeoX", "pipe_parallel_size", ""),
        ("GPT-NeoX", "pipe-parallel-size", ""),
        ("GPT-NeoX", "model_parallel_size", ""),
        ("GPT-NeoX", "model-parallel-size", ""),
    ];
    let has = |(_, table, key): &&(&str, &str, &str)| {
        root.get(table).is_some_and(|table| key.is_empty() || table.get(key).is_some())
    };
    PROGRAMS.iter().find(has).map(|(name, ..)| *name)
}

/// The note on keys of a file that are not used; `None` where there are none.
fn unused_keys(keys: &[String]) -> Option<String> {
    const LISTED: usize = 20;
    (!keys.is_empty()).then(|| format!("These keys are not used: {}", first_of(LISTED, keys, String::clone)))
}

/// The model of a file, as [`read_file`] reads it.
///
/// # Errors
/// As [`read_file`], and if a size of the model is left open.
pub fn read(text: &str) -> Result<Transformer, ModelFileError> {
    let file = read_file(text)?;
    file.model.ok_or_else(|| ModelFileError::Open {
        open: file.missing.iter().map(|field| format!("{} ({})", field.key, field.reason)).collect(),
    })
}

/// Reads a mapping that [`is_model`].
///
/// # Errors
/// As [`read_file`].
pub fn of(root: &yaml::Node) -> Result<ModelFile, ModelFileError> {
    if let Some(program) = other_program(root) {
        return Err(ModelFileError::OtherProgram(program));
    }
    if !is_model(root) {
        return Err(ModelFileError::NotAModel);
    }
    if deepspeed::is_one(root) {
        return deepspeed::read(root);
    }
    let (model, unused) = hugging_face::read(root)?;
    let note = "It is a model for texts and others (text_config): what reads images or sound is left out";
    let part = hugging_face::text_part(root).map(|_| note.to_owned());
    let notes = part.into_iter().chain(unused_keys(&unused)).collect();
    Ok(ModelFile { model: Some(model), notes, ..ModelFile::default() })
}
