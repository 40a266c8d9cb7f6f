//! Command lines that give in a terminal the answer that the page shows.

use crate::{
    form::{Choices, Control, Field},
    text::shell::quoted,
};

/// The commands of an answer, and what of it they leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// The commands, none where nothing is answered yet; each gives a part of the answer.
    pub lines: Vec<Command>,
    /// The choices for which there is no option, a sentence each.
    pub left_out: Vec<String>,
}

impl From<Command> for Commands {
    fn from(command: Command) -> Self {
        Self { lines: vec![command], ..Self::default() }
    }
}

impl Commands {
    /// The commands for a POSIX shell, a line each.
    pub fn text(&self) -> String {
        let line = |command: &Command| command.0.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Says of a choice that no option stands for it.
    pub fn leave_out(&mut self, label: &str, value: &str) {
        self.left_out.push(format!("Not in the command, which has no option for it: {label} ({value})."));
    }
}

/// The arguments of one command, the program's name first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(Vec<String>);

impl Command {
    /// A command of the program, such as `tuning predict`, on files.
    pub fn new(words: &str, files: &[String]) -> Self {
        let mut command = Self(vec!["collectune".to_owned()]);
        command.0.extend(words.split(' ').map(str::to_owned));
        files.iter().for_each(|name| command.file(name));
        command
    }

    /// The arguments, the program's name first.
    pub fn arguments(&self) -> &[String] {
        &self.0
    }

    /// Adds a word as it is, such as an option without a value.
    pub fn word(&mut self, word: &str) {
        self.0.push(word.to_owned());
    }

    /// Adds the name of a file, so that it is no option.
    pub fn file(&mut self, name: &str) {
        let start = if name.starts_with('-') { "./" } else { "" };
        self.0.push(format!("{start}{name}"));
    }

    /// Adds an option with its value.
    pub fn option(&mut self, name: &str, value: &str) {
        self.word(name);
        self.word(value);
    }

    /// Adds the option of each choice. Each pair of the table is the key of a choice and its option: one that ends in
    /// `?` takes no value, and an empty one stands for nothing that the answer depends on. Answers whether all choices
    /// are in the table.
    pub fn options(&mut self, choices: &Choices, table: &[(&str, &str)]) -> bool {
        for (key, value) in choices.iter() {
            let Some((_, option)) = table.iter().find(|(known, _)| *known == key) else { return false };
            match option.strip_suffix('?') {
                Some(option) => self.word(option),
                None if !option.is_empty() => self.option(option, value),
                None => {}
            }
        }
        true
    }
}

/// The choices that are not what is taken without them, as far as the form offers them.
pub fn changed(choices: &Choices, form: &[Field]) -> Choices {
    let choices = choices.as_offered(form);
    let mut changed = choices.clone();
    let is_usual = |field: &&Field| {
        // A number whose field was emptied is the default.
        let is_number = matches!(field.control, Control::Number | Control::NumberWithin { .. });
        choices.get(&field.key).is_some_and(|value| *value == field.usual || is_number && value.trim().is_empty())
    };
    form.iter().filter(is_usual).for_each(|field| changed.clear(&field.key));
    changed
}

/// The command that prints the report on files by choices.
pub fn report(files: &[String], choices: &Choices) -> Commands {
    let mut command = Command::new("report", files);
    if !choices.is_empty() || files.is_empty() {
        command.option("--choices", choices.suffix().trim_start_matches('&'));
    }
    command.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_option_and_choices_have_options() {
        let mut command = Command::new("topology synthesize", &["--help".to_owned()]);
        let choices = Choices::parse("chunk=4%20MiB&decimal=1&view=3d");
        let table = [("chunk", "--chunk"), ("decimal", "--decimal?"), ("view", "")];
        assert!(command.options(&choices, &table));
        let text = Commands::from(command.clone()).text();
        assert_eq!(text, "collectune topology synthesize ./--help --chunk '4 MiB' --decimal");
        assert!(!command.options(&choices, &table[1..]));
        assert_eq!(report(&[], &choices).text(), "collectune report --choices 'chunk=4%20MiB&decimal=1&view=3d'");
    }
}
