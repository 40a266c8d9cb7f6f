//! The command that estimates in a terminal what the page estimates without samples.

use super::{bundle::Bundle, estimate::question::EstimateSettings};
use crate::{
    command::{Command, Commands},
    form::Choices,
};

/// The keys of choices and the options that stand for them.
const OPTIONS: [(&str, &str); 14] = [
    ("e.gpu", "--gpu"),
    ("e.gpus", "--gpus"),
    ("e.sequence", "--sequence"),
    ("e.batch", "--batch"),
    ("e.mtp", "--mtp-layers"),
    ("e.stack", "--stack"),
    ("e.precision", "--precision"),
    ("e.attention", "--attention"),
    ("e.gradients", "--gradients"),
    ("e.nccl", "--nccl"),
    ("x.channels", "--channels"),
    ("e.price", "--price"),
    ("e.reserve", "--reserve"),
    ("e.schedule", "--schedule"),
];

/// Those of a layout that is given.
const LAYOUT: [(&str, &str); 9] = [
    ("e.tp", "--tp"),
    ("e.pp", "--pp"),
    ("e.chunks", "--virtual-stages"),
    ("e.cp", "--cp"),
    ("e.ep", "--ep"),
    ("e.b", "--micro-batch"),
    ("e.recompute", "--recompute"),
    ("e.sharding", "--sharding"),
    ("e.replicate", "--dp-replicate"),
];

/// The command for the choices that are not usual, on the model of this name.
pub(super) fn estimate(bundle: &Bundle, changed: &Choices, model: &str) -> Commands {
    let others = bundle.training_of(model).map(|(name, _)| name.to_owned()).filter(|name| name != model);
    let files: Vec<String> = std::iter::once(model.to_owned()).chain(others).collect();
    let mut command = Command::new("training-time estimate", &files);
    let mut left_out = Commands::default();
    let trained = bundle.training_of(model).map(|(name, file)| (name, &file.training));
    let is_said = EstimateSettings::of_files(trained).layout.is_some();
    // The choice is listed where it is not as the files say.
    let is_given = is_said != changed.get("e.given").is_some();
    let mut has_degrees = is_said;
    for (key, value) in changed.iter() {
        let of =
            |table: &[(&str, &'static str)]| table.iter().find(|(known, _)| *known == key).map(|(_, option)| *option);
        match (of(&OPTIONS), of(&LAYOUT)) {
            (Some(option), _) => command.option(option, value),
            (None, Some(option)) if is_given => {
                has_degrees |= !matches!(option, "--recompute" | "--sharding" | "--dp-replicate");
                command.option(option, value);
            }
            (None, Some(_)) => {}
            (None, None) if key == "catalogue" => left_out.leave_out("Added to the catalogue", "save it as a file"),
            (None, None) if key.ends_with("-curve") => {
                left_out.leave_out("Another curve", "give what was measured with --collectives");
            }
            (None, None) if key != "x.curves" && key.starts_with("x.") => left_out.leave_out("What if", value),
            (None, None) => {}
        }
    }
    if is_given && !has_degrees {
        command.option("--tp", "1");
    }
    if is_said && !is_given {
        command.word("--best-layout");
    }
    let traces: Vec<String> = bundle.traces.iter().map(|(name, _)| name.clone()).collect();
    let mut tables: Vec<String> = bundle.own_steps.iter().map(|(name, _)| name.clone()).collect();
    tables.dedup();
    let others = [("--steps", &tables), ("--trace", &traces), ("--catalogue", &bundle.catalogue_files)];
    for (option, names) in others {
        if !names.is_empty() {
            command.word(option);
            names.iter().for_each(|name| command.file(name));
        }
    }
    Commands { lines: vec![command], ..left_out }
}
