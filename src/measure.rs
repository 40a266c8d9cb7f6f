//! The commands that make the files of a workbench on a cluster, for those who have none yet.
//!
//! A workbench lists its own in `measure.rs`, as templates that [`MeasureCommand::text`] fills. The page, the terminal
//! and the documents have them from there.

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Scale},
    launch::{self, Launcher, Sizes},
};

/// Commands that make files of one kind: as a workbench lists them, or filled, with owned texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureCommand<Text = &'static str> {
    /// What is measured or written, as a heading.
    pub title: Text,
    /// The files that it leaves, in a sentence without its full stop.
    pub gives: Text,
    /// What has to be there before, to follow `It needs`, without a full stop; empty where nothing has to. It may have
    /// the words of `lines`.
    pub needs: Text,
    /// The name of the file to save the lines as; empty where they are to be typed.
    pub file: Text,
    /// The lines for bash. Until they are filled a word in braces that [`MeasureValues::words`] has stands for its
    /// value; `{script}` at the beginning for the head of a script with the function `run` of [`launch::head`], and for
    /// its warm-up launches.
    pub lines: Text,
}

/// What a measurement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureValues {
    /// The collective, one of [`MeasureValues::COLLECTIVES`].
    pub collective: Collective,
    /// The smallest and the largest message size in bytes.
    pub sizes: Sizes,
    /// The nodes and the ranks over all of them, as many on each.
    pub scale: Scale,
    /// The program that starts the ranks.
    pub launcher: Launcher,
}

/// Which of [`MeasureValues`] some commands depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedValues {
    /// The collective.
    pub collective: bool,
    /// The smallest size.
    pub first: bool,
    /// The largest size.
    pub last: bool,
    /// The number of nodes.
    pub nodes: bool,
    /// The number of ranks of each node.
    pub each: bool,
    /// The program that starts the ranks.
    pub launcher: bool,
}

impl UsedValues {
    /// Finds what changes commands if it is another one.
    pub fn of(commands: &[MeasureCommand], values: &MeasureValues) -> Self {
        let matters =
            |other: MeasureValues| commands.iter().any(|command| command.filled(values) != command.filled(&other));
        let MeasureValues { sizes, scale, .. } = *values;
        let collectives = MeasureValues::COLLECTIVES.iter();
        let of_sizes = |sizes| matters(MeasureValues { sizes, ..*values });
        let of_scale = |nodes, ranks| matters(MeasureValues { scale: Scale { nodes, ranks }, ..*values });
        Self {
            collective: collectives.into_iter().any(|of| matters(MeasureValues { collective: *of, ..*values })),
            first: of_sizes(Sizes { first: sizes.first.saturating_mul(2), ..sizes }),
            last: of_sizes(Sizes { last: sizes.last.saturating_mul(2), ..sizes }),
            nodes: of_scale(scale.nodes.saturating_mul(2), scale.ranks.saturating_mul(2)),
            each: of_scale(scale.nodes, scale.ranks.saturating_mul(2)),
            launcher: [Launcher::Mpirun, Launcher::Srun]
                .iter()
                .any(|launcher| matters(MeasureValues { launcher: *launcher, ..*values })),
        }
    }
}

impl Default for MeasureValues {
    fn default() -> Self {
        Self {
            collective: Collective::AllReduce,
            sizes: Sizes { first: 4096, last: 512 << 20 },
            scale: Scale { nodes: 2, ranks: 16 },
            launcher: Launcher::Mpirun,
        }
    }
}

impl MeasureValues {
    /// The collectives that nccl-tests, rccl-tests and rccl-sweep have in common.
    pub const COLLECTIVES: [Collective; 6] = [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AllToAll,
        Collective::Broadcast,
        Collective::Reduce,
    ];

    /// The words that a template may have, braces included, with their values.
    pub fn words(&self) -> [(&'static str, String); 14] {
        let Self { collective, sizes, scale, launcher } = *self;
        let one_a_node = Scale { nodes: scale.nodes, ranks: scale.nodes };
        // What a launch can ask for, as bash expands it. Elsewhere than in an all_reduce, trees are not there.
        let (arms, algorithms) = match collective {
            Collective::AllReduce => ("{Ring,Tree}_{LL,LL128,Simple}_c{1,2,4,8,16,24,32}", "RING,TREE"),
            Collective::AllToAll => ("c{1,2,4,8,16,32}", "RING"),
            _ => ("Ring_{LL,LL128,Simple}_c{1,2,4,8,16,24,32}", "RING"),
        };
        let channels = if collective == Collective::AllToAll { "P2P_NCHANNELS" } else { "NCHANNELS" };
        let rank = if launcher == Launcher::Mpirun { "OMPI_COMM_WORLD_RANK" } else { "SLURM_PROCID" };
        [
            ("{arms}", arms.to_owned()),
            ("{algorithms}", algorithms.to_owned()),
            ("{channels}", channels.to_owned()),
            ("{collective}", collective.to_string()),
            ("{program}", launch::program(collective)),
            ("{sizes}", sizes.arguments()),
            ("{first}", launch::short_size(sizes.first)),
            ("{last}", launch::short_size(sizes.last)),
            ("{nodes}", scale.nodes.to_string()),
            ("{ranks}", scale.ranks.to_string()),
            ("{each}", (scale.ranks / scale.nodes.max(1)).to_string()),
            ("{launch}", launch::start(launcher, scale)),
            ("{launch on each node}", launch::start(launcher, one_a_node)),
            ("{rank}", rank.to_owned()),
        ]
    }

    /// A text with the values of its words.
    fn fill(&self, text: &str) -> String {
        self.words().iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
    }
}

impl MeasureCommand {
    /// The command with its values.
    pub fn filled(&self, values: &MeasureValues) -> MeasureCommand<String> {
        let Self { title, gives, needs, file, .. } = *self;
        let [title, gives, file] = [title, gives, file].map(str::to_owned);
        MeasureCommand { title, gives, needs: values.fill(needs), file, lines: self.text(values) }
    }

    /// The lines for bash, of a measurement with these values.
    pub fn text(&self, values: &MeasureValues) -> String {
        let MeasureValues { collective, sizes, scale, launcher } = *values;
        let mut text = self.lines.to_owned();
        if let Some(lines) = text.strip_prefix("{script}") {
            let title = format!("A sweep of {collective} on {scale}.");
            text = launch::head(&title, launcher, &["Give logs/*.log to Collectune.".to_owned()])
                + &launch::ranks(launcher, scale)
                + &launch::warm_up(sizes, collective)
                + lines;
        }
        values.fill(&text)
    }
}

/// Commands as Markdown: each under a heading of the third level, the lines in a fenced block; a program instead of
/// lines for a shell only where it is wanted.
pub fn markdown(commands: &[MeasureCommand], values: &MeasureValues, has_programs: bool) -> String {
    let of = |command: &MeasureCommand| {
        let MeasureCommand { title, gives, needs, file, .. } = command;
        let needs = if needs.is_empty() { String::new() } else { format!(" It needs {}.", values.fill(needs)) };
        let language = if file.ends_with(".py") { "python" } else { "sh" };
        if language != "sh" && !has_programs {
            return format!(
                "### {title}\n\n{gives}.{needs}\n\nThe page saves it, and `collectune measure` prints it.\n"
            );
        }
        format!("### {title}\n\n{gives}.{needs}\n\n```{language}\n{}\n```\n", command.text(values).trim_end())
    };
    commands.iter().map(of).collect::<Vec<_>>().join("\n")
}
