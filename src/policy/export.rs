//! Exported files: tuner files, the policy file, and a script of further measurements.

use std::collections::BTreeSet;

use super::{
    arm::Arm,
    bands::Bands,
    file::{Choice, Entry, Evidence, Policy},
    key::Key,
    request::Settings,
    result::{Decision, ExportError, Flag, KeyResult},
};
use crate::{
    collective::{Collective, Scale},
    conf::{
        Reader,
        built_in::Table,
        words::{COLLECTIVES, word},
        write::{channels_of_library, fields, line, sizes_of_line},
    },
    launch,
    order::{CompactCollect, CompactSort},
    report::TextFile,
    units::Size,
};

/// A range of sizes, both ends included, and what runs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: u64,
    to: u64,
    arm: Arm,
}

/// What keys have in common that differ in size only.
type KeyGroup = (Collective, Scale, Option<bool>);

fn places(results: &[KeyResult]) -> Vec<(KeyGroup, Vec<(Key, &KeyResult)>)> {
    let mut all: Vec<(Key, &KeyResult)> = results.iter().filter_map(|of| Some((of.key?, of))).collect();
    all.retain(|(key, _)| word(&COLLECTIVES, &key.collective).is_some());
    let place = |key: &Key| (key.collective, key.scale, key.overlap);
    all.compact_sort_by_key(|(key, _)| (place(key), key.size_bytes));
    all.chunk_by(|a, b| place(&a.0) == place(&b.0)).map(|same| (place(&same[0].0), same.to_vec())).collect()
}

/// What to do before arms are deployed that took turns in one order; `None` where there are none.
pub fn caveat(results: &[KeyResult]) -> Option<String> {
    let is_open = |of: &&KeyResult| matches!(of.decision, Decision::Deploy(_)) && of.flags.contains(&Flag::FixedTurns);
    let keys = results.iter().filter(is_open).count();
    (keys > 0).then(|| {
        format!(
            "At {} the arms took turns in one order: confirm the gain in whole runs with and without the arm.",
            crate::units::count(keys as u64, "key")
        )
    })
}

/// The ranges of bands with the arm of each. A band whose keys have different arms is split at the larger size. `arm`
/// gives the arm of a key.
fn spans(keys: &[(Key, &KeyResult)], bands: &Bands, arm: impl Fn(&KeyResult) -> Arm) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (key, of) in keys {
        let (from, end) = bands.range(bands.of(key.size_bytes));
        let to = end.map_or(u64::MAX, |end| end - 1);
        let arm = arm(of);
        match spans.last_mut().filter(|last| last.to >= key.size_bytes) {
            Some(last) if last.arm == arm => {}
            Some(last) => {
                last.to = key.size_bytes - 1;
                spans.push(Span { from: key.size_bytes, to, arm });
            }
            None => spans.push(Span { from, to, arm }),
        }
    }
    spans
}

