//! The command that gives the workbench's answer in a terminal.

use crate::{
    command::{Command, Commands},
    form::Choices,
};

/// What was chosen, and the option for it; nothing for what is only emphasised, or only stands in files to save.
const OPTIONS: [(&str, &str); 17] = [
    ("arms", "--arms"),
    ("warm-up", "--warm-up"),
    ("turns", "--turns"),
    ("collective", "--collective"),
    ("size", "--size"),
    ("nodes", "--nodes"),
    ("ranks", "--ranks"),
    ("bands", "--bands"),
    ("seed", "--seed"),
    ("steps", "--steps"),
    ("seeds", "--seeds"),
    ("world", "--simulate"),
    ("key", ""),
    ("arm", ""),
    ("strategy", ""),
    ("generation", ""),
    ("command", ""),
];

/// The judgement of logs with a replay of strategies, or a simulation as it is offered; none where a choice is made
/// that only a report has.
pub(super) fn replay(files: &[String], changed: &Choices) -> Option<Commands> {
    let mut command = Command::new("policy replay", files);
    let has = |key: &str| changed.get(key).is_some();
    let is_simulated = files.is_empty();
    // Nothing is said of logs where there are none.
    let is_of_replay = |key: &str| matches!(key, "world" | "steps" | "seeds");
    let table = OPTIONS.map(|(key, option)| (key, if is_simulated && !is_of_replay(key) { "" } else { option }));
    if is_simulated && !has("world") {
        command.option("--simulate", "clear");
    }
    // Logs are replayed as they are, and one's own arms have to be described.
    let is_offered = changed.get("world").is_none_or(|world| is_simulated && world != "own");
    let is_whole = has("nodes") == has("ranks");
    (command.options(changed, &table) && is_offered && is_whole).then(|| command.into())
}
