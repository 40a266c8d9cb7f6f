//! `collectune tuning cost-model`: what NCCL chooses by its own cost model.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::{
    cli::{
        arguments::{self, Measured, Sizes, UntoldScale},
        error::{CliError, refuse},
        files::{self, Reads},
        table, terminal,
    },
    collective::{Collective, Scale},
    cost_model::{self, CostModel, LoggedGraphs, Machine, Processor, Release, read_logs},
    progress::Silent,
    tuning::{
        aggregate::Target,
        library_choice::{self, KNOWN_ERROR, LibraryLine, LibraryQuestion},
        loaded::LoadedTuning,
        platform::{Gpu, Library, Version},
        sweep::Sweep,
    },
};

/// Say what NCCL chooses by its own cost model, where nothing was measured
///
/// The library chooses algorithm and protocol by a table of latencies and bandwidths that it computes when a
/// communicator is made (src/graph/tuning.cc). This computes the same table for the releases 2.18.1 to 2.30.7: without
/// a file for one node of A100, H100, H200 or B200 behind NVSwitches, and for nodes of H100 or H200 with a network card
/// of 400 Gb/s for each GPU; for other machines from a debug log (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH), which
/// says the channels that the library found.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning cost-model --gpu h100 --nodes 2 --ranks 16 --library-version 2.28.9
  collectune tuning cost-model --gpu b200 --nodes 1 --ranks 8 --collective all_gather --table
  collectune tuning cost-model --gpu h100 debug.log --sweep sweep.csv")]
pub(in crate::cli) struct CostModelOf {
    /// Debug logs of one job, of any number of its ranks; - is the standard input
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The GPU: a100, h100, h200 or b200; with a log any GPU of NVIDIA
    #[arg(long, value_name = "GPU")]
    gpu: String,

    #[command(flatten)]
    scale: UntoldScale,

    /// The version of NCCL, from 2.18.1 to 2.30.7 [default: as the log says, else the newest]
    #[arg(long, value_name = "VERSION")]
    library_version: Option<Version>,

    /// Whose processors the nodes have, which changes the cost of a hop between nodes
    #[arg(long, value_enum, default_value_t)]
    processor: Processor,

    /// The collective
    #[arg(long, value_name = "C", default_value = "all_reduce")]
    collective: Collective,

    /// Message sizes, like 1M,16M,64M [default: those of the sweep, else 1 KiB to 8 GiB]
    #[arg(long)]
    sizes: Option<Sizes>,

    /// Sweeps to compare the choices with
    #[arg(long, value_name = "SWEEP", num_args = 1..)]
    sweep: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    /// Show the library's table of latencies and bandwidths as well
    #[arg(long, conflicts_with = "json")]
    table: bool,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

/// The answer as JSON.
#[derive(Serialize)]
struct Answer {
    /// The release whose model it is.
    release: String,
    collective: Collective,
    scale: Scale,
    sizes: Vec<LibraryLine>,
    notes: Vec<String>,
}

impl CostModelOf {
    pub(super) fn run(self) -> Result<(), CliError> {
        if !library_choice::COLLECTIVES.contains(&self.collective) {
            let known = library_choice::COLLECTIVES.map(Collective::name).join(", ");
            return refuse(format!("the library has no choice for {}: its model knows {known}", self.collective));
        }
        let mut notes = Vec::new();
        let model = self.model(&mut notes)?;
        let loaded = match &self.sweep[..] {
            [] => {
                arguments::say_unused(&["set", "configuration"], "no sweep is given (--sweep)");
                None
            }
            sweeps => {
                let mut opened = files::has_rows(files::read(sweeps, &self.measured, Reads::Sweeps)?)?;
                Some(opened.take_tuning(Target::Time, &mut Silent))
            }
        };
        let nothing = Sweep::default();
        let compared = loaded.as_ref().and_then(LoadedTuning::sweep_for_nccl);
        let measured = loaded.as_ref().and_then(LoadedTuning::platform);
        notes.extend(library_choice::other_platform(&model, measured));
        let sweep = compared.unwrap_or(&nothing);
        let lines = match &self.sizes {
            Some(Sizes(sizes)) => library_choice::lines_at(&model, self.collective, sizes, sweep),
            None => library_choice::lines(&model, self.collective, sweep),
        };
        if compared.is_some() && lines.iter().all(|line| line.measured.is_none()) {
            notes.push(format!(
                "the sweeps have no configuration of {} on {} at these sizes",
                self.collective,
                model.scale()
            ));
        }
        notes.push(KNOWN_ERROR.to_owned());
        if self.json {
            let (release, scale) = (model.release().to_string(), model.scale());
            return terminal::write_json(&Answer { release, collective: self.collective, scale, sizes: lines, notes });
        }
        terminal::say_notes(&notes);
        let mut text = format!("{}\n", library_choice::sentence(&model, self.collective, &lines));
        text += &library_choice::verdict(&lines).map(|verdict| format!("{verdict}\n")).unwrap_or_default();
        text += &format!("\n{}", table::of_listing(&library_choice::listing(&lines)));
        if self.table {
            text += &format!("\n{}", table::of_listing(&library_choice::cells(&model, self.collective)));
        }
        terminal::write(&text)
    }