/// Tuner files for a reader: one for jobs without overlap and one for those with, where both were measured. Returns an
/// error if the reader can't keep the library's choice, and on every scale it would have to at some size.
pub fn conf(results: &[KeyResult], settings: &Settings, reader: Reader) -> Result<Vec<TextFile>, ExportError> {
    let all = places(results);
    let mut files = Vec::new();
    let mut refused = Vec::new();
    for overlap in [false, true] {
        let of_mode: Vec<_> = all.iter().filter(|((_, _, of), _)| of.unwrap_or(overlap) == overlap).collect();
        let is_measured = of_mode.iter().any(|((_, _, of), _)| *of == Some(overlap));
        if of_mode.is_empty() || (overlap && !is_measured) {
            continue;
        }
        let mut text =
            format!("# {} {}: rules for {}\n", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), reader.name());
        if all.iter().any(|((_, _, of), _)| of.is_some()) {
            text += if overlap { "# for jobs that overlap\n" } else { "# for jobs without overlap\n" };
        }
        let mut notes = Vec::from_iter(caveat(results));
        text.extend(notes.iter().map(|note| format!("# {note}\n")));
        let mut rules = String::new();
        for (place, keys) in &of_mode {
            let (collective, scale, _) = *place;
            let same_scale = of_mode.iter().filter(|((_, of, _), _)| *of == scale).flat_map(|(_, keys)| keys);
            let why = if reader.behaviour().keeps_default { None } else { not_covered(*place, keys, same_scale) };
            match why {
                Some(why) => notes.push(why),
                None => rules += &self::rules(collective, scale, keys, settings, reader, &mut notes),
            }
        }
        if !reader.behaviour().keeps_default && rules.is_empty() {
            refused.extend(notes.into_iter().filter(|why| !refused.contains(why)).collect::<Vec<_>>());
            continue;
        }
        if rules.is_empty() {
            text += "# no rule: the library's cost model decides\n";
        } else if !reader.behaviour().keeps_default {
            notes.push(
                "With this reader every collective and every communicator of another scale runs on one channel, those that \
                 a job splits off included."
                    .to_owned(),
            );
        }
        let name = match (reader, overlap) {
            (Reader::Rccl, false) => "rccl_tuner_gfx950.csv",
            (Reader::Rccl, true) => "rccl_tuner_gfx950_overlap.csv",
            (Reader::Ncclx, false) => "ncclx_tuner.csv",
            (Reader::Ncclx, true) => "ncclx_tuner_overlap.csv",
            (_, false) => "nccl_tuner.conf",
            (_, true) => "nccl_tuner_overlap.conf",
        };
        let mut text = text + "# " + &fields(reader) + "\n" + &rules;
        if let Some(table) = Table::possible(None, None).filter(|_| reader == Reader::Rccl) {
            text += &table.text(reader);
            notes.push(format!(
                "The last rows are those of {table}'s own table, which this file displaces. On another GPU leave them out, and \
                 name the file rccl_tuner_<arch>.csv."
            ));
        }
        files.push(TextFile { name: name.to_owned(), text, note: notes.join(" ") });
    }
    if files.is_empty() && !reader.behaviour().keeps_default {
        if refused.is_empty() {
            refused.push("No log is about a collective that a tuner is asked about.".to_owned());
        }
        return Err(ExportError { reader, why: refused.join(" ") });
    }
    Ok(files)
}

/// The reason why no rules can be written for a reader whose file decides every size of a collective: each rule
/// replaces the library's choice and so must beat it. `same_scale` are all keys of the scale, which share a file.
fn not_covered<'a>(
    (collective, scale, _): KeyGroup,
    keys: &[(Key, &KeyResult)],
    same_scale: impl Iterator<Item = &'a (Key, &'a KeyResult)>,
) -> Option<String> {
    const LISTED: usize = 4;
    let kept: Vec<Key> = same_scale.filter(|(_, of)| of.chosen() == Arm::Auto).map(|(key, _)| *key).collect();
    if !kept.is_empty() {
        let mut places: Vec<String> =
            kept.iter().take(LISTED).map(|key| format!("{} of {}", key.collective, Size(key.size_bytes))).collect();
        if kept.len() > LISTED {
            places.push(format!("{} more", kept.len() - LISTED));
        }
        return Some(format!("On {scale} nothing is known to beat the library's choice for {}.", places.join(", ")));
    }
    let sizes: BTreeSet<u64> = keys.iter().map(|(key, _)| key.size_bytes).compact_collect();
    let size = Size(sizes.first().copied()?);
    (sizes.len() == 1).then(|| {
        format!(
            "{collective} on {scale} was measured at {size} alone, and a rule would decide for every other size too."
        )
    })
}

