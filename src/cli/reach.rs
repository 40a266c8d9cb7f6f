//! `collectune reach`: which of a job's calls a tuner decides.

use std::path::PathBuf;

use clap::Args;

use super::{
    arguments::{self, JobRunsOn, Measured, UntoldScale},
    error::{CliError, refuse},
    files::{self, Reads},
    table, terminal,
};
use crate::{
    collective::Scale,
    tuning::{
        aggregate::Target,
        conf::{Reader, expect::Expectations, read, reader_of},
        platform::Library,
        reach::{self, ReachQuestion, ReachReader},
        runs::aggregate,
        support::SupportMatrix,
    },
};

/// Say which of a job's calls a tuner file can move, and which take another path
///
/// Reads debug logs of NCCL and RCCL (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING), of any number of ranks,
/// and lists of calls (CSV with collective,num_nodes,num_gpus,size_bytes and calls,data_type,redop where they are
/// known). Calls of a list are judged by the conditions of the library's version, which is said to be inferred.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune reach debug.*.log --conf nccl_tuner.conf
  collectune reach debug.*.log --sweep sweep.csv
  collectune reach calls.csv --library rccl --library-version 2.30.4 --gpu gfx950 --env RCCL_DDA_ENABLE=0")]
pub(super) struct Reach {
    /// Debug logs and lists of calls, or folders of them; - is the standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The tuner file whose rules are looked up
    #[arg(long, value_name = "CONF")]
    conf: Option<PathBuf>,

    /// The reader of the tuner file, which decides what its rules mean [default: that of its grammar; else rccl for
    /// RCCL, or example]
    #[arg(long, value_enum, requires = "conf")]
    reader: Option<Reader>,

    /// The library [default: as the logs or the GPU say]
    #[arg(long, value_enum)]
    library: Option<Library>,

    #[command(flatten)]
    on: JobRunsOn,

    #[command(flatten)]
    scale: UntoldScale,

    /// Sweeps that say how long the calls take now: the default's times, between measured sizes as well
    #[arg(long, value_name = "SWEEP", num_args = 1..)]
    sweep: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Reach {
    pub(super) fn run(self) -> Result<(), CliError> {
        let scale: Option<Scale> = self.scale.scale()?;
        let conf = self.conf.as_deref().map(files::bytes).transpose()?;
        let mut reader = ReachReader::default();
        let files = files::all_lines(&self.files)?;
        if files.is_empty() {
            return refuse("there is no file in what was given");
        }
        for (name, mut lines) in files {
            let is_known = reader.read(&name, &mut lines);
            if let Some(error) = lines.error() {
                terminal::say("error", &format!("{name} can't be read to its end: {error}"));
            } else if !is_known {
                let why = "has no line of NCCL or RCCL and is no list of calls (collective,num_nodes,num_gpus,size_bytes,\
                           calls); log the job with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING";
                terminal::say("error", &format!("{name} {why}"));
            }
        }
        let on = self.on.place();
        let library = reader.library(self.library, on.gpu);
        let usual = if library == Some(Library::Rccl) { Reader::Rccl } else { Reader::Example };
        let of_file = conf.as_deref().map_or(usual, |bytes| reader_of(bytes, usual));
        let reads = self.reader.unwrap_or(of_file);
        let reach =
            reader.reach(&ReachQuestion { rules: conf.map(|bytes| (read(&bytes, reads), reads)), library, scale, on });
        let reach = if self.sweep.is_empty() {
            arguments::say_unused(&["set", "configuration"], "no sweep is given (--sweep)");
            reach
        } else {
            timed(reach, &self.sweep, &self.measured)?
        };
        for (file, problems) in &reach.problems {
            files::say_problems(&reach.files[*file as usize], problems);
        }
        if reach.total.calls == 0 && reach.counts.call_lines == 0 && terminal::has_erred() {
            return refuse("no file could be used");
        }
        if self.json {
            return terminal::write_json(&reach);
        }
        terminal::say_notes(&reach.notes);
        terminal::write(&for_people(&reach))
    }
}

/// With the times of calls, as sweeps have them.
fn timed(reach: reach::Reach, sweeps: &[PathBuf], measured: &Measured) -> Result<reach::Reach, CliError> {
    let opened = files::has_rows(files::read(sweeps, measured, Reads::Sweeps)?)?;
    let sweep = aggregate(&opened.rows, Target::Time);
    let support = SupportMatrix::new(Vec::new(), &sweep);
    let expectations = Expectations::new(&sweep, &support, None);
    Ok(reach.with_times(&|workload| expectations.default(workload)?.time_us))
}

fn for_people(reach: &reach::Reach) -> String {
    let mut text = format!("{}.\n", reach.headline);
    if !reach.lines.is_empty() {
        text += &format!("\n{}", table::of_listing(&reach::path_listing(&reach.total)));
        text += &format!("\n{}", table::of_listing(&reach::listing(reach)));
    }
    if !reach.switch_on.is_empty() {
        text += "\nTo see more:\n";
        reach.switch_on.iter().for_each(|what| text += &format!("  {what}.\n"));
    }
    text
}
