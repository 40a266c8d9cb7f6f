//! The sentences that page, terminal and report say of a comparison.

use super::{
    ChangeVerdict, CompareFindings, CompareQuestion, Difference, Subject,
    deployment::{DeployedCheck, DeployedStatus},
    overall::OverallChange,
    relative::RelativeChange,
};
use crate::{
    collective::Workload,
    report::snapshot::{DeployedChoice, Snapshot},
    tuning::origin::{Aspect, aspect_of, is_timing},
    units::{Size, count, percent},
};

/// The most points that a sentence names; of more it gives the number.
const MAX_NAMED: usize = 3;

/// The findings in sentences: what became slower or faster, what can't be told, whether what was deployed holds.
pub fn summary(findings: &CompareFindings) -> Vec<String> {
    let of = |verdict: ChangeVerdict| -> Vec<&Difference> {
        findings.differences.iter().filter(|difference| difference.verdict == verdict).collect()
    };
    let wrong_values = findings.wrong_values.iter().map(|told| format!("After: {told}."));
    if findings.differences.is_empty() {
        let nothing = if findings.same.is_empty() {
            "The two sides have no measurement in common."
        } else {
            "Both sides hold the same runs, value by value: the same file, or a copy of it. There is nothing to \
             compare."
        };
        return wrong_values.chain([nothing.to_owned()]).collect();
    }
    let all = count(findings.differences.len() as u64, "comparison");
    let mut said: Vec<String> = wrong_values.collect();
    let as_a_whole: Vec<&OverallChange> = findings
        .overall
        .iter()
        .filter(|overall| matches!(overall.verdict, ChangeVerdict::Slower | ChangeVerdict::Faster))
        .collect();
    said.extend(as_a_whole.iter().map(|overall| self::as_a_whole(overall)));
    let beside_that = if as_a_whole.is_empty() { "" } else { "Beside that, " };
    let of_overall = said.len();
    for (verdict, word) in [(ChangeVerdict::Slower, "slower"), (ChangeVerdict::Faster, "faster")] {
        let judged = of(verdict);
        if !judged.is_empty() {
            said.push(format!("{beside_that}{} of {all} {word} beyond noise: {}.", judged.len(), largest(judged)));
        }
    }
    said.extend(relative_changes(&findings.relative));
    if said.len() == of_overall {
        let nothing = if as_a_whole.is_empty() { "Nothing" } else { "Beside that, nothing" };
        said.push(format!("{nothing} changed beyond noise, in {all}."));
    }
    let (seen, unseen): (Vec<&Difference>, Vec<&Difference>) =
        of(ChangeVerdict::CantTell).into_iter().partition(|difference| difference.visible_pct.is_some());
    if let Some(visible) = seen.iter().filter_map(|difference| difference.visible_pct).reduce(f64::max) {
        said.push(format!(
            "At {} it can't be told: at worst these runs show a change from {:.1} %.",
            seen.len(),
            visible
        ));
    }
    if !unseen.is_empty() {
        said.push(format!(
            "At {} nothing tells a change from noise: one run alone may have stalled, so measure at least twice.",
            unseen.len()
        ));
    }
    said.extend(held(&findings.deployed_checks));
    said
}

/// The overall change of a collective and scale, in a sentence.
fn as_a_whole(overall: &OverallChange) -> String {
    let OverallChange { collective, scale, change_pct, interval_pct, verdict, .. } = overall;
    let range = interval_pct.map(|(low, high)| format!(", {} to {}", percent(low), percent(high)));
    format!(
        "{collective} on {scale} as a whole is {} beyond noise, by {}{}: the level of the day, or a change that \
         touches everything.",
        verdict.word(),
        percent(*change_pct),
        range.unwrap_or_default(),
    )
}

/// The configurations whose change differs from that of the others, in a sentence; `None` if there are none.
fn relative_changes(relative: &[RelativeChange]) -> Option<String> {
    if relative.is_empty() {
        return None;
    }
    let one = |relative: &RelativeChange| {
        let arm =
            relative.configuration.map_or_else(|| "the default".to_owned(), |configuration| configuration.to_string());
        let (collective, scale) = (relative.collective, relative.scale);
        format!("{arm} by {} at {} of {collective} on {scale}", percent(relative.relative_pct), sizes(relative))
    };
    let named: Vec<String> = relative.iter().take(MAX_NAMED).map(one).collect();
    let rest = relative.len() - named.len();
    let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    Some(format!("Changed beside the other configurations: {}{more}.", named.join("; ")))
}

