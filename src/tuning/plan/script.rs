//! A plan as a bash script, and as arguments of rccl-sweep.

use std::fmt::Write;

use super::{PlanQuestion, PlannedLaunch, Reason};
use crate::{
    collective::{Configuration, Scale, Workload},
    launch::{self, Sizes},
    math::Stream,
    order::CompactSort,
};

/// The name of the script.
pub const FILE_NAME: &str = "measure.sh";

/// The script: for each scale warm-up launches, then rounds of all launches. Each round is shuffled, so that a drift of
/// the cluster affects all configurations alike. `takes` is a text that says how long it takes. The name of a log has
/// what was requested: `all_reduce_2n_ring_ll128_c24_r1.log`.
pub fn script(items: &[PlannedLaunch], question: &PlanQuestion, takes: Option<&str>) -> String {
    let launches: u32 = items.iter().map(|item| item.repeats).sum();
    let mut notes = vec![
        format!("{launches} launches, in rounds that are shuffled with seed {}.", question.seed),
        "Give logs/*.log to Collectune beside what was measured before.".to_owned(),
    ];
    notes.extend(takes.map(|takes| format!("{takes}.")));
    notes.extend(question.measured_with.iter().map(|set| format!("Measure as before: {set}.")));
    let mut text = launch::head("What to measure next.", question.launcher, &notes);
    let mut scales: Vec<Scale> = items.iter().map(|item| item.scale).collect();
    scales.compact_sort();
    scales.dedup();
    let mut stream = Stream::new(question.seed);
    for scale in scales.iter().copied() {
        let alike = scales.iter().filter(|other| other.nodes == scale.nodes).count();
        let of_scale: Vec<&PlannedLaunch> = items.iter().filter(|item| item.scale == scale).collect();
        let _ = writeln!(text, "# {scale}");
        text += &launch::ranks(question.launcher, scale);
        if let Some(first) = of_scale.first() {
            text += &launch::warm_up(first.sizes, first.collective);
        }
        let rounds = of_scale.iter().map(|item| item.repeats).max().unwrap_or(0);
        for round in 1..=rounds {
            let mut of_round: Vec<&&PlannedLaunch> = of_scale.iter().filter(|item| item.repeats >= round).collect();
            stream.shuffle(&mut of_round);
            for item in of_round {
                text += &launch::line(
                    &log_name(item, &of_scale, alike > 1, round),
                    &format!("{}{}", item.sizes.arguments(), arguments(item, question)),
                    item.collective,
                    &launch::environment(item.configuration, item.collective),
                );
            }
        }
        text.push('\n');
    }
    text
}

/// The arguments of a launch besides its sizes: as before, and where nothing says with which data type that was, that
/// of the job whose sizes it measures.
fn arguments(item: &PlannedLaunch, question: &PlanQuestion) -> String {
    let PlannedLaunch { collective, scale, sizes, .. } = *item;
    let first = Workload { collective, scale, size_bytes: sizes.first };
    let of_job = question.data_type_of(first).filter(|_| item.reason == Reason::Uncovered);
    let data_type = of_job.map(|data_type| format!(" -d {data_type}")).unwrap_or_default();
    format!("{data_type}{}", question.arguments_of(collective, scale))
}

/// The name of a log. It has the smallest size, unless the launch has the plan's widest range of sizes
/// for its collective, and the ranks where there are launches of other ranks on as many nodes.
fn log_name(item: &PlannedLaunch, items: &[&PlannedLaunch], with_ranks: bool, round: u32) -> String {
    let PlannedLaunch { collective, scale, configuration, sizes, .. } = item;
    let what = configuration.map_or_else(|| "default".to_owned(), name);
    let width = |sizes: &Sizes| (sizes.last / sizes.first.max(1), *sizes);
    let widest = items.iter().filter(|other| other.collective == *collective).map(|other| width(&other.sizes)).max();
    let at = if widest == Some(width(sizes)) { String::new() } else { format!("_from{}b", sizes.first) };
    let ranks = if with_ranks { format!("_{}ranks", scale.ranks) } else { String::new() };
    format!("{collective}_{}n{ranks}{at}_{what}_r{round}.log", scale.nodes)
}

/// What is asked for, as the names of logs say it: `ring_ll128_c24`.
pub(crate) fn name(configuration: Configuration) -> String {
    let Configuration { algorithm, protocol, channels } = configuration;
    let pair =
        if launch::takes_a_request(algorithm, protocol) { format!("{algorithm}_{protocol}_") } else { String::new() };
    format!("{}c{channels}", pair.to_ascii_lowercase())
}