fn rules(
    collective: Collective,
    scale: Scale,
    keys: &[(Key, &KeyResult)],
    settings: &Settings,
    reader: Reader,
    notes: &mut Vec<String>,
) -> String {
    let mut spans = spans(keys, &settings.bands, KeyResult::chosen);
    if !reader.behaviour().keeps_default {
        let gaps = gaps(&spans);
        close_gaps(&mut spans);
        if !gaps.is_empty() {
            notes.push(format!(
                "{collective} on {scale}: nothing was measured {}; the rule below, or the first one, applies there.",
                gaps.join(", ")
            ));
        }
    }
    let mut text = String::new();
    for span in spans {
        let (pair, channels) = match span.arm {
            Arm::Auto if !writes_auto(reader) => continue,
            Arm::Auto => (None, -1),
            Arm::Forced { algorithm, protocol, channels } => {
                let channels = i32::try_from(channels).ok().filter(|channels| *channels > 0);
                (Some((algorithm, protocol)), channels.unwrap_or(channels_of_library(reader)))
            }
        };
        let rule = line(reader, collective, (span.from, span.to), pair, channels, scale).map(|rule| match pair {
            // Our own plugin knows the word for what others write as -1.
            None => rule.replacen(",-1,-1,", ",auto,auto,", 1),
            Some(_) => rule,
        });
        if let Some(rule) = rule {
            text += &(rule + "\n");
            notes.extend(of_one_size(&span, keys).map(|why| format!("{collective} on {scale}: {why}")));
        }
        notes.extend(of_whole_ranks(reader, (collective, scale), (span.from, span.to)));
    }
    text
}

/// What a rule of other sizes than one rests on, where it was measured at that one alone.
fn of_one_size(span: &Span, keys: &[(Key, &KeyResult)]) -> Option<String> {
    let sizes: BTreeSet<u64> = keys
        .iter()
        .map(|(key, _)| key.size_bytes)
        .filter(|size| (span.from..=span.to).contains(size))
        .compact_collect();
    let size = sizes.first().filter(|size| sizes.len() == 1 && span.from < span.to && **size > 0)?;
    let to = if span.to == u64::MAX { "on".to_owned() } else { format!("to below {}", Size(span.to + 1)) };
    Some(format!("the rule from {} {to} was measured at {} alone.", Size(span.from), Size(*size)))
}

/// What becomes of a range of sizes whose ends a line of the reader can't have.
fn of_whole_ranks(reader: Reader, (collective, scale): (Collective, Scale), sizes: (u64, u64)) -> Option<String> {
    let range = |(from, to): (u64, u64)| match to {
        u64::MAX => format!("{from} bytes and more"),
        to => format!("{from} to {to} bytes"),
    };
    let why = format!("{collective} on {scale}: this reader counts whole bytes per rank");
    match sizes_of_line(reader, sizes, scale) {
        Some(matched) if matched == sizes => None,
        Some(matched) => Some(format!("{why}: the rule for {} matches {}.", range(sizes), range(matched))),
        None => Some(format!("{why}: no rule is written for {}, where none lies.", range(sizes))),
    }
}

/// Whether rules are written where the library keeps the choice: Collectune's own plugin accepts `auto`.
fn writes_auto(reader: Reader) -> bool {
    reader.key() == "collectune"
}

/// The ranges of sizes that no rule covers, in words.
fn gaps(spans: &[Span]) -> Vec<String> {
    let before = spans.first().filter(|first| first.from > 0).map(|first| format!("below {}", Size(first.from)));
    let between = spans.windows(2).filter(|pair| pair[0].to + 1 < pair[1].from);
    let between = between.map(|pair| format!("from {} to {}", Size(pair[0].to + 1), Size(pair[1].from)));
    let after = spans.last().filter(|last| last.to < u64::MAX).map(|last| format!("from {} on", Size(last.to + 1)));
    before.into_iter().chain(between).chain(after).collect()
}

/// Ranges from nothing to the largest size, without holes: each reaches to the next.
fn close_gaps(spans: &mut [Span]) {
    let begins: Vec<u64> = spans.iter().map(|span| span.from).collect();
    for (index, span) in spans.iter_mut().enumerate() {
        if index == 0 {
            span.from = 0;
        }
        span.to = begins.get(index + 1).map_or(u64::MAX, |next| next - 1);
    }
}

