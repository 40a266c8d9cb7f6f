//! Opens topologies, schedules and dumps of machines.

use std::io::Read;

use super::{
    Outcome,
    opened::{FileContent, Result, first_text},
};
use crate::{
    text::{Problems, lossy},
    topology::{conditions, dump, msccl, mscclpp, read, result, study::Part},
    units::{Size, count},
};

/// The most bytes of such a file.
const LONGEST: u64 = 512 << 20;

/// Whether a text begins like one of these files.
pub(super) fn is_topology(head: &[u8]) -> bool {
    let head = lossy(head);
    dump::is_dump(&head) || msccl::is_algorithm(&head) || result::is_result(&head) || read::is_topology(&head)
}

/// Reads a topology, a schedule or a dump.
pub(super) fn open(source: &mut dyn Read, name: &str) -> Result<(Outcome, FileContent)> {
    let text = first_text(source, LONGEST + 1)?;
    if text.len() as u64 > LONGEST {
        return Err(format!("has more than {} MiB, more than any topology or schedule", LONGEST >> 20));
    }
    let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = stem.split('.').next().unwrap_or(stem);
    let links =
        |links: usize, nodes: u32| format!("{}, {}", count(u64::from(nodes), "node"), count(links as u64, "link"));
    if msccl::is_algorithm(&text) {
        let algo = msccl::Algo::read(&text).map_err(|error| format!("can't be used: {error}"))?;
        let blocks: usize = algo.gpus.iter().map(|gpu| gpu.blocks.len()).sum();
        let (ranks, blocks) = (count(algo.gpus.len() as u64, "rank"), count(blocks as u64, "thread block"));
        let holds = format!("{}, {ranks}, {blocks}", algo.collective);
        return Ok(known("algorithm of MSCCL", holds, Vec::new(), Part::Algorithm(msccl::verdict(&algo))));
    }
    if dump::is_dump(&text) {
        return Ok(match dump::read(&text).map_err(|why| format!("can't be used: {why}"))? {
            dump::Dump::Machine(machine) => {
                let (gpus, nics) = (machine.gpus.len() as u64, machine.nics.len() as u64);
                let holds = format!("{}, {}", count(gpus, "GPU"), count(nics, "network port"));
                known("topology dump of NCCL", holds, Vec::new(), Part::Machine(machine))
            }
            dump::Dump::Patterns(graphs) => {
                let of = graphs.patterns.iter().filter(|pattern| !pattern.channels.is_empty());
                let all: Vec<String> =
                    of.map(|of| format!("{} of {}", count(of.channels.len() as u64, "channel"), of.kind)).collect();
                known("graph dump of NCCL", all.join(", "), Vec::new(), Part::Patterns(graphs))
            }
        });
    }
    if result::is_result(&text) {
        let read = result::read(&text, stem, read::Options::default().unit);
        let file = read.map_err(|error| format!("can't be used: {error}"))?;
        let transfers = count(file.transfers.len() as u64, "transfer");
        let holds = format!("{}, {transfers}, {}", links(file.topology.links.len(), file.topology.nodes), file.dialect);
        let notes = file.notes.clone();
        return Ok(known("schedule of a collective", holds, notes, Part::Result(file)));
    }
    let reading =
        read::read(&text, stem, read::Options::default()).map_err(|error| format!("can't be used: {error}"))?;
    let holds = links(reading.topology.links.len(), reading.topology.nodes);
    Ok(known("topology", holds, reading.notes, Part::Topology(reading.topology)))
}

/// Reads conditions of a collective or a plan of MSCCL++; `None` for other JSON.
pub(super) fn json(text: &str) -> Option<Result<(Outcome, FileContent)>> {
    if mscclpp::is_plan(text) {
        let verdict = mscclpp::verdict(text);
        let holds = match verdict.ranks {
            0 => "not read".to_owned(),
            ranks => {
                let blocks = count(verdict.blocks as u64, "thread block");
                format!("{}, {}, {blocks}", verdict.collective, count(ranks as u64, "rank"))
            }
        };
        let notes = std::iter::once(verdict.sentence()).chain(verdict.notes.iter().cloned()).collect();
        return Some(Ok(known("plan of MSCCL++", holds, notes, Part::Plan(verdict))));
    }
    if !["\"preconditions\"", "\"postconditions\""].iter().all(|key| text.contains(key)) {
        return None;
    }
    Some(match conditions::read_custom(text) {
        Err(error) => Err(format!("can't be used: {error}")),
        Ok((custom, size)) => {
            let mut holds = count(custom.chunks.len() as u64, "chunk");
            if let Some(bytes) = size {
                holds += &format!(" of {}", Size(bytes));
            }
            Ok(known("conditions of a collective", holds, Vec::new(), Part::Conditions(custom, size)))
        }
    })
}

fn known(format: &str, holds: String, notes: Vec<String>, part: Part) -> (Outcome, FileContent) {
    (Outcome::known(format, holds, Problems::default(), notes), FileContent::Topology(Box::new(part)))
}
