//! Findings for Collectune's own plugin, which skips a line with a message where other readers guess.

use super::{Code, LintFindings, Severity, rules};
use crate::{
    conf::strict::{FIELDS, LineContent, RuleFault, lines},
    tuning::{conf::rule::Rule, support::SupportMatrix},
};

/// Checks every line. Returns the rules that the plugin keeps.
pub(super) fn strict(bytes: &[u8], support: &SupportMatrix, findings: &mut LintFindings) -> Vec<Rule> {
    let mut kept = Vec::new();
    for (line, content) in lines(bytes) {
        match content {
            LineContent::Rule(strict) => {
                if strict.asks_for_registration {
                    let message = "regBuff is not looked at, because it can differ between ranks: the rule applies to \
                                   registered and other buffers alike";
                    findings.push(line, Code::Registration, Severity::Changes, message);
                }
                let rule = Rule::from(strict);
                rules::rule(&rule, support, findings);
                kept.push(rule);
            }
            LineContent::Fault(fault) => {
                let message = format!("{fault}; the line is skipped with a warning");
                findings.push(line, code(&fault), Severity::Dead, message);
            }
            LineContent::Nothing | LineContent::Header => {}
        }
    }
    kept
}

fn code(fault: &RuleFault) -> Code {
    match fault {
        RuleFault::TooFewFields(_) => Code::TooFewFields,
        RuleFault::HalfAChoice => Code::HalfWildcard,
        RuleFault::EmptyRange(..) => Code::EmptyRange,
        RuleFault::Nul => Code::TrailingText,
        RuleFault::Field { text, .. } if text.is_empty() => Code::EmptyField,
        RuleFault::Field { field, .. } => match FIELDS.iter().position(|name| name == field) {
            Some(0) => Code::UnknownCollective,
            Some(3) => Code::UnknownAlgorithm,
            Some(4) => Code::UnknownProtocol,
            Some(5) => Code::Channels,
            _ => Code::BadNumber,
        },
    }
}
