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

use crate::{
    collective::{Algorithm, Collective, Protocol},
    tuning::job::{Cost, CostTable},
};

/// Collects the tables of a log.
#[derive(Debug, Default)]
pub(super) struct CostReader {
    tables: Vec<CostTable>,
    table: CostTable,
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
                let Some(collective) = Collective::parse(name) else { return Some(()) };
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
                self.add(costs, ranks);
            }
        }
        Some(())
    }

    fn add(&mut self, costs: Vec<Cost>, ranks: Option<u32>) {
        let same =
            |a: &Cost, b: &Cost| (a.collective, a.algorithm, a.protocol) == (b.collective, b.algorithm, b.protocol);
        if costs.iter().any(|cost| self.table.costs.iter().any(|known| same(known, cost))) {
            self.close();
        }
        self.table.ranks = ranks;
        self.table.costs.extend(costs);
    }

    fn close(&mut self) {
        /// More tables than any log has communicators of different sizes.
        const MAX: usize = 64;
        let table = std::mem::take(&mut self.table);
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
