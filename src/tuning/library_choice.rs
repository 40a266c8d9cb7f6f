//! What NCCL chooses by its own cost model, where nothing was measured, or beside what was.

use serde::Serialize;

use super::{
    aggregate::Point as MeasuredPoint,
    platform::{Gpu, Library, Platform, Version},
    sweep::{self, Sweep},
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    cost_model::{self, Cell, CostModel, CostModelError, Machine, Processor, Release},
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    text::{Column, Entry, Listing},
    units::{Size, count, microseconds, percent, significant},
};

/// The collectives for which the library has a choice, and its model a table.
pub const COLLECTIVES: [Collective; 5] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::Broadcast,
    Collective::Reduce,
];

/// Sizes that are asked about where none was measured: 1 KiB to 8 GiB.
const EXPONENTS: std::ops::RangeInclusive<u32> = 10..=33;

/// A question about a machine whose graphs are known without a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LibraryQuestion {
    /// The GPUs and how they are linked.
    pub machine: Machine,
    /// The version of NCCL, from 2.18.1 to 2.30.7; others are refused.
    pub version: Version,
    /// Whose processors the nodes have.
    pub processor: Processor,
    /// One of [`COLLECTIVES`].
    pub collective: Collective,
    /// The communicator, with as many GPUs on each node.
    pub scale: Scale,
}

impl Default for LibraryQuestion {
    fn default() -> Self {
        Self {
            machine: Machine::H100,
            version: cost_model::NEWEST,
            processor: Processor::default(),
            collective: Collective::AllReduce,
            scale: Scale { nodes: 1, ranks: 8 },
        }
    }
}

impl LibraryQuestion {
    /// The model of the machine.
    ///
    /// # Errors
    /// Returns an error for a version or a scale that is not known.
    pub fn model(&self) -> Result<CostModel, CostModelError> {
        CostModel::of_machine(self.machine, self.scale, Release::of(self.version)?, self.processor)
    }

    /// What is taken for granted, in words.
    pub fn assumptions(&self) -> Vec<String> {
        let release = Release::of(self.version).ok();
        let mut notes: Vec<String> =
            release.and_then(|release| of_another_release(self.version, release)).into_iter().collect();
        if self.scale.nodes > 1 {
            notes.push(format!(
                "The channels are those that NCCL 2.27.5 finds on nodes of {} with a network card of 400 Gb/s for each GPU. \
                 On other networks they are in a log of the job.",
                self.machine
            ));
        } else if self.machine == Machine::B200 && self.scale.ranks == 4 {
            notes.push("The pattern of trees over four B200 is computed, and not confirmed by a log.".to_owned());
        }
        notes
    }
}

/// That a version has the model of another one, in a sentence; `None` where it has its own.
pub fn of_another_release(version: Version, release: Release) -> Option<String> {
    (release.version() != version).then(|| format!("NCCL {version} has, as far as is known, the model of {release}."))
}

/// What the library would run at a size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LibraryLine {
    /// The message size in bytes.
    pub size_bytes: u64,
    /// The algorithm with the least time by the model.
    pub algorithm: Algorithm,
    /// Its protocol.
    pub protocol: Protocol,
    /// The channels over which the library spreads the call where nothing runs beside it.
    pub channels: u32,
    /// The time in µs by the model.
    pub time_us: f64,
    /// The bus bandwidth in GB/s by the model.
    pub busbw_gbps: f64,
    /// The algorithm and protocol that come next.
    pub next: Option<NextChoice>,
    /// What a sweep has at this size and scale; `None` where nothing.
    pub measured: Option<MeasuredChoice>,
}

/// The algorithm and protocol with the second least time by the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextChoice {
    /// Another one than the chosen one, or the same with another protocol.
    pub algorithm: Algorithm,
    /// Of LL, LL128 and SIMPLE.
    pub protocol: Protocol,
    /// How much longer it takes by the model, in per cent.
    pub slower_pct: f64,
}

