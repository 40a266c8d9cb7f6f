//! The library's own tables of latency and bandwidth (NCCL, src/graph/tuning.cc).
//!
//! ```text
//!   Algorithm   |                  Tree                     |  …
//!   Protocol    |             LL |          LL128 |         Simple | …
//!  Max NThreads |            512 |            640 |            512 | …
//!     AllReduce |     9.6/   3.0 |    18.1/  15.4 |    61.3/  24.0 | …
//! ```
//!
//! Newer versions print blocks of some algorithms each; older ones one block whose header has both names
//! (`Latency/AlgBw |    Tree/    LL | …`).
//!
//! RCCL prints its rows in the order of the enum and names them from an alphabetical list, so that its row `Reduce` is
//! AllReduce: see [`RCCL_LABELS`].

use crate::{
    collective::{Algorithm, Collective, Protocol},
    tuning::job::{Cost, CostTable},
};

/// The names that RCCL prints, from the first row to the last, and the collectives whose costs stand there
/// (ROCm/rccl, src/graph/tuning.cc: `ncclFuncStr` has one more name than the table has rows, in another order).
const RCCL_LABELS: [(&str, Collective); 5] = [
    ("AllGather", Collective::Broadcast),
    ("AllReduce", Collective::Reduce),
    ("AllToAllPivot", Collective::AllGather),
    ("Broadcast", Collective::ReduceScatter),
    ("Reduce", Collective::AllReduce),
];
/// The name that tables of NCCL do not have.
const RCCL_ONLY: &str = "AllToAllPivot";
/// The name that tables of RCCL do not have.
const NCCL_ONLY: &str = "ReduceScatter";

/// Collects the tables of a log.
#[derive(Debug, Default)]
pub(super) struct CostReader {
    tables: Vec<CostTable>,
    table: CostTable,
    /// The names of the current table's rows, from its first block's first row on.
    labels: Vec<String>,
    algorithms: Vec<Option<Algorithm>>,
    /// The columns of the current block; `None` where a name is not known.
    columns: Vec<Option<(Algorithm, Protocol)>>,
}

impl CostReader {
    /// Takes a line with bars; `None` where it belongs to such a table and can't be understood.
    pub(super) fn line(&mut self, text: &str, ranks: Option<u32>) -> Option<()> {
        let mut cells: Vec<&str> = text.split('|').map(str::trim).collect();
        if cells.last().is_some_and(|cell| cell.is_empty()) {
            cells.pop();
        }
        let (label, cells) = cells.split_first()?;
        match *label {
            "Algorithm" => self.algorithms = cells.iter().map(|name| Algorithm::parse(name)).collect(),
            "Protocol" => {
                self.columns.clear();
                let each = cells.len() / self.algorithms.len().max(1);
                for (algorithm, protocols) in self.algorithms.iter().zip(cells.chunks(each.max(1))) {
                    self.columns.extend(protocols.iter().map(|name| Some(((*algorithm)?, Protocol::parse(name)?))));
                }
            }
            "Latency/AlgBw" => {
                self.columns.clear();
                self.columns.extend(cells.iter().map(|names| {
                    let (algorithm, protocol) = names.split_once('/')?;
                    Some((Algorithm::parse(algorithm)?, Protocol::parse(protocol)?))
                }));
            }
            name => {
                let collective = if name == RCCL_ONLY { Some(Collective::AllToAll) } else { Collective::parse(name) };
                let Some(collective) = collective else { return Some(()) };
                if cells.len() != self.columns.len() {
                    return None;
                }
                let costs: Vec<Option<(f64, f64)>> = cells.iter().map(|cell| pair(cell)).collect();
                if costs.iter().any(Option::is_none) {
                    return None;
                }
                let costs = self.columns.iter().zip(costs.into_iter().flatten()).filter_map(|(column, cost)| {
                    let (algorithm, protocol) = (*column)?;
                    Some(Cost { collective, algorithm, protocol, latency_us: cost.0, algbw_gbps: cost.1 })
                });
                let costs: Vec<Cost> = costs.filter(|cost| cost.algbw_gbps > 0.0).collect();
                self.add(name, costs, ranks);
            }
        }
        Some(())
    }

    fn add(&mut self, label: &str, costs: Vec<Cost>, ranks: Option<u32>) {
        let same =
            |a: &Cost, b: &Cost| (a.collective, a.algorithm, a.protocol) == (b.collective, b.algorithm, b.protocol);
        if costs.iter().any(|cost| self.table.costs.iter().any(|known| same(known, cost))) {
            self.close();
        }
        if !self.labels.iter().any(|known| known == label) {
            self.labels.push(label.to_owned());
        }
        self.table.ranks = ranks;
        self.table.costs.extend(costs);
    }

