//! The lines that the library prints with `NCCL_DEBUG=INFO`: calls, decisions, cost tables.
//!
//! Ranks that write to one file tear each other's lines at any byte. What is whole counts, what is torn is counted.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    costs::CostReader,
    lines::{self, Call, CallKind, Communicator, Decision, Line, Said, SpokenLine, larger_buffer, process},
};
use crate::{
    collective::{Collective, Configuration, Scale},
    tuning::job::{CollectiveCall, JobLog, LibraryDecision},
};

/// Collects what debug lines say.
#[derive(Debug, Default)]
pub(super) struct DebugReader {
    job: JobLog,
    costs: CostReader,
    /// The collective that was called last, since decisions of older versions don't name it.
    called: Option<Collective>,
    ranks: Option<u32>,
    printed: PrintedRanks,
    /// The processes that told decisions, as [`process`] numbers them.
    pub(super) speakers: BTreeSet<u64>,
}

impl DebugReader {
    /// Takes a line. Decisions in it go to `decided` as well; those that don't name their collective are of `testing`.
    pub(super) fn line(
        &mut self,
        spoken: &SpokenLine<'_>,
        testing: Option<Collective>,
        decided: &mut Vec<LibraryDecision>,
    ) {
        self.job.torn_lines += u64::from(lines::is_told(spoken.before));
        for Said { speaker, text: piece, line } in &spoken.said {
            let speaker = speaker.and_then(|word| {
                let mut parts = word.split(':');
                Some(process(parts.next()?, parts.next()?))
            });
            match line {
                Some(Line::Call(call)) => self.call(call, speaker),
                Some(Line::Decision(decision)) => match self.decision(decision, testing.or(self.called), speaker) {
                    Some(decision) => {
                        *self.job.decisions.entry(decision).or_default() += 1;
                        decided.push(decision);
                        self.speakers.extend(speaker);
                    }
                    None => self.job.torn_lines += 1,
                },
                Some(Line::NotUnderstood) => self.job.torn_lines += 1,
                Some(Line::UnknownFunction(_)) => self.job.unknown_calls += 1,
                Some(Line::Communicator(Communicator { ranks, nodes, .. })) => {
                    self.ranks = Some(*ranks);
                    self.printed.of_process(speaker, *ranks);
                    self.job.scales.extend(nodes.and_then(|nodes| Scale::new(nodes, *ranks)));
                }
                None if piece.contains('|') => {
                    self.job.torn_lines += u64::from(self.costs.line(piece, self.ranks).is_none());
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &Call<'_>, speaker: Option<u64>) {
        let Call { kind: CallKind::Collective | CallKind::Msccl | CallKind::HierarchicalInter, collective, .. } = *call
        else {
            return;
        };
        let ranks = call.ranks.or_else(|| self.printed.process_ranks(speaker));
        let Some(task_bytes) = call.task_bytes() else { return self.job.torn_lines += 1 };
        let factor = ranks.map_or(Some(1), |ranks| Some(larger_buffer(collective, ranks)));
        let Some(size_bytes) = factor.and_then(|factor| task_bytes.checked_mul(factor)) else {
            return self.job.torn_lines += 1;
        };
        if let Some(ranks) = ranks {
            self.printed.of_task((speaker, collective, task_bytes), ranks);
        }
        let is_per_rank = ranks.is_none() && larger_buffer(collective, 2) > 1;
        self.called = Some(collective);
        self.job.data_types.entry((collective, size_bytes)).or_default().insert(call.datatype);
        *self.job.calls.entry(CollectiveCall { collective, size_bytes, ranks, is_per_rank }).or_default() += 1;
    }

    /// A decision by the bytes of all ranks, where their number is known. `None` where its collective is not.
    fn decision(
        &self,
        decision: &Decision,
        called: Option<Collective>,
        speaker: Option<u64>,
    ) -> Option<LibraryDecision> {
        let collective = decision.collective.or(called)?;
        let mut size_bytes = decision.size_bytes;
        let mut is_per_rank = decision.is_per_task() && larger_buffer(collective, 2) > 1;
        if is_per_rank && let Some(ranks) = self.printed.ranks((speaker, collective, size_bytes)) {
            size_bytes = size_bytes.checked_mul(larger_buffer(collective, ranks))?;
            is_per_rank = false;
        }
        let configuration =
            Configuration { algorithm: decision.algorithm, protocol: decision.protocol, channels: decision.channels() };
        Some(LibraryDecision { collective, size_bytes, is_per_rank, configuration })
    }

    /// The contents of all lines that were read.
    pub(super) fn finish(self) -> JobLog {
        JobLog { costs: self.costs.finish(), ..self.job }
    }
}

/// A process, a collective and the bytes of its task.
type Task = (Option<u64>, Collective, u64);

/// The ranks that lines print, by which the bytes of one rank become those of all; `None` where lines disagree.
#[derive(Debug, Default)]
struct PrintedRanks {
    tasks: BTreeMap<Task, Option<u32>>,
    processes: BTreeMap<Option<u64>, Option<u32>>,
}

impl PrintedRanks {
    fn of_task(&mut self, task: Task, ranks: u32) {
        let known = self.tasks.entry(task).or_insert(Some(ranks));
        *known = known.filter(|known| *known == ranks);
    }

    fn of_process(&mut self, process: Option<u64>, ranks: u32) {
        let known = self.processes.entry(process).or_insert(Some(ranks));
        *known = known.filter(|known| *known == ranks);
    }

    fn process_ranks(&self, process: Option<u64>) -> Option<u32> {
        self.processes.get(&process).copied().flatten()
    }

    /// The ranks of the call of a task, or else of the only size of communicators that its process has.
    fn ranks(&self, task: Task) -> Option<u32> {
        self.tasks.get(&task).copied().unwrap_or_else(|| self.process_ranks(task.0))
    }
}

/// The number in the word after `key`.
pub(super) fn number_after(text: &str, key: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    words.find(|word| *word == key)?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> JobLog {
        let mut reader = DebugReader::default();
        for line in lines {
            reader.line(&lines::read(line), None, &mut Vec::new());
        }
        reader.finish()
    }

    const CALLED: &str = "n1:7:7 [3] NCCL INFO AllGather: opCount 2a sendbuff 0x7 recvbuff (nil) acc (nil) count 1024 \
                          datatype 9 op 0 root 0 comm 0x2f [nranks=16] stream 0x1 task 0 globalrank 3";
    const DECIDED: &str =
        "n1:7:7 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={8..63}";

    #[test]
    fn calls_and_decisions() {
        let job = read(&[CALLED, DECIDED, CALLED]);
        let call = CollectiveCall {
            collective: Collective::AllGather,
            size_bytes: 1024 * 2 * 16,
            ranks: Some(16),
            is_per_rank: false,
        };
        assert_eq!(job.calls.into_iter().collect::<Vec<_>>(), [(call, 2)]);
        let (decision, times) = job.decisions.into_iter().next().expect("one was printed");
        assert_eq!(decision.configuration.to_string(), "RING/LL128/56");
        assert_eq!((decision.size_bytes, times, job.torn_lines), (4 << 20, 1, 0));
    }

    #[test]
    fn sizes_of_one_rank_are_multiplied_where_the_ranks_are_known() {
        let decided = "n1:7:7 [0] NCCL INFO AllGather: 2048 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={8..63}";
        let sizes = |lines: &[&str]| -> Vec<(u64, bool)> {
            let decisions = read(lines).decisions;
            decisions.keys().map(|decision| (decision.size_bytes, decision.is_per_rank)).collect()
        };
        assert_eq!(sizes(&[CALLED, decided]), [(2048 * 16, false)]);
        let init = "n1:7:7 [0] NCCL INFO comm 0x55 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0";
        assert_eq!(sizes(&[init, decided]), [(2048 * 8, false)]);
        let other = init.replace("nRanks 8", "nRanks 4");
        // Communicators of two sizes: the call alone says which.
        assert_eq!(sizes(&[init, &other, decided]), [(2048, true)]);
        assert_eq!(sizes(&[init, &other, CALLED, decided]), [(2048 * 16, false)]);
        let without = CALLED.replace("[nranks=16] ", "");
        let job = read(&[&without, decided]);
        assert!(job.decisions.keys().all(|decision| decision.is_per_rank) && job.torn_lines == 0);
        assert!(job.calls.keys().all(|call| call.is_per_rank && call.size_bytes == 2048));
        // All others, and all of older versions, are of all ranks.
        let reduced = decided.replace("AllGather", "AllReduce");
        let old = "n1:7:7 [0] NCCL INFO AllGather: 2048 Bytes -> Algo 1 proto 2 time 43.500000";
        assert_eq!(sizes(&[&reduced]), [(2048, false)]);
        assert_eq!(sizes(&[CALLED, old]), [(2048, false)]);
    }

    #[test]
    fn communicators_say_their_nodes() {
        let line = "n1:7:7 [0] NCCL INFO comm 0x55 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0";
        let broken = "n1:7:7 [0] NCCL INFO comm 0x55 rank 0 nRanks 1 nNodes 2 localRanks 1 localRank 0 MNNVL 0";
        let scales = read(&[line, line, broken]).scales;
        assert_eq!(scales.into_iter().collect::<Vec<_>>(), [Scale { nodes: 2, ranks: 8 }]);
    }

    #[test]
    fn older_decisions_are_of_what_was_called() {
        let old = "n1:7:7 [0] NCCL INFO 65536 Bytes -> Algo 1 proto 2 time 43.500000";
        let job = read(&[CALLED, old]);
        let (decision, _) = job.decisions.into_iter().next().expect("one was printed");
        assert_eq!(
            (decision.collective, decision.configuration.to_string()),
            (Collective::AllGather, "RING/SIMPLE/0".into())
        );
        assert_eq!(read(&[old]).torn_lines, 1);
    }

    #[test]
    fn torn_lines_are_counted_and_whole_ones_read() {
        let torn = &CALLED[..CALLED.len() - 60];
        let job = read(&[&format!("{torn}{CALLED}"), &DECIDED[..DECIDED.len() - 1], &format!("{DECIDED} comm 0x1")]);
        assert_eq!((job.calls.values().sum::<u64>(), job.decisions.values().sum::<u64>(), job.torn_lines), (1, 1, 2));
    }
}
