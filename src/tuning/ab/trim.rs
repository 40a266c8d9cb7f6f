//! Writes a tuner file without the rules that a campaign does not support.

use std::collections::BTreeMap;

use crate::order::CompactCollect;
use crate::text::is_control;

use super::{outcome::RuleVerdict, verdict::AbJudgement};

/// The readers of a tuner file split longer lines.
const MAX_LINE_LENGTH: usize = 254;

/// The tuner file without its dropped rules, which stand as comments above the others; every other line as it was,
/// but for a header without `#`, which gets one.
pub fn trim(conf: &[u8], judgement: &AbJudgement) -> String {
    let dropped: BTreeMap<u64, &str> = judgement
        .rules
        .iter()
        .filter(|judged| judged.rule.line > 0 && matches!(judged.verdict, RuleVerdict::Drop(_)))
        .map(|judged| (judged.rule.line, judged.verdict.reason()))
        .compact_collect();
    without(&String::from_utf8_lossy(conf), &dropped, judgement.void.as_deref())
}

/// The tuner file without the rules on these lines (from 1), which are dropped for the reason beside each. `void` is
/// why nothing was taken out.
pub fn without(text: &str, dropped: &BTreeMap<u64, &str>, void: Option<&str>) -> String {
    let mut out = String::new();
    let mut comment = |text: &str| {
        out += &cut(&format!("# {text}"));
        out.push('\n');
    };
    comment(
        "Trimmed by Collectune: rules that an A/B campaign did not show to be better than the default were taken out.",
    );
    if let Some(void) = void {
        comment(&format!("Nothing was taken out, because the campaign is void: {void}"));
    }
    if !dropped.is_empty() {
        comment(UNTESTED);
    }
    let lines: Vec<&str> = text.lines().collect();
    for (line, reason) in dropped {
        let rule = lines.get(*line as usize - 1).map_or("", |rule| rule.trim());
        comment(&format!("dropped: {rule}   ({reason})"));
    }
    for (number, line) in (1..).zip(lines) {
        if dropped.contains_key(&number) || line.starts_with("# Trimmed by") || line == format!("# {UNTESTED}") {
            continue;
        }
        if line.trim_start().to_ascii_lowercase().starts_with("coll") && line.contains("min_bytes") {
            out += "# ";
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// The comment of a file of which something was taken out.
pub const UNTESTED: &str = "As it stands this file was never run: run it against the default before you deploy it.";

/// Whether a tuner file says of itself that it was never run as it stands.
pub fn is_untested(conf: &str) -> bool {
    conf.contains(UNTESTED)
}

/// A comment in one line of at most [`MAX_LINE_LENGTH`] bytes: the rest of a longer one would be read as a rule.
fn cut(line: &str) -> String {
    let line: String = line.chars().map(|c| if is_control(c) { ' ' } else { c }).collect();
    if line.len() <= MAX_LINE_LENGTH {
        return line;
    }
    let end = (0..=MAX_LINE_LENGTH - 3).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::ab::{AbQuestion, judge};

    const HEADER: &str = "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
    const RUNS: &str = "nodes,size_bytes,def_runs,cfg_runs\n1,4096,1;1.01;1.02,2;2.01;2.02\n1,8192,2;2.01;2.02,1;1;1\n";

    fn trimmed(conf: &str) -> String {
        judge(RUNS, "allreduce.csv", Some(conf.as_bytes()), &AbQuestion::default()).trimmed.unwrap_or_default()
    }

    #[test]
    fn dropped_rules_become_comments_and_the_file_says_that_it_was_never_run() {
        let conf = format!("{HEADER}# mine\nallreduce,4096,4096,tree,ll,2,1,8\nallreduce,8192,8192,tree,ll,4,1,8\n");
        let out = trimmed(&conf);
        let lines: Vec<&str> = out.lines().collect();
        assert!(is_untested(&out));
        assert!(lines[2].starts_with("# dropped: allreduce,8192,8192,tree,ll,4,1,8   (−50.2 %"), "{out}");
        assert_eq!(lines[3..], [&format!("# {}", HEADER.trim())[..], "# mine", "allreduce,4096,4096,tree,ll,2,1,8"]);
        let kept = trimmed("allreduce,4096,4096,tree,ll,2,1,8\n");
        assert!(!is_untested(&kept) && kept.ends_with("allreduce,4096,4096,tree,ll,2,1,8\n"));
    }

    #[test]
    fn no_comment_is_so_long_that_its_end_would_be_a_rule() {
        let long = format!("allreduce,8192,8192,tree,ll,4,1,8,{}\n", "é".repeat(300));
        assert!(trimmed(&long).lines().all(|line| line.len() <= MAX_LINE_LENGTH));
    }
}