    fn close(&mut self) {
        /// More tables than any log has communicators of different sizes.
        const MAX: usize = 64;
        let mut table = std::mem::take(&mut self.table);
        let labels = std::mem::take(&mut self.labels);
        let has = |name: &str| labels.iter().any(|label| label == name);
        // A row may be torn: without the two names that only one library has, RCCL's table is the one that begins with
        // the first name of the alphabet.
        let is_rccl = has(RCCL_ONLY) || (!has(NCCL_ONLY) && labels.first().is_some_and(|label| label == "AllGather"));
        if is_rccl {
            for cost in &mut table.costs {
                let position = RCCL_LABELS.iter().find(|(label, _)| match *label {
                    RCCL_ONLY => cost.collective == Collective::AllToAll,
                    label => Collective::parse(label) == Some(cost.collective),
                });
                cost.collective = position.map_or(cost.collective, |(_, collective)| *collective);
            }
        }
        if !table.costs.is_empty() && !self.tables.contains(&table) && self.tables.len() < MAX {
            self.tables.push(table);
        }
    }

    /// The tables, equal ones once.
    pub(super) fn finish(mut self) -> Vec<CostTable> {
        self.close();
        self.tables
    }
}

/// Reads a cell such as `9.6/ 3.0`: latency in µs and bandwidth in GB/s.
fn pair(cell: &str) -> Option<(f64, f64)> {
    let (latency, bandwidth) = cell.split_once('/')?;
    Some((crate::text::number(latency)?, crate::text::number(bandwidth)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> (Vec<CostTable>, usize) {
        let mut reader = CostReader::default();
        let torn = lines.iter().filter(|line| reader.line(line, Some(8)).is_none()).count();
        (reader.finish(), torn)
    }

    const BLOCKS: [&str; 8] = [
        "  Algorithm   |                            Tree                  |                            Ring                  |",
        "  Protocol    |             LL |          LL128 |         Simple |             LL |          LL128 |         Simple |",
        " Max NThreads |            512 |            640 |            512 |            512 |            640 |            256 |",
        "    Broadcast |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     6.3/   3.5 |    14.0/   0.0 |    20.0/  24.0 |",
        "    AllReduce |     9.6/   3.0 |    18.1/  15.4 |    61.3/  24.0 |    10.0/   2.5 |    19.0/  18.0 |    30.0/  24.0 |",
        "  Algorithm   |                            NVLS                  |",
        "  Protocol    |             LL |          LL128 |         Simple |",
        "    AllReduce |     0.0/   0.0 |     0.0/   0.0 |    25.0/ 140.0 |",
    ];

    #[test]
    fn blocks_are_one_table() {
        let (tables, torn) = read(&BLOCKS);
        assert_eq!((tables.len(), torn, tables[0].ranks), (1, 0, Some(8)));
        assert_eq!(tables[0].costs.len(), 2 + 6 + 1);
        let last = tables[0].costs.last().expect("there are costs");
        assert_eq!((last.algorithm, last.protocol, last.algbw_gbps), (Algorithm::Nvls, Protocol::Simple, 140.0));
        assert_eq!(read(&[BLOCKS, BLOCKS].concat()).0, tables);
    }

    #[test]
    fn rows_of_rccl_are_read_by_position() {
        let header = ["Algorithm | Tree |", "Protocol | LL | LL128 | Simple |"];
        let rows = ["AllGather", "AllReduce", "AllToAllPivot", "Broadcast", "Reduce"];
        let lines: Vec<String> = header
            .map(str::to_owned)
            .into_iter()
            .chain((1..).zip(rows).map(|(n, row)| format!("{row} | {n}.0/ 1.0 | {n}.0/ 1.0 | {n}.0/ 1.0 |")))
            .collect();
        let read_all = |lines: &[String]| read(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let latencies = |tables: &[CostTable]| -> Vec<(Collective, f64)> {
            let costs = tables.iter().flat_map(|table| &table.costs);
            costs.filter(|c| c.protocol == Protocol::Ll).map(|cost| (cost.collective, cost.latency_us)).collect()
        };
        use Collective::{AllGather, AllReduce, Broadcast, Reduce, ReduceScatter};
        let all = [(Broadcast, 1.0), (Reduce, 2.0), (AllGather, 3.0), (ReduceScatter, 4.0), (AllReduce, 5.0)];
        let (tables, torn) = read_all(&[&lines[..], &lines[..]].concat());
        assert_eq!((latencies(&tables), tables.len(), torn), (all.to_vec(), 1, 0));
        // Without the row that only RCCL names.
        let mut torn_lines = lines.clone();
        torn_lines.remove(4);
        let four: Vec<_> = all.into_iter().filter(|(collective, _)| *collective != AllGather).collect();
        assert_eq!(latencies(&read_all(&torn_lines).0), four);
        // Names of NCCL are right.
        let nccl: Vec<String> = lines.iter().map(|line| line.replace("AllToAllPivot", "ReduceScatter")).collect();
        assert_eq!(latencies(&read_all(&nccl).0)[2], (ReduceScatter, 3.0));
    }

    #[test]
    fn the_older_header_has_both_names() {
        let (tables, torn) = read(&[
            "Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Ring/Simple |",
            " Max NThreads |            512 |            640 |            512 |",
            "    AllReduce |     9.6/   3.0 |    18.1/   0.0 |    61.3/  24.0 |",
            "       Reduce |     9.6/   3.0 |    18.1/",
        ]);
        assert_eq!((tables.len(), tables[0].costs.len(), torn), (1, 2, 1));
    }
}
