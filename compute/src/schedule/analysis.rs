//! The critical path of a schedule and the slack of its transfers.

use super::{
    graph::Graph,
    plan::{Schedule, Transfer},
};

/// The critical path of a schedule and the slack of each transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// By how many ticks each transfer could end later without delaying the end of the schedule, in the order of its
    /// transfers.
    pub slack: Vec<u64>,
    /// Indices of the transfers on the critical path, from the first to the last. Each begins when the one before ends,
    /// because the link becomes free or the chunk arrives; or later, where the schedule leaves a gap.
    pub critical: Vec<u32>,
}

/// The indices of the transfers by start; those that reduce come before those that copy.
pub(super) fn by_start(schedule: &Schedule) -> Vec<u32> {
    let mut order: Vec<u32> = (0..schedule.transfers.len() as u32).collect();
    let (reducing, copying) = order.split_at_mut(schedule.reducing.min(schedule.transfers.len()));
    reducing.sort_by_cached_key(|index| schedule.transfers[*index as usize].start);
    copying.sort_by_cached_key(|index| schedule.transfers[*index as usize].start);
    order
}

/// Computes critical path and slack of a valid schedule with `chunks` chunks.
pub fn analyse(graph: &Graph, schedule: &Schedule, chunks: usize) -> Analysis {
    const NONE: u32 = u32::MAX;
    let transfers = &schedule.transfers[..];
    let ends = |transfer: &Transfer| graph.links()[transfer.link as usize];
    let order = by_start(schedule);
    let place = |node: u32, chunk: u32| node as usize * chunks + chunk as usize;
    let mut before_on_link = vec![NONE; transfers.len()];
    let mut brought_by = vec![NONE; transfers.len()];
    let mut last_on_link = vec![NONE; graph.links().len()];
    let mut arrived = vec![NONE; graph.nodes() * chunks];
    for &index in &order {
        let transfer = &transfers[index as usize];
        let link = ends(transfer);
        before_on_link[index as usize] = std::mem::replace(&mut last_on_link[transfer.link as usize], index);
        brought_by[index as usize] = arrived[place(link.from, transfer.chunk)];
        let there = &mut arrived[place(link.to, transfer.chunk)];
        // A sum is complete with its last arrival; a copy has one transfer that brings it.
        let is_later = *there == NONE || transfers[*there as usize].end(graph) <= transfer.end(graph);
        if is_later || index as usize >= schedule.reducing {
            *there = index;
        }
    }
    let end = schedule.end(graph);
    let mut latest_on_link = vec![end; graph.links().len()];
    let mut latest_of_chunk = vec![end; graph.nodes() * chunks];
    let mut slack = vec![0; transfers.len()];
    for &index in order.iter().rev() {
        let transfer = &transfers[index as usize];
        let link = ends(transfer);
        let latest = latest_on_link[transfer.link as usize].min(latest_of_chunk[place(link.to, transfer.chunk)]);
        slack[index as usize] = latest.saturating_sub(transfer.end(graph));
        let begin = latest.saturating_sub(link.duration);
        latest_on_link[transfer.link as usize] = begin;
        let of_chunk = &mut latest_of_chunk[place(link.from, transfer.chunk)];
        *of_chunk = begin.min(*of_chunk);
    }
    let mut critical = Vec::new();
    let mut at = order.iter().copied().max_by_key(|index| transfers[*index as usize].end(graph));
    while let Some(index) = at
        && critical.len() <= transfers.len()
    {
        critical.push(index);
        let start = transfers[index as usize].start;
        let known = |other: u32| (other != NONE).then(|| (other, transfers[other as usize].end(graph)));
        let (link, chunk) = (known(before_on_link[index as usize]), known(brought_by[index as usize]));
        let exact = [link, chunk].into_iter().flatten().find(|(_, end)| *end == start);
        // In a schedule with gaps no transfer ends exactly then: continue from the later of the two predecessors.
        let later = [link, chunk].into_iter().flatten().max_by_key(|(_, end)| *end);
        at = exact.or(later).map(|(other, _)| other);
    }
    critical.reverse();
    Analysis { slack, critical }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slack and critical path of two chunks that go along a line, over a link of two ticks and one of three.
    fn along_a_line(transfers: &[(u32, u32, u64)]) -> (Vec<u64>, Vec<u32>) {
        let Analysis { slack, critical } =
            analyse(&Graph::of_durations(3, &[(0, 1, 2), (1, 2, 3)]), &Schedule::of(transfers, 0), 2);
        (slack, critical)
    }

    #[test]
    fn the_critical_path_goes_back_from_the_last_arrival_over_links_and_chunks() {
        // The second link is busy with chunk 0 until tick 5, so that chunk 1 could be there one tick later.
        let tight = [(1, 1, 5), (0, 1, 2), (1, 0, 2), (0, 0, 0)];
        assert_eq!(along_a_line(&tight), (vec![0, 1, 0, 0], vec![3, 2, 0]));
    }

    #[test]
    fn across_a_gap_the_path_goes_on_with_what_ended_last() {
        // Chunk 1 is sent on one tick after both have ended: the link with chunk 0, and its own arrival at tick 4.
        let on_link = [(0, 0, 0), (0, 1, 2), (1, 0, 2), (1, 1, 6)];
        assert_eq!(along_a_line(&on_link), (vec![1, 2, 1, 0], vec![0, 2, 3]));
        // Now it arrives after the link became free.
        let of_chunk = [(0, 0, 0), (0, 1, 4), (1, 0, 2), (1, 1, 7)];
        assert_eq!(along_a_line(&of_chunk), (vec![2, 1, 2, 0], vec![0, 1, 3]));
    }

    #[test]
    fn a_sum_is_sent_on_after_its_last_part_and_a_copy_after_its_arrival() {
        // Nodes 1 and 2 add to node 0 what node 3 is to have; the quicker part comes later, and is there earlier. Then
        // node 3 sends the sum back to node 0, and this to node 1.
        let graph = Graph::of_durations(4, &[(1, 0, 2), (2, 0, 5), (0, 3, 1), (3, 0, 1), (0, 1, 2)]);
        let sum = Schedule::of(&[(0, 0, 1), (1, 0, 0), (2, 0, 5), (3, 0, 6), (4, 0, 7)], 3);
        let expected = Analysis { slack: vec![2, 0, 0, 0, 0], critical: vec![1, 2, 3, 4] };
        assert_eq!(analyse(&graph, &sum, 1), expected);
    }

    #[test]
    fn all_that_reduces_comes_before_all_that_copies() {
        let mixed = [(0, 0, 5), (0, 0, 3), (0, 0, 4), (0, 0, 0)];
        assert_eq!(by_start(&Schedule::of(&mixed, 2)), [1, 0, 3, 2]);
        assert_eq!(by_start(&Schedule::of(&mixed, 9)), [3, 1, 2, 0], "more reduce than there are");
    }
}
