//! The command line that starts the ranks of a launch, as a template. No shell reads it, unless it names one.

use crate::{collective::Scale, text::shell::quoted};

/// The launcher that starts one process on this machine.
pub(super) const LOCAL: &str = "local";

/// The names that `--launcher` knows, with their templates.
pub(super) const PRESETS: [(&str, &str); 4] = [
    ("mpirun", "mpirun -np {ranks} --map-by ppr:{ranks_per_node}:node {env} {program} {arguments}"),
    ("mpich", "mpiexec -n {ranks} -ppn {ranks_per_node} {env} {program} {arguments}"),
    ("srun", "srun -N {nodes} -n {ranks} --ntasks-per-node={ranks_per_node} {env} {program} {arguments}"),
    (LOCAL, "{env} {program} {arguments}"),
];

/// Variables that a launch must not inherit: they would hide what is set for it.
const UNSET: [&str; 16] = [
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_P2P_NCHANNELS",
    "NCCL_MAX_P2P_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
    "NCCL_NTHREADS",
    "NCCL_LL128_NTHREADS",
    "NCCL_TUNER_PLUGIN",
    "NCCL_TUNER_CONFIG_FILE",
    "NCCLX_TUNER_CONFIG_FILE",
    "NCCL_DEBUG",
    "NCCL_DEBUG_SUBSYS",
    "NCCL_DEBUG_FILE",
];

/// Why a template can't be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("--launcher: a quote is not closed in \"{0}\"")]
    OpenQuote(String),
    #[error(
        "--launcher: {{{0}}} is no placeholder; there are {{ranks}}, {{nodes}}, {{ranks_per_node}}, {{env}}, {{program}} and {{arguments}}"
    )]
    Unknown(String),
    #[error(
        "--launcher: {{{0}}} is missing in \"{1}\"; write {{env}} {{program}} {{arguments}} where the program of each rank is named"
    )]
    Missing(&'static str, String),
}

/// A template of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template {
    words: Vec<String>,
}

/// What takes the places of a template's placeholders.
pub(super) struct Command<'a> {
    pub(super) scale: Scale,
    pub(super) environment: &'a [(String, String)],
    pub(super) program: &'a str,
    pub(super) arguments: &'a [String],
}

impl Template {
    /// Reads a template, or the name of a preset.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        let preset = PRESETS.iter().find(|(name, _)| *name == text.trim()).map(|(_, template)| *template);
        let text = preset.unwrap_or(text);
        let words: Vec<String> = shlex::split(text).ok_or_else(|| TemplateError::OpenQuote(text.to_owned()))?;
        let template = Self { words };
        for name in template.placeholders() {
            if !["ranks", "nodes", "ranks_per_node", "env", "program", "arguments"].contains(&name) {
                return Err(TemplateError::Unknown(name.to_owned()));
            }
        }
        for needed in ["env", "program", "arguments"] {
            if !template.placeholders().any(|name| name == needed) {
                return Err(TemplateError::Missing(needed, text.to_owned()));
            }
        }
        Ok(template)
    }

    /// The names in braces. Braces around anything but a name are text, and so are a shell's `${variables}`.
    fn placeholders(&self) -> impl Iterator<Item = &str> {
        let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        self.words.iter().flat_map(move |word| {
            let braces = word.match_indices('{').filter(|(at, _)| !word[..*at].ends_with('$'));
            braces.filter_map(|(at, _)| Some(word[at + 1..].split_once('}')?.0)).filter(is_name)
        })
    }

    /// The program that is started.
    pub(super) fn program(&self) -> Option<&str> {
        self.words.first().map(String::as_str).filter(|word| !word.contains('{'))
    }

    /// Whether one process drives all GPUs: nothing says how many ranks to start.
    pub(super) fn is_one_process(&self) -> bool {
        !self.placeholders().any(|name| matches!(name, "ranks" | "ranks_per_node" | "nodes"))
    }

    /// The words of the command. A placeholder that is a word of its own becomes as many words as it stands for; within
    /// a longer word, such as the script of a shell, those are quoted for that shell.
    pub(super) fn command(&self, command: &Command<'_>) -> Vec<String> {
        let Scale { nodes, ranks } = command.scale;
        let mut environment: Vec<String> = vec!["env".to_owned()];
        environment.extend(UNSET.iter().flat_map(|name| ["-u".to_owned(), (*name).to_owned()]));
        environment.extend(command.environment.iter().map(|(name, value)| format!("{name}={value}")));
        let values: [(&str, Vec<String>); 6] = [
            ("{ranks}", vec![ranks.to_string()]),
            ("{nodes}", vec![nodes.to_string()]),
            ("{ranks_per_node}", vec![ranks.div_ceil(nodes.max(1)).to_string()]),
            ("{env}", environment),
            ("{program}", vec![command.program.to_owned()]),
            ("{arguments}", command.arguments.to_vec()),
        ];
        let mut words = Vec::new();
        for word in &self.words {
            if let Some((_, value)) = values.iter().find(|(name, _)| name == word) {
                words.extend(value.iter().cloned());
                continue;
            }
            words.push(filled(word, &values));
        }
        words
    }
}