/// The policy file. A band whose sizes have different answers gets a bound of its own, as far as there may be bounds.
pub fn policy(results: &[KeyResult], settings: &Settings, generation: u64) -> Policy {
    let all = places(results);
    let mut bounds: BTreeSet<u64> = settings.bands.bounds().iter().copied().compact_collect();
    for (_, keys) in &all {
        for pair in keys.windows(2) {
            let ((a, one), (b, other)) = (&pair[0], &pair[1]);
            if settings.bands.of(a.size_bytes) == settings.bands.of(b.size_bytes) && one.chosen() != other.chosen() {
                bounds.insert(b.size_bytes);
            }
        }
    }
    let bands = Bands::new(bounds.iter().copied().collect()).unwrap_or_else(|_| settings.bands.clone());
    let mut arms = vec![Arm::Auto];
    for arm in results.iter().flat_map(|of| of.arms.iter().map(|arm| arm.arm)) {
        if !arms.contains(&arm) && arms.len() < crate::bandit::schedule::MAX_ARMS {
            arms.push(arm);
        }
    }
    let mut policy =
        Policy { generation, library: settings.library.clone(), bands, seed: settings.seed, arms, ..Policy::default() };
    for ((collective, scale, overlap), keys) in all {
        for (key, of) in keys {
            let band = policy.bands.of(key.size_bytes);
            let place = |arm: Arm| policy.arms.iter().position(|known| *known == arm).unwrap_or(0);
            let arm = place(of.chosen());
            let same = |entry: &Entry| {
                (entry.collective, entry.scale, entry.band, entry.overlap) == (collective, scale, band, overlap)
            };
            if policy.keys.iter().any(same) || policy.keys.len() >= super::file::MOST_KEYS {
                continue;
            }
            let mut evidence = Evidence {
                key: policy.keys.len() as u32,
                n: vec![0; policy.arms.len()],
                mean_ms: vec![0.0; policy.arms.len()],
                p_better: of.p_better().unwrap_or(0.0),
                gain_pct: of.of_candidate().and_then(|arm| arm.comparison).map_or(0.0, |of| of.gain_pct),
            };
            for arm in of.arms.iter().filter(|arm| arm.n > 0) {
                let place = place(arm.arm);
                (evidence.n[place], evidence.mean_ms[place]) = (arm.n, rounded(arm.mean_ms));
            }
            (evidence.p_better, evidence.gain_pct) = (rounded(evidence.p_better), rounded(evidence.gain_pct));
            policy.keys.push(Entry { collective, band, scale, overlap, choice: Choice::Fixed(arm as u32) });
            policy.evidence.push(evidence);
        }
    }
    policy
}

/// A sentence on the keys for which the policy file has another arm than was found, as it holds a limited number of
/// keys, arms and bounds.
pub fn changed_keys(results: &[KeyResult], policy: &Policy) -> Option<String> {
    let mut lost: Vec<Key> = Vec::new();
    for (_, keys) in places(results) {
        for (key, of) in keys {
            let entry = policy.entry(&key.in_band(&policy.bands));
            let arm = match entry.map(|entry| &entry.choice) {
                Some(Choice::Fixed(arm)) => policy.arms.get(*arm as usize).copied().unwrap_or(Arm::Auto),
                _ => Arm::Auto,
            };
            if arm != of.chosen() {
                lost.push(key);
            }
        }
    }
    let first = lost.first()?;
    Some(format!(
        "{} {} not what was found, because the file holds at most so many keys, arms and bounds between sizes; the first is \
         {first}.",
        crate::units::count(lost.len() as u64, "key"),
        if lost.len() == 1 { "runs" } else { "run" }
    ))
}