/// What a sweep has at a size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredChoice {
    /// The measured bus bandwidth in GB/s of what the model chooses, over as many channels; where that was not
    /// measured, of the default, if it ran that algorithm and protocol.
    pub chosen_gbps: Option<f64>,
    /// The configuration that was asked for and has the highest measured bus bandwidth.
    pub best: Configuration,
    /// Its bus bandwidth in GB/s.
    pub best_gbps: f64,
}

impl MeasuredChoice {
    /// By how many per cent less than the best the model's choice was measured to have.
    pub fn loss_pct(&self) -> Option<f64> {
        self.chosen_gbps.map(|chosen| (self.best_gbps - chosen) / self.best_gbps * 100.0)
    }

    fn new(points: &[MeasuredPoint], default: Option<&MeasuredPoint>, chosen: Configuration) -> Option<Self> {
        let is_alike = |point: &&MeasuredPoint| {
            (point.configuration.algorithm, point.configuration.protocol) == (chosen.algorithm, chosen.protocol)
        };
        let same = points.iter().find(|point| point.configuration == chosen);
        let chosen_gbps = same.or(default.filter(is_alike)).map(|point| point.busbw_gbps);
        let best = sweep::best(points)?;
        Some(Self { chosen_gbps, best: best.configuration, best_gbps: best.busbw_gbps })
    }
}

/// What the library would run: at the sizes of a sweep where it has measured the collective at this scale, else at the
/// powers of two from 1 KiB to 8 GiB.
pub fn lines(model: &CostModel, collective: Collective, sweep: &Sweep) -> Vec<LibraryLine> {
    let scale = model.scale();
    let mut sizes: Vec<u64> =
        sweep.points_of(collective, scale).iter().map(|point| point.workload.size_bytes).collect();
    sizes.dedup();
    if sizes.is_empty() {
        sizes.extend(EXPONENTS.map(|exponent| 1 << exponent));
    }
    lines_at(model, collective, &sizes, sweep)
}

/// What the library would run at some sizes.
pub fn lines_at(model: &CostModel, collective: Collective, sizes: &[u64], sweep: &Sweep) -> Vec<LibraryLine> {
    let scale = model.scale();
    let line = |size_bytes: u64| {
        let choice = model.choice(collective, size_bytes)?;
        let (Cell { algorithm, protocol, .. }, time_us) = (choice.cell, choice.time_us);
        let others = model.cells(collective).into_iter().filter(|cell| *cell != choice.cell);
        let timed = others.map(|cell| (model.time_us(collective, &cell, size_bytes), cell));
        let next =
            timed.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|(next_us, cell)| NextChoice {
                algorithm: cell.algorithm,
                protocol: cell.protocol,
                slower_pct: (next_us / time_us - 1.0) * 100.0,
            });
        let workload = Workload { collective, scale, size_bytes };
        Some(LibraryLine {
            size_bytes,
            algorithm,
            protocol,
            channels: choice.channels,
            time_us,
            busbw_gbps: collective.busbw_gbps(scale.ranks, size_bytes, time_us),
            next,
            measured: MeasuredChoice::new(
                sweep.points_at(&workload),
                sweep.default_at(&workload),
                Configuration { algorithm, protocol, channels: choice.channels },
            ),
        })
    };
    sizes.iter().filter_map(|size_bytes| line(*size_bytes)).collect()
}

/// The choices in a sentence: `By its own cost model NCCL 2.28.9 runs all_reduce on 1 node, 8 ranks with RING/LL up to
/// 1 MiB, and NVLS/SIMPLE beyond.`
pub fn sentence(model: &CostModel, collective: Collective, lines: &[LibraryLine]) -> String {
    let by = |line: &LibraryLine| format!("{}/{}", line.algorithm, line.protocol);
    let runs: Vec<&[LibraryLine]> = lines.chunk_by(|a, b| by(a) == by(b)).collect();
    let head = format!("By its own cost model NCCL {} runs {collective} on {} with", model.release(), model.scale());
    let Some((last, before)) = runs.split_last() else {
        return format!("NCCL's cost model knows no {collective}.");
    };
    let mut parts: Vec<String> = before
        .iter()
        .filter_map(|run| Some(format!("{} up to {}", by(run.first()?), Size(run.last()?.size_bytes))))
        .collect();
    let name = last.first().map(by).unwrap_or_default();
    match parts.is_empty() {
        true => format!("{head} {name} at all sizes."),
        false => {
            parts.push(format!("and {name} beyond"));
            format!("{head} {}.", parts.join(", "))
        }
    }
}

