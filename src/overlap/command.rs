//! The command that gives the workbench's answer in a terminal.

use super::models::Kind;
use crate::{
    command::{Command, Commands},
    form::Choices,
};

/// The comparison of models; none where a kernel is asked for, or another choice that only a report has.
pub(super) fn models(files: &[String], changed: &Choices) -> Option<Commands> {
    let mut command = Command::new("overlap models", files);
    // A semicolon stands for a comma in the name of a column, which separates columns there.
    let is_said = |(key, value): (&str, &str)| match key {
        "shown" => Kind::parse(value).is_some(),
        "metrics" => !value.is_empty() && !value.contains(';'),
        _ => true,
    };
    let table = [("run", "--run"), ("seed", "--seed"), ("shown", "--model"), ("metrics", "--columns")];
    (command.options(changed, &table) && changed.iter().all(is_said)).then(|| command.into())
}