/// Rounds to six significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// A script of interleaved runs of a command, each with one arm forced, for the keys that are open.
pub fn script(results: &[KeyResult], settings: &Settings, command: &str) -> TextFile {
    let open: Vec<&KeyResult> = results.iter().filter(|of| !matches!(of.decision, Decision::Deploy(_))).collect();
    let mut arms: Vec<Arm> = vec![Arm::Auto];
    for arm in open.iter().flat_map(|of| &of.arms).chain(results.iter().flat_map(|of| &of.arms)) {
        if !arms.contains(&arm.arm) {
            arms.push(arm.arm);
        }
    }
    if arms.len() == 1 {
        arms.extend(["tree/simple", "tree/ll128", "ring/simple"].iter().filter_map(|arm| Arm::parse(arm)));
    }
    let needed = open.iter().filter_map(|of| of.lines_needed).max();
    let mut text = String::from(
        "#!/usr/bin/env bash\n\
         # Interleaved runs of every arm, shuffled in each round, so that what drifts meets all alike.\n\
         # The job appends a line for each iteration to the file that $NCCL_TUNER_REWARD_FILE names, from one process:\n\
         #   allreduce,67108864,2,8,12.34     (collective, bytes, nodes, ranks, iteration in milliseconds)\n\
         # Leave warm-up iterations out. Then: collectune policy replay rewards/*.log\n",
    );
    for of in &open {
        if let Some(key) = of.key {
            text += &format!("# open: {key}: {}\n", of.verdict);
        }
    }
    if let Some(needed) = needed {
        text += &format!("# To tell a gain of 5 % takes {needed} lines per arm over all rounds.\n");
    }
    text += &format!("{SETUP}{}\n\n", launch::UNSET);
    text += &format!("command=({command})\n");
    text += RUN;
    let mut stream = crate::math::Stream::new(settings.seed);
    for round in 1..=ROUNDS {
        let mut order = arms.clone();
        stream.shuffle(&mut order);
        for arm in order {
            let label = arm.to_string().replace('/', "_");
            let environment = match arm {
                Arm::Auto => String::new(),
                Arm::Forced { algorithm, protocol, channels } => {
                    let mut set =
                        format!(" NCCL_ALGO={} NCCL_PROTO={}", nccl_name(algorithm.name()), nccl_name(protocol.name()));
                    if channels > 0 {
                        set += &format!(" NCCL_MIN_NCHANNELS={channels} NCCL_MAX_NCHANNELS={channels}");
                    }
                    set
                }
            };
            text += &format!("run rewards_{label}_r{round:02}.log{environment}\n");
        }
    }
    TextFile {
        name: "policy_runs.sh".to_owned(),
        text,
        note: "Runs that would settle what is open; a log's name tells its arm.".to_owned(),
    }
}

/// The lines before the command: the logs of an earlier script must not be mixed with these, and settings from outside
/// would hide those of the arms.
const SETUP: &str = r#"set -u
if compgen -G 'rewards/*.log' >/dev/null; then
  echo "rewards/ holds the logs of an earlier script: move it away first" >&2
  exit 1
fi
mkdir -p rewards
"#;

/// The function of the script that runs the command once. Open MPI passes to other nodes only what `-x` names.
const RUN: &str = r#"run() { # log, then settings of the environment
  local log=$1 exports=()
  shift
  set -- "$@" NCCL_TUNER_REWARD_FILE="rewards/$log"
  case ${command[0]##*/} in
    mpirun | mpiexec | orterun) for setting in "$@"; do exports+=(-x "${setting%%=*}"); done ;;
  esac
  env "$@" "${command[0]}" ${exports[@]+"${exports[@]}"} "${command[@]:1}" || echo "$log: failed" >&2
}

"#;

/// The number of rounds of the script.
const ROUNDS: u32 = 8;

/// The spelling that the library's environment variables use.
fn nccl_name(name: &str) -> String {
    match name {
        "SIMPLE" => "Simple".to_owned(),
        "TREE" => "Tree".to_owned(),
        "RING" => "Ring".to_owned(),
        "COLLNET_DIRECT" => "CollnetDirect".to_owned(),
        "COLLNET_CHAIN" => "CollnetChain".to_owned(),
        "NVLS_TREE" => "NVLSTree".to_owned(),
        other => other.to_owned(),
    }
}