    /// The model of the log, or of a machine that is known without one.
    fn model(&self, notes: &mut Vec<String>) -> Result<CostModel, CliError> {
        let mut logged = LoggedGraphs::default();
        if !self.logs.is_empty() {
            logged = self.logged(notes)?;
        }
        if logged.is_rccl {
            return refuse("the log is of RCCL, whose cost model is not known here");
        }
        let version = self.library_version.or(logged.version).unwrap_or(cost_model::NEWEST);
        let release = Release::of(version)?;
        let stated = self.scale.scale()?;
        if let Some((stated, of_log)) = stated.zip(logged.scale).filter(|(stated, of_log)| stated != of_log) {
            return refuse(format!(
                "the log is of a job on {of_log}, and its channels hold there only: leave out --nodes and --ranks, or \
                 give a log of a job on {stated}"
            ));
        }
        let Some(scale) = stated.or(logged.scale) else {
            return refuse("say on how many nodes and ranks: --nodes 2 --ranks 16");
        };
        if self.logs.is_empty() {
            let Some(machine) = Machine::of_name(&self.gpu) else {
                return refuse(format!(
                    "{:?} is no GPU whose channels are known without a log (a100, h100, h200, b200); give a log of the job \
                     with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH",
                    self.gpu
                ));
            };
            let question =
                LibraryQuestion { machine, version, processor: self.processor, collective: self.collective, scale };
            notes.extend(question.assumptions());
            return Ok(question.model()?);
        }
        notes.extend(library_choice::of_another_release(version, release));
        let Gpu::Sm(capability) = self.gpu.parse::<Gpu>()? else {
            return refuse(format!(
                "{} is no GPU of NVIDIA, which NCCL runs on ({} has another model)",
                self.gpu,
                Library::Rccl
            ));
        };
        let Some(graphs) = logged.graphs else {
            return refuse(
                "the log has no lines \"Pattern 4, crossNic 0, nChannels …\" of rings and trees; log the job with \
                 NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH",
            );
        };
        Ok(CostModel::new(release, capability, scale, graphs, self.processor)?)
    }

    /// What the logs say together; names logs of which nothing was used, and what the model does not know of the job.
    fn logged(&self, notes: &mut Vec<String>) -> Result<LoggedGraphs, CliError> {
        let names: Vec<String> = self.logs.iter().map(|path| path.display().to_string()).collect();
        let texts = self.logs.iter().map(|path| files::lossy_text(path)).collect::<Result<Vec<String>, _>>()?;
        let logs: Vec<(&str, String)> = names.iter().map(String::as_str).zip(texts).collect();
        let (logged, unused) = match read_logs(&logs) {
            Ok(read) => read,
            Err(different) => return refuse(different.to_string()),
        };
        notes.extend(unused.iter().map(|name| {
            format!("{name} was not used: it has no line of a communicator or of its graphs (NCCL_DEBUG=INFO)")
        }));
        if !logged.displaced_by.is_empty() {
            let all: Vec<&str> = logged.displaced_by.iter().map(String::as_str).collect();
            notes.push(format!("the job had {}: this is what the library would choose without", all.join(", ")));
        }
        Ok(logged)
    }
}
