//! Schedules as traces for Perfetto and Chrome.

use std::fmt::Write as _;

use super::timeline::Timeline;
use crate::order::CompactSort;

/// A schedule as JSON in the Trace Event Format, with times in µs.
pub fn perfetto(timeline: &Timeline, label: &dyn Fn(u32) -> String) -> String {
    let us = |ticks: u64| timeline.ns(ticks) / 1000.0;
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    let mut is_first = true;
    let mut event = |event: String| {
        if !std::mem::take(&mut is_first) {
            text.push_str(",\n");
        }
        text.push_str(&event);
    };
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    for node in 0..timeline.nodes {
        let name = quoted(&format!("node {}", label(node)));
        event(format!("{{\"ph\":\"M\",\"pid\":{node},\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}"));
    }
    let mut is_critical = vec![false; timeline.len()];
    timeline.critical.iter().for_each(|index| is_critical[*index as usize] = true);
    let mut arrivals: std::collections::BTreeMap<(u32, u32), u32> = std::collections::BTreeMap::new();
    let mut all: Vec<super::timeline::TimedTransfer> = Vec::with_capacity(timeline.len());
    for (link, (from, to)) in (0..).zip(&timeline.links) {
        let name = quoted(&format!("{} to {}", label(*from), label(*to)));
        event(format!(
            "{{\"ph\":\"M\",\"pid\":{from},\"tid\":{link},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}"
        ));
        all.extend(timeline.transfers_on(link));
    }
    all.compact_sort_by_key(|sent| (sent.start, sent.link));
    let mut changes: Vec<(u64, i64)> = Vec::with_capacity(2 * all.len());
    for sent in &all {
        let (from, to) = timeline.links[sent.link as usize];
        let (chunk, index) = (sent.chunk, sent.index);
        let mut args =
            format!("\"chunk\":{chunk},\"start_ns\":{},\"end_ns\":{}", timeline.ns(sent.start), timeline.ns(sent.end));
        if let Some(slack) = timeline.slack.get(index as usize) {
            let _ = write!(args, ",\"slack_ns\":{},\"critical\":{}", timeline.ns(*slack), is_critical[index as usize]);
        }
        let kind = if sent.start < timeline.reduced_by { "reduce" } else { "copy" };
        event(format!(
            "{{\"ph\":\"X\",\"pid\":{from},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"c{chunk} {from}>{to}\",\"cat\":\"{kind}\",\"args\":{{{args}}}}}",
            sent.link,
            us(sent.start),
            us(sent.end - sent.start),
        ));
        if let Some(before) = arrivals.get(&(from, chunk)) {
            // An arrow leads from the transfer that brought a chunk to the one that forwards it.
            let before = timeline.transfer(*before);
            let sender = timeline.links[before.link as usize].0;
            event(format!(
                "{{\"ph\":\"s\",\"id\":{index},\"pid\":{sender},\"tid\":{},\"ts\":{},\"name\":\"c{chunk}\",\"cat\":\"chunk\"}}",
                before.link,
                us(before.start + (before.end - before.start) / 2),
            ));
            event(format!(
                "{{\"ph\":\"f\",\"bp\":\"e\",\"id\":{index},\"pid\":{from},\"tid\":{},\"ts\":{},\"name\":\"c{chunk}\",\"cat\":\"chunk\"}}",
                sent.link,
                us(sent.start),
            ));
        }
        arrivals.insert((to, chunk), index);
        changes.push((sent.start, 1));
        changes.push((sent.end, -1));
    }
    changes.compact_sort();
    let (mut busy, mut arrived) = (0, 0);
    for same in changes.chunk_by(|a, b| a.0 == b.0) {
        busy += same.iter().map(|(_, change)| change).sum::<i64>();
        arrived += same.iter().filter(|(_, change)| *change < 0).count();
        let (time, missing) = (us(same[0].0), all.len() - arrived);
        event(format!(
            "{{\"ph\":\"C\",\"pid\":0,\"ts\":{time},\"name\":\"busy links\",\"args\":{{\"links\":{busy}}}}}"
        ));
        event(format!(
            "{{\"ph\":\"C\",\"pid\":0,\"ts\":{time},\"name\":\"to be sent\",\"args\":{{\"transfers\":{missing}}}}}"
        ));
    }
    text + "\n]}\n"
}