/// The sizes of a configuration that changed beside the others.
pub fn sizes(relative: &RelativeChange) -> String {
    stretch(relative.sizes, relative.first_bytes, relative.last_bytes)
}

/// A number of neighbouring sizes from the first to the last, in words.
pub fn stretch(sizes: usize, first_bytes: u64, last_bytes: u64) -> String {
    let [first, last] = [first_bytes, last_bytes].map(Size);
    if sizes == 1 { first.to_string() } else { format!("{sizes} sizes, {first} to {last}") }
}

/// The largest differences in a sentence, the largest first.
fn largest(mut differences: Vec<&Difference>) -> String {
    crate::order::CompactSort::compact_sort_by(&mut differences[..], |a, b| {
        b.change_pct.abs().total_cmp(&a.change_pct.abs())
    });
    let one = |difference: &&Difference| {
        let arm = match difference.subject {
            Subject::Default => "the default".to_owned(),
            Subject::Deployed(configuration) => configuration.to_string(),
            Subject::Best => "the best".to_owned(),
            Subject::All { of } => format!("all {of} together"),
        };
        format!("{arm} at {} by {}", place(&difference.workload), percent(difference.change_pct))
    };
    let named: Vec<String> = differences.iter().take(MAX_NAMED).map(one).collect();
    let rest = differences.len() - named.len();
    let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    format!("{}{more}", named.join("; "))
}

fn place(workload: &Workload) -> String {
    let Workload { collective, scale, size_bytes } = workload;
    format!("{} of {collective} on {scale}", Size(*size_bytes))
}

/// Whether what was deployed still holds, in a sentence; nothing where nothing was deployed.
fn held(deployed_checks: &[DeployedCheck]) -> Option<String> {
    if deployed_checks.is_empty() {
        return None;
    }
    let holds = deployed_checks.iter().filter(|check| check.status.holds()).count();
    let fails: Vec<&DeployedCheck> = deployed_checks.iter().filter(|check| check.status.fails()).collect();
    let open = deployed_checks.len() - holds - fails.len();
    let sizes = count(deployed_checks.len() as u64, "size");
    let mut said = format!("What was deployed still holds at {holds} of {sizes}");
    if open > 0 {
        said += &format!("; at {open} it was not measured after, or can't be told");
    }
    let named: Vec<String> = fails
        .iter()
        .take(MAX_NAMED)
        .map(|check| format!("{} at {} is {}", deployed(check), place(&check.workload), deployed_status(check)))
        .collect();
    if !named.is_empty() {
        let rest = fails.len() - named.len();
        let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        said += &format!("; at {} not: {}{more}", fails.len(), named.join("; "));
    }
    Some(said + ".")
}

/// The name of what was deployed.
pub fn deployed(deployed_check: &DeployedCheck) -> String {
    match (&deployed_check.effect, deployed_check.deployed) {
        (Some(effect), _) => effect.clone(),
        (None, DeployedChoice::Configuration(configuration)) => configuration.to_string(),
        (None, DeployedChoice::Default) => "default".to_owned(),
        (None, DeployedChoice::Unknown) => "not known".to_owned(),
    }
}

/// The status of what was deployed, in words.
pub fn deployed_status(deployed_check: &DeployedCheck) -> String {
    match deployed_check.status {
        DeployedStatus::Best => "still the best".to_owned(),
        DeployedStatus::Tied => "tied with the best".to_owned(),
        DeployedStatus::SlowerThanDefault { pct } => format!("slower than the default, which gains {}", percent(pct)),
        DeployedStatus::Beaten { by, pct } => format!("beaten by {by}, which gains {}", percent(pct)),
        DeployedStatus::NotMeasured => "not measured after".to_owned(),
        DeployedStatus::CantTell if deployed_check.effect.is_some() => "not one configuration: can't tell".to_owned(),
        DeployedStatus::CantTell => "can't tell".to_owned(),
    }
}