/// How good the model's choices are where they were measured, in a sentence; `None` where none was.
pub fn verdict(lines: &[LibraryLine]) -> Option<String> {
    /// Less is what repeats of a measurement differ by.
    const SAME_PCT: f64 = 1.0;
    let losses: Vec<(u64, f64)> =
        lines.iter().filter_map(|line| Some((line.size_bytes, line.measured?.loss_pct()?))).collect();
    let worst = losses.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let good = losses.iter().filter(|(_, loss)| *loss <= SAME_PCT).count();
    let sizes = count(losses.len() as u64, "size");
    Some(match worst.1 <= SAME_PCT {
        true => format!("Its choice is the fastest measured, or within {SAME_PCT} % of it, at all of {sizes}."),
        false => format!(
            "Of {sizes} at which its choice was measured, it is the fastest, or within {SAME_PCT} % of it, at {good}; it \
             loses most at {}: {} of busbw.",
            Size(worst.0),
            lost(worst.1)
        ),
    })
}

/// How wrong the model is known to be.
///
/// Source: the mean differences of logarithms at 1 MiB and more between the model and public tables of nccl-tests on
/// two, four and eight A100, H100 and B200 (ai-dynamo/aiconfigurator at 095f58a).
pub const KNOWN_ERROR: &str = "This is what the library believes, and no measurement: times that were published for one node of \
                               A100, H100 and B200 differ from it by 6 to 61 % on average from 1 MiB on, and most are longer. \
                               Environment variables (NCCL_ALGO, NCCL_PROTO) and tuner plugins displace it.";

/// Why measurements are not compared with the model.
const OF_RCCL: &str = "The measurements are of RCCL, whose cost model is another: they are not compared.";

/// What speaks against holding the model against measurements of a platform, as far as that is known: another library,
/// release or GPU.
pub fn other_platform(model: &CostModel, measured: Option<Platform>) -> Option<String> {
    let measured = measured?;
    if measured.library == Library::Rccl {
        return Some(OF_RCCL.to_owned());
    }
    let (release, gpu) = (model.release(), Gpu::Sm(model.capability()));
    let version = measured.version.filter(|version| Release::of(*version) != Ok(release));
    let other_gpu = measured.gpu.filter(|measured| *measured != gpu);
    let (measured, modelled) = match (version, other_gpu) {
        (None, None) => return None,
        (Some(version), None) => (format!("NCCL {version}"), format!("NCCL {release}")),
        (None, Some(other)) => (other.to_string(), gpu.to_string()),
        (Some(version), Some(other)) => (format!("NCCL {version} on {other}"), format!("NCCL {release} on {gpu}")),
    };
    Some(format!("The measurements are of {measured}, and the model is of {modelled}: they may differ for that alone."))
}

/// The lines as a table; what was measured stands beside them where there is something.
pub fn listing(lines: &[LibraryLine]) -> Listing {
    let columns = vec![
        Column::numbers("Size", "message size"),
        Column::words("Chosen", "the algorithm and protocol with the least time by the model"),
        Column::numbers("Channels", "over which the library spreads the call where nothing runs beside it"),
        Column::numbers("Time", "by the model"),
        Column::numbers("busbw", "bus bandwidth in GB/s by the model"),
        Column::words("Next", "the second least time by the model, and how much longer that is"),
        Column::numbers(
            "Measured",
            "the bus bandwidth in GB/s of what the model chooses, or of the default where it ran that",
        ),
        Column::words("Fastest measured", "the configuration with the highest measured bus bandwidth"),
        Column::numbers("Its busbw", "the highest measured bus bandwidth in GB/s"),
        Column::numbers("Loss", "by how much less the model's choice has than the fastest, in per cent"),
    ];
    let row = |line: &LibraryLine| {
        let next = line.next.map(|next| format!("{}/{} {}", next.algorithm, next.protocol, percent(next.slower_pct)));
        let measured = line.measured.as_ref();
        vec![
            Entry::size(line.size_bytes),
            Entry::text(format!("{}/{}", line.algorithm, line.protocol)),
            Entry::number(Some(line.channels.into()), |channels| channels.to_string()),
            Entry::number(Some(line.time_us), microseconds),
            Entry::number(Some(line.busbw_gbps), significant),
            Entry::text(next.unwrap_or_default()),
            Entry::number(measured.and_then(|measured| measured.chosen_gbps), significant),
            Entry::text(measured.map(|measured| measured.best.to_string()).unwrap_or_default()),
            Entry::number(measured.map(|measured| measured.best_gbps), significant),
            Entry::number(measured.and_then(MeasuredChoice::loss_pct), lost),
        ]
    };
    Listing { columns, rows: lines.iter().map(row).collect() }.without_empty_columns()
}

