//! `collectune tuning export`: the tuner file to deploy.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;

use super::FromSweeps;
use crate::{
    cli::{
        arguments::{self, Machine},
        error::{CliError, refuse},
        files, save, table, terminal,
    },
    collective::Scale,
    report::wire::leaf,
    text::visible,
    tuning::{
        conf::{
            Reader,
            export::{self, ConfExport, ExportOptions, loading},
        },
        platform::{Gpu, Library, Platform},
    },
    units::count,
};

/// Write a tuner file from a sweep
///
/// Rules are merged over adjacent sizes and meet at the geometric mean of measured ones. Where the default wins, a gap
/// keeps it; NVIDIA's example can't keep it, and nothing is written for a scale that it would make slower.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning export merged_metrics.csv --reader dn-tuner -o nccl_tuner.conf
  collectune tuning export all_reduce_*.csv --reader rccl --architecture gfx942 -o rccl_tuner_gfx942.csv")]
pub(in crate::cli) struct Export {
    /// Sweeps, or a saved model; - is the standard input
    #[arg(required = true, value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    /// The plugin or library that will read the tuner file
    #[arg(long, value_enum)]
    reader: Reader,

    /// The library whose rules say what can run [default: as the sweep says, else rccl]
    #[arg(long, value_enum)]
    library: Option<Library>,

    #[command(flatten)]
    machine: Machine,

    /// A file for each scale, its nodes and ranks in the name
    #[arg(long)]
    by_scale: bool,

    /// Let the lowest rule begin at 0 and the highest have no end; NVIDIA's example needs that always
    #[arg(long)]
    open_ends: bool,

    /// The GPU in the name that RCCL looks for, by its architecture or its name, like gfx942 or mi300x [default: that
    /// of --gpu or of the sweep, else gfx950]
    #[arg(long, value_name = "ARCH")]
    architecture: Option<String>,

    /// Leave out the rows of RCCL's own table for the GPU, which stand after the rules: the file displaces that table
    #[arg(long)]
    without_built_in: bool,

    /// Where to write it; without it the text goes to the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    from: FromSweeps,
}

impl Export {
    /// Refuses two GPUs that are not the same.
    fn check_gpus(&self) -> Result<(), CliError> {
        let named = self.architecture.as_ref().and_then(|name| name.parse::<Gpu>().ok());
        match (named, self.machine.gpu) {
            (Some(named), Some(gpu)) if named != gpu => refuse(format!(
                "--architecture says {named} and --gpu says {gpu}: a tuner file is for one of them; leave one of the two \
                 options out"
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn run(self) -> Result<(), CliError> {
        let opened = self.from.read(&self.sweeps, false)?;
        self.output.iter().try_for_each(|path| save::check("tuner file", path))?;
        if self.reader != Reader::Rccl {
            arguments::say_unused(&["architecture"], "only the name that RCCL looks for has it (--reader rccl)");
        }
        if self.reader == Reader::Rccl {
            self.check_gpus()?;
        }
        arguments::say_unused_library(&[self.reader]);
        let parameters = self.from.parameters(&opened)?;
        let learnt = self.from.learn(opened, &parameters, None)?;
        let scales = learnt.groups.iter().map(|group| group.scale).collect::<BTreeSet<Scale>>().len();
        let told = learnt.executor.studies.tuning.loaded.platform();
        let library = if self.reader == Reader::Ncclx { Some(Library::Nccl) } else { self.library };
        let Platform { library, version, gpu, .. } = self.machine.with(library, told);
        let options = ExportOptions {
            reader: self.reader,
            library,
            by_scale: self.by_scale,
            open_ends: self.open_ends,
            architecture: self.architecture,
            version,
            gpu,
            leaves_out_built_in: self.without_built_in,
            measured_only: false,
        };
        if self.by_scale && self.reader == Reader::Rccl {
            terminal::say(
                "note",
                "RCCL finds a file of one scale by NCCL_TUNER_CONFIG_FILE alone: the name that it looks for by itself has no scale",
            );
        }
        if options.displaced().is_none() {
            let why = "RCCL has a table of its own on gfx950 from 2.28.3 on (--gpu gfx950)";
            arguments::say_unused(&["without_built_in"], why);
        }
        let export = learnt.executor.studies.tuning.loaded.export(&options)?;
        export.warnings.iter().for_each(|warning| terminal::say("warning", warning));
        export.refusals.iter().for_each(|refusal| terminal::say("error", &refusal.message()));
        if export.files.is_empty() {
            let others = scales > export.refusals.len() && !export.refusals.is_empty() && !self.by_scale;
            let remedy = if others { "; --by-scale writes a file for each of the other scales" } else { "" };
            return refuse(format!("no tuner file is written for {}{remedy}", self.reader.name()));
        }
        match self.output {
            None => terminal::write_file(&export.files.iter().map(|file| file.text.as_str()).collect::<String>())?,
            Some(path) => {
                let saved = save_all(&export, &path)?;
                let first = saved.first().map(|(name, _)| leaf(name)).unwrap_or_default();
                let told: String = saved
                    .iter()
                    .map(|(name, rules)| format!("{} saved as {}.\n", count(*rules as u64, "rule"), visible(name)))
                    .collect();
                // RCCL finds it by this name without a variable.
                let offered = export.files.first().map_or("", |file| file.name.as_str());
                let looked_for = match self.reader {
                    // A file of one scale is found by NCCL_TUNER_CONFIG_FILE alone, as the note says.
                    Reader::Rccl if offered != first && !self.by_scale => {
                        format!("# there under the name {offered}\n")
                    }
                    _ => String::new(),
                };
                let table = table::of_listing(&export::listing(&export.rows));
                terminal::write(&format!("{table}\n{told}\n{}{looked_for}", loading(self.reader, &first)))?;
            }
        }
        Ok(())
    }
}

/// Saves the files of an export; of several, each under the name with its own scale. Answers their names, and how many
/// rules each has.
fn save_all(export: &ConfExport, path: &Path) -> Result<Vec<(String, usize)>, CliError> {
    let mut saved = Vec::new();
    for file in &export.files {
        let path = match export.files.len() {
            1 => path.to_owned(),
            _ => {
                // The offered name ends in the scale.
                let scale =
                    file.name.rsplit_once('.').and_then(|(stem, _)| stem.rsplit_once('_')).map_or("", |(_, s)| s);
                let mut name = path.file_stem().unwrap_or_default().to_owned();
                name.push(format!("_{scale}"));
                if let Some(extension) = path.extension() {
                    name.push(".");
                    name.push(extension);
                }
                path.with_file_name(name)
            }
        };
        save::save("tuner file", &path, &file.text)?;
        saved.push((files::name(&path), file.rules));
    }
    Ok(saved)
}