/// A word with its placeholders replaced, in one pass: a value that has braces is not read again.
fn filled(word: &str, values: &[(&str, Vec<String>)]) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        text += &rest[..at];
        rest = &rest[at..];
        let is_variable = text.ends_with('$');
        match values.iter().find(|(name, _)| !is_variable && rest.starts_with(name)) {
            Some((name, value)) => {
                let quoted: Vec<String> = value.iter().map(|word| quoted(word)).collect();
                text += &quoted.join(" ");
                rest = &rest[name.len()..];
            }
            None => {
                text.push('{');
                rest = &rest[1..];
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(template: &str) -> Vec<String> {
        let environment = [("NCCL_ALGO".to_owned(), "Ring".to_owned())];
        let arguments = ["-b".to_owned(), "4096".to_owned()];
        let scale = Scale { nodes: 2, ranks: 16 };
        let filled =
            Command { scale, environment: &environment, program: "/opt/a b/all_reduce_perf", arguments: &arguments };
        Template::parse(template).unwrap().command(&filled)
    }

    #[test]
    fn placeholders_become_words_and_no_shell_reads_them() {
        let words = command("mpirun -np {ranks} --hostfile 'my hosts' {env} {program} {arguments}");
        assert_eq!(words[..5], ["mpirun", "-np", "16", "--hostfile", "my hosts"]);
        assert_eq!(words[5..8], ["env", "-u", "NCCL_ALGO"]);
        assert_eq!(words[words.len() - 4..], ["NCCL_ALGO=Ring", "/opt/a b/all_reduce_perf", "-b", "4096"]);
        assert!(command("x; rm {env} {program} {arguments} $(y)").contains(&"$(y)".to_owned()));
    }

    #[test]
    fn a_shell_that_the_template_names_gets_quoted_words() {
        let words = command("bash -c 'module load rocm; srun -n {ranks} {env} {program} {arguments} {} ${x}'");
        assert_eq!(words.len(), 3);
        assert!(words[2].starts_with("module load rocm; srun -n 16 env -u NCCL_ALGO"), "{}", words[2]);
        assert!(words[2].ends_with("NCCL_ALGO=Ring '/opt/a b/all_reduce_perf' -b 4096 {} ${x}"), "{}", words[2]);
    }

    #[test]
    fn presets_are_templates_and_local_is_one_process() {
        for (name, _) in PRESETS {
            let template = Template::parse(name).unwrap();
            assert_eq!(template.is_one_process(), name == "local");
        }
        assert_eq!(Template::parse("srun").unwrap().program(), Some("srun"));
        assert_eq!(Template::parse("local").unwrap().program(), None);
        assert!(command("srun").contains(&"--ntasks-per-node=8".to_owned()));
    }

    #[test]
    fn templates_that_lack_something_are_refused() {
        let error = |text: &str| Template::parse(text).unwrap_err().to_string();
        assert!(error("mpirun 'a {env} {program} {arguments}").contains("a quote is not closed"));
        assert!(error("mpirun {env} {program}").contains("{arguments} is missing"));
        assert!(error("mpirun {program} {arguments}").contains("{env} is missing"));
        assert!(
            error("mpirun {hosts} {env} {program} {arguments}")
                .contains("{hosts} is no placeholder; there are {ranks}")
        );
        assert!(error("").contains("{env} is missing"));
    }
}
