//! Findings for NCCLX: lines with which no communicator is made, and chunk sizes.

use super::{Code, LintFindings, Severity, rules};
use crate::{
    collective::{Algorithm, Collective, Protocol},
    conf::{
        interval::Interval,
        ncclx::{self, FIELDS, RuleFault, lines},
    },
    tuning::{conf::rule::Rule, support::SupportMatrix},
    units::Size,
};

/// Checks every line. Returns the rules that can be read.
pub(super) fn ncclx(bytes: &[u8], support: &SupportMatrix, findings: &mut LintFindings) -> Vec<Rule> {
    let mut kept = Vec::new();
    for (line, content) in lines(bytes) {
        match content {
            Ok(own) => {
                let rule = Rule::from(own);
                rules::rule(&rule, support, findings);
                chunk(&own, findings);
                kept.push(rule);
            }
            Err(fault) => {
                let message = format!(
                    "{fault}; creating a communicator fails with ncclInvalidUsage, unless \
                     NCCLX_TUNER_IGNORE_CONFIG_ERRORS=1 leaves this out"
                );
                findings.push(line, code(&fault), Severity::Changes, message);
            }
        }
    }
    kept
}

fn code(fault: &RuleFault) -> Code {
    match fault {
        RuleFault::TooFewFields(_) => Code::TooFewFields,
        RuleFault::Header => Code::HeaderAsRule,
        RuleFault::Form(_) | RuleFault::Json(_) => Code::Form,
        RuleFault::Field { text, .. } if text.is_empty() => Code::EmptyField,
        RuleFault::Field { field, .. } => match FIELDS.iter().position(|name| name == field) {
            Some(0) => Code::UnknownCollective,
            Some(2) => Code::UnknownAlgorithm,
            Some(3) => Code::UnknownProtocol,
            Some(4) => Code::Channels,
            Some(7) => Code::ChunkSize,
            _ => Code::BadNumber,
        },
    }
}

/// What a chunk size does: NCCL from 2.30 on limits it to the buffer, rounds it down to a multiple that depends on the
/// protocol, and divides by it.
///
/// Source: calcCollChunking of NVIDIA/nccl, src/enqueue.cc (v2.30.7-1, 73cf1122).
fn chunk(rule: &ncclx::Rule, findings: &mut LintFindings) {
    if rule.chunk_bytes == 0 {
        return;
    }
    let grain = match rule.protocol {
        Protocol::Ll => 16,
        Protocol::Ll128 => 1920,
        _ => 512,
    };
    let (chunk, protocol) = (rule.chunk_bytes, rule.protocol);
    if chunk < grain {
        let message = format!(
            "chunkSize {chunk} is below {grain} bytes, the unit of {protocol}: it is rounded down to 0, by which the \
             library divides (calcCollChunking of NCCL 2.30); write a multiple of {grain}, or 0 for the library's"
        );
        return findings.push(rule.line, Code::ChunkSize, Severity::Changes, message);
    }
    let most = most_bytes(rule);
    if chunk > most {
        let message = format!(
            "chunkSize {chunk} is above the {} that the default buffer of {}/{protocol} has room for, and is limited to \
             them (calcCollChunking of NCCL 2.30); a larger NCCL_BUFFSIZE makes room for SIMPLE",
            Size(most),
            rule.algorithm
        );
        findings.push(rule.line, Code::ChunkSize, Severity::Note, message);
    }
    let by_collnet = matches!(rule.algorithm, Algorithm::CollnetDirect | Algorithm::CollnetChain);
    if rule.bytes_per_rank != Interval::ANY && !by_collnet {
        let message = "chunkSize is looked up with the bytes of one channel, not those of the collective \
                       (calcCollChunking of NCCL 2.30), so at other sizes than bytesPerRank says; leave it out, or write it \
                       in a row with * for bytesPerRank";
        findings.push(rule.line, Code::ChunkSize, Severity::Changes, message);
    }
}

/// The largest chunk in the default buffers: an eighth of a buffer, of ring/SIMPLE as many of them as a step of the
/// collective takes; of LL a half is data and of LL128 15 of 16 words.
///
/// Source: src/init.cc (sizes of buffers) and src/include/collectives.h (chunk steps) of NVIDIA/nccl v2.30.7-1.
fn most_bytes(rule: &ncclx::Rule) -> u64 {
    /// The buffer is a ring of this many steps.
    const STEPS: u64 = 8;
    const LL_BUFFER: u64 = 8 * 512 * STEPS * 16;
    const LL128_BUFFER: u64 = 120 * 640 * STEPS * 8;
    const SIMPLE_BUFFER: u64 = 4 << 20;
    let steps = match (rule.algorithm, rule.collective) {
        (Algorithm::Ring, Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter) => STEPS / 2,
        _ => 1,
    };
    match rule.protocol {
        Protocol::Ll => LL_BUFFER / STEPS / 2,
        Protocol::Ll128 => LL128_BUFFER / STEPS * 15 / 16,
        _ => SIMPLE_BUFFER / STEPS * steps,
    }
}