/// The launches as arguments of rccl-sweep, a line each: those of its version with `--algo` and `--proto`, which the
/// authors of its sweeps run.
pub fn sweep_arguments(items: &[PlannedLaunch]) -> String {
    let mut text = String::new();
    let has_several = items.iter().any(|item| item.scale != items[0].scale);
    let mut scale = None;
    for item in items {
        if has_several && scale != Some(item.scale) {
            let _ = writeln!(text, "# {}", item.scale);
            scale = Some(item.scale);
        }
        let Sizes { first, last } = item.sizes;
        let (nodes, collective) = (item.scale.nodes, item.collective);
        let _ = write!(text, "./rccl_sweep.py --servers servers.txt --nodes {nodes} --collective {collective}");
        if let Some(Configuration { algorithm, protocol, channels }) = item.configuration {
            if launch::takes_a_request(algorithm, protocol) {
                let _ = write!(text, " --algo {algorithm} --proto {protocol}");
            }
            if channels > 0 {
                let _ = write!(text, " --channels {channels}");
            }
        }
        let _ = writeln!(text, " --min-size {} --max-size {}", launch::short_size(first), launch::short_size(last));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Collective, Protocol};

    fn item(configuration: Option<Configuration>, repeats: u32) -> PlannedLaunch {
        PlannedLaunch {
            collective: Collective::AllReduce,
            scale: Scale { nodes: 2, ranks: 16 },
            configuration,
            sizes: Sizes { first: 4096, last: 1 << 29 },
            repeats,
            reason: Reason::Gain,
            expected_pct: None,
            ends_us: None,
            seconds: None,
            why: String::new(),
        }
    }

    fn ring(channels: u32) -> Option<Configuration> {
        Some(Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll128, channels })
    }

    #[test]
    fn every_launch_is_a_line_whose_log_tells_what_was_asked() {
        let items = [item(None, 2), item(ring(24), 2), item(ring(8), 1)];
        let text = script(&items, &PlanQuestion::default(), None);
        let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("run all_reduce")).collect();
        // Rounds come one after the other.
        assert!(
            lines[..3].iter().all(|line| line.contains("_r1.log")) && lines[3..].iter().all(|l| l.contains("_r2.log"))
        );
        lines.compact_sort();
        let sizes = "'-b 4096 -e 536870912 -f 2' all_reduce_perf";
        let asked = "NCCL_ALGO=Ring NCCL_PROTO=LL128 NCCL_MIN_NCHANNELS=24 NCCL_MAX_NCHANNELS=24";
        assert_eq!(
            lines[..2],
            [
                &format!("run all_reduce_2n_default_r1.log {sizes}")[..],
                &format!("run all_reduce_2n_default_r2.log {sizes}")
            ]
        );
        assert_eq!(lines[2], format!("run all_reduce_2n_ring_ll128_c24_r1.log {sizes} {asked}"));
        assert_eq!(lines.len(), 5);
        let of = (Collective::AllReduce, Scale { nodes: 2, ranks: 16 });
        let as_before =
            PlanQuestion { arguments: vec![(of.0, of.1, " -d half -o max".to_owned())], ..PlanQuestion::default() };
        assert!(
            script(&items, &as_before, None).contains("'-b 4096 -e 536870912 -f 2 -d half -o max' all_reduce_perf")
        );
        // A size of a job is measured with the job's type; others are as before.
        let own = PlannedLaunch {
            sizes: Sizes { first: 458_754, last: 458_754 },
            reason: Reason::Uncovered,
            ..item(None, 1)
        };
        let workload = Workload { collective: of.0, scale: of.1, size_bytes: 458_754 };
        let with_type = PlanQuestion { data_types: vec![(workload, "bfloat16")], ..PlanQuestion::default() };
        let text_of_job = script(&[own, item(None, 1)], &with_type, None);
        assert!(text_of_job.contains("'-b 458754 -e 458754 -f 2 -d bfloat16' all_reduce_perf"), "{text_of_job}");
        assert!(text_of_job.contains(&format!("_default_r1.log {sizes}")), "{text_of_job}");
        let mut four = item(None, 1);
        four.scale.ranks = 4;
        let both = script(&[item(None, 1), four], &PlanQuestion::default(), None);
        assert!(
            ["all_reduce_2n_16ranks_default_r1.log", "all_reduce_2n_4ranks_default_r1.log"]
                .iter()
                .all(|log| both.contains(log))
        );
        let other = script(&items, &PlanQuestion { seed: 7, ..PlanQuestion::default() }, None);
        assert_eq!(text, script(&items, &PlanQuestion::default(), None));
        assert_eq!(text.len(), other.replace("seed 7", "seed 42").len());
    }

    #[test]
    fn srun_takes_the_environment_from_around_it() {
        let question = PlanQuestion { launcher: launch::Launcher::Srun, ..PlanQuestion::default() };
        let text = script(&[item(ring(24), 1)], &question, None);
        assert!(
            text.contains("launch=(srun -N 2 -n 16 --ntasks-per-node=8 --export=ALL)") && !text.contains("exports+=")
        );
    }

    #[test]
    fn what_can_not_be_asked_for_is_not() {
        let direct = Configuration { algorithm: Algorithm::Direct, protocol: Protocol::Simple, channels: 4 };
        let channels = launch::environment(Some(direct), Collective::AllReduce)
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"));
        assert_eq!(channels.collect::<Vec<_>>(), ["NCCL_MIN_NCHANNELS=4", "NCCL_MAX_NCHANNELS=4"]);
        let all = Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 4 };
        let all_to_all = PlannedLaunch { collective: Collective::AllToAll, ..item(Some(all), 1) };
        assert_eq!(launch::environment(Some(all), Collective::AllToAll)[0].0, "NCCL_MIN_P2P_NCHANNELS");
        assert_eq!(log_name(&all_to_all, &[&all_to_all], true, 1), "alltoall_2n_16ranks_c4_r1.log");
        let beyond = PlannedLaunch { sizes: Sizes { first: 1 << 30, last: 1 << 33 }, ..all_to_all.clone() };
        assert_eq!(log_name(&beyond, &[&all_to_all, &beyond], false, 1), "alltoall_2n_from1073741824b_c4_r1.log");
    }

    #[test]
    fn rccl_sweep_has_one_line_for_each() {
        assert_eq!(
            sweep_arguments(&[item(ring(24), 3)]),
            "./rccl_sweep.py --servers servers.txt --nodes 2 --collective all_reduce --algo RING --proto LL128 \
             --channels 24 --min-size 4K --max-size 512M\n"
        );
    }
}