/// A loss in per cent, which has no sign.
fn lost(pct: f64) -> String {
    format!("{pct:.1} %")
}

/// The model's table of a collective: what `NCCL_DEBUG_SUBSYS=TUNING` prints.
pub fn cells(model: &CostModel, collective: Collective) -> Listing {
    let columns = vec![
        Column::words("Algorithm", "an algorithm that runs the collective here"),
        Column::words("Protocol", "its protocol"),
        Column::numbers("Latency", "time of an empty call by the model"),
        Column::numbers("algbw", "bytes over time of a large call by the model, in GB/s"),
    ];
    let row = |cell: &Cell| {
        vec![
            Entry::text(cell.algorithm.name()),
            Entry::text(cell.protocol.name()),
            Entry::number(Some(cell.latency_us), microseconds),
            Entry::number(Some(cell.algbw_gbps), significant),
        ]
    };
    Listing { columns, rows: model.cells(collective).iter().map(row).collect() }
}

/// The model's bus bandwidth of every algorithm and protocol over size, and what was measured.
pub fn chart(model: &CostModel, collective: Collective, lines: &[LibraryLine], sweep: &Sweep) -> Chart {
    let scale = model.scale();
    let curve = |busbw: &dyn Fn(u64) -> Option<f64>| -> Vec<Point> {
        let at = |line: &LibraryLine| Some(Point::new(line.size_bytes as f64, busbw(line.size_bytes)?, String::new()));
        lines.iter().filter_map(at).collect()
    };
    let workload = |size_bytes: u64| Workload { collective, scale, size_bytes };
    let best = curve(&|size| sweep.best_at(&workload(size)).map(|point| point.busbw_gbps));
    let default = curve(&|size| sweep.default_at(&workload(size)).map(|point| point.busbw_gbps));
    let mut series = vec![
        Series::new("Best measured", Colour::Muted, Mark::Dots, best),
        Series::new("Default, measured", Colour::Default, Mark::LineAndDots, default),
    ];
    for (index, cell) in model.cells(collective).iter().enumerate() {
        let points =
            curve(&|size| Some(collective.busbw_gbps(scale.ranks, size, model.time_us(collective, cell, size))));
        let name = format!("{}/{}, by the model", cell.algorithm, cell.protocol);
        series.push(Series::new(&name, Colour::Palette(index as u8), Mark::Dashed, points));
    }
    series.retain(|series| !series.points.is_empty());
    Chart {
        id: format!("cost-model-{collective}-{}n{}r", scale.nodes, scale.ranks),
        title: format!("{collective} on {scale} by the cost model of NCCL {}", model.release()),
        summary: sentence(model, collective, lines),
        x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: Axis::new("busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        series,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h100(version: &str) -> CostModel {
        LibraryQuestion { version: version.parse().unwrap(), ..LibraryQuestion::default() }.model().unwrap()
    }

    #[test]
    fn measurements_of_another_platform_are_named() {
        let model = h100("2.28.9");
        let of = |version: Option<&str>, gpu: Option<u32>| Platform {
            version: version.map(|text| text.parse().unwrap()),
            gpu: gpu.map(Gpu::Sm),
            ..Library::Nccl.into()
        };
        let said = |measured: Platform| other_platform(&model, Some(measured)).unwrap_or_default();
        assert_eq!((said(of(None, None)), said(of(Some("2.28.9"), Some(90)))), (String::new(), String::new()));
        assert!(
            said(of(Some("2.19.3"), Some(80))).contains("of NCCL 2.19.3 on sm_80, and the model is of NCCL 2.28.9 on")
        );
        assert!(said(of(Some("2.28.9"), Some(80))).contains("of sm_80, and the model is of sm_90"));
        assert_eq!(said(Library::Rccl.into()), OF_RCCL);
    }

    #[test]
    fn a_sentence_says_what_runs_up_to_which_size() {
        let model = h100("2.28.9");
        let lines = lines(&model, Collective::AllReduce, &Sweep::default());
        assert_eq!((lines.len(), lines[0].size_bytes), (24, 1024));
        assert_eq!(
            sentence(&model, Collective::AllReduce, &lines),
            "By its own cost model NCCL 2.28.9 runs all_reduce on 1 node, 8 ranks with RING/LL up to 1 MiB, and \
             NVLS/SIMPLE beyond."
        );
        assert_eq!(verdict(&lines), None);
        let next = lines[0].next.unwrap();
        assert!(next.slower_pct > 0.0, "{next:?}");
        assert_eq!(listing(&lines).columns.len(), 6, "nothing was measured");
        let none = lines_at(&model, Collective::AllToAll, &[1024], &Sweep::default());
        assert_eq!(sentence(&model, Collective::AllToAll, &none), "NCCL's cost model knows no alltoall.");
    }

    #[test]
    fn the_choice_is_held_against_what_was_measured() {
        let scale = Scale { nodes: 1, ranks: 8 };
        let point = |size_bytes: u64, algorithm, protocol, busbw_gbps: f64| {
            let workload = Workload { collective: Collective::AllReduce, scale, size_bytes };
            MeasuredPoint::new(workload, Configuration { algorithm, protocol, channels: 16 }, busbw_gbps)
        };
        let model = h100("2.28.9");
        let channels =
            |size_bytes: u64| lines_at(&model, Collective::AllReduce, &[size_bytes], &Sweep::default())[0].channels;
        let over = |channels: u32, point: MeasuredPoint| MeasuredPoint {
            configuration: Configuration { channels, ..point.configuration },
            ..point
        };
        let points = vec![
            point(65_536, Algorithm::Tree, Protocol::Ll, 4.0),
            over(channels(65_536), point(65_536, Algorithm::Ring, Protocol::Ll, 5.0)),
            point(1 << 26, Algorithm::Ring, Protocol::Simple, 400.0),
            over(channels(1 << 26), point(1 << 26, Algorithm::Nvls, Protocol::Simple, 300.0)),
        ];
        let mut sweep = Sweep { points, ..Sweep::default() };
        let found = |sweep: &Sweep| lines(&model, Collective::AllReduce, sweep);
        let losses_of = |lines: &[LibraryLine]| -> Vec<Option<f64>> {
            lines.iter().map(|line| line.measured.unwrap().loss_pct()).collect()
        };
        let lines = found(&sweep);
        let losses = losses_of(&lines);
        assert_eq!(losses, [Some(0.0), Some(25.0)]);
        assert_eq!(
            verdict(&lines).unwrap(),
            "Of 2 sizes at which its choice was measured, it is the fastest, or within 1 % of it, at 1; it loses most at \
             64 MiB: 25.0 % of busbw."
        );
        // Over other channels it is not what the library runs; the default is.
        let other = channels(1 << 26) + 1;
        sweep.points[3].configuration.channels = other;
        assert_eq!(losses_of(&found(&sweep)), [Some(0.0), None]);
        sweep.defaults = vec![over(0, point(1 << 26, Algorithm::Nvls, Protocol::Simple, 200.0))];
        assert_eq!(losses_of(&found(&sweep)), [Some(0.0), Some(50.0)]);
    }
}