/// In what the sides differ besides numbers, and what is assumed.
pub fn notes(
    before: &Snapshot,
    after: &Snapshot,
    findings: &CompareFindings,
    question: &CompareQuestion,
) -> Vec<String> {
    let mut notes = Vec::new();
    for old in &before.groups {
        let Some(new) = after.groups.iter().find(|new| (new.collective, new.scale) == (old.collective, old.scale))
        else {
            continue;
        };
        // A GPU that only one side states is no difference: reports of earlier versions have none.
        let sides = [&old.measured_with, &new.measured_with];
        let is_gpu = |word: &String| aspect_of(word) == Some(Aspect::Gpu);
        let is_told_twice = |of: &dyn Fn(&String) -> bool| sides.iter().all(|words| words.iter().any(of));
        // Nor is how operations were timed, which tables without their log don't say.
        let is_timing = |word: &String| is_timing(word);
        let (gpus_told, timings_told) = (is_told_twice(&is_gpu), is_told_twice(&is_timing));
        let [before, after] = sides.map(|words| {
            let counts = |word: &&String| (gpus_told || !is_gpu(word)) && (timings_told || !is_timing(word));
            words.iter().filter(counts).map(String::as_str).collect::<Vec<_>>()
        });
        if before != after {
            let words = |words: &[&str]| if words.is_empty() { "nothing stated".to_owned() } else { words.join(", ") };
            notes.push(format!(
                "{} on {} was measured with {} before and {} after",
                old.collective,
                old.scale,
                words(&before),
                words(&after)
            ));
        }
    }
    // The same sentence for each collective and scale says it once.
    notes.dedup();
    if before.program != after.program && !before.program.is_empty() && !after.program.is_empty() {
        notes.push(format!("The measurements were read by {} before and {} after", before.program, after.program));
    }
    for (when, snapshot) in [("before", before), ("after", after)] {
        if !snapshot.is_whole {
            notes.push(format!(
                "The report of the state {when} carries the default, the best and what was to be deployed at each \
                 size; other configurations are not compared"
            ));
        }
    }
    if findings.differences.is_empty() && !findings.same.is_empty() {
        return notes;
    }
    for (collective, scale) in &findings.same {
        notes.push(format!(
            "{collective} on {scale}: both sides hold the same runs, value by value, and are not compared"
        ));
    }
    if !findings.overall.is_empty() {
        let overall = |overall: &OverallChange| {
            let range = overall.interval_pct.map(|(low, high)| format!(" ({} to {})", percent(low), percent(high)));
            let OverallChange { collective, scale, change_pct, .. } = overall;
            format!("{collective} on {scale} {}{}", percent(*change_pct), range.unwrap_or_default())
        };
        let all: Vec<String> = findings.overall.iter().take(MAX_NAMED).map(overall).collect();
        let rest = findings.overall.len() - all.len();
        let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        notes.push(format!(
            "What everything changed by, the median over the sizes, is taken off before sizes and configurations are \
             compared: {}{more}",
            all.join("; ")
        ));
    }
    if findings.differences.iter().any(|difference| matches!(difference.subject, Subject::All { .. })) {
        notes.push(
            "All together: the trimmed mean of what every configuration and the default changed by at a size, with an \
             interval from their scatter. A configuration that changed beside the others is named with its sizes"
                .to_owned(),
        );
    }
    notes.push(format!(
        "All intervals hold at once with {:.0} %: were nothing different, something would be called slower or faster in \
         one of {:.0} such comparisons. A change counts from {:.1} %",
        question.level * 100.0,
        1.0 / (1.0 - question.level).max(1e-4),
        question.least_pct
    ));
    for (collective, scale, drift) in &findings.drifts {
        let has_whole =
            findings.overall.iter().any(|overall| (overall.collective, overall.scale) == (*collective, *scale));
        let widened = if has_whole {
            "each was brought to the level of the middle one, and the interval of the whole is as much wider"
        } else {
            "the intervals are as much wider"
        };
        notes.push(format!(
            "{collective} on {scale}: the passes over one campaign lie {drift:.1} % from each other as a whole; two \
             campaigns are assumed to differ as two passes do: {widened}"
        ));
    }
    if findings.drifts.is_empty() && !findings.differences.is_empty() {
        notes.push(
            "No pass over a campaign was faster than the others as a whole, as far as the runs tell. Other nodes, \
             clocks or neighbours look like a change of the whole"
                .to_owned(),
        );
    }
    notes
}
