//! Profiles of training steps in SQLite: what `nsys export --type sqlite` writes, and rocprofv3's `rocpd`.
//!
//! Steps are ranges of NVTX or ROCTx ([`ranges`](super::ranges)). Neither profiler records the sizes of collectives.
//!
//! Sources: NVIDIA's *SQLite Export Schema Reference*; ROCm's `rocpd_tables.sql` and `data_views.sql`
//! (rocprofiler-sdk, source/share/rocprofiler-sdk-rocpd).

use super::{
    Trace, TraceError,
    events::{self, Events},
    kernels::KernelClass,
    ranges::Ranges,
};
use crate::{
    order::CompactSort,
    sqlite::{Database, Table, Value},
};

/// What is kept of one process.
#[derive(Default)]
struct Process {
    events: Events,
    ranges: Ranges,
    /// The GPU of its first kernel.
    device: Option<i64>,
    has_several_devices: bool,
}

/// The processes of a profile, with their number in it.
type Processes = Vec<(i64, Process)>;

/// The values of a table by the numbers of its rows, ascending.
struct Numbered<T>(Vec<(i64, T)>);

impl<T> Numbered<T> {
    fn of(mut all: Vec<(i64, T)>) -> Self {
        all.compact_sort_by(|a, b| a.0.cmp(&b.0));
        Self(all)
    }

    fn get(&self, number: i64) -> Option<&T> {
        let place = self.0.binary_search_by(|(known, _)| known.cmp(&number)).ok()?;
        Some(&self.0[place].1)
    }
}

/// The most processes of a profile: those of a node.
const MOST_PROCESSES: usize = 256;

/// Reads a profile: a trace of each process that ran kernels.
///
/// # Errors
/// Returns an error if the bytes are no profile of Nsight Systems or rocprofv3, or none of its processes has kernels of
/// one GPU in marked steps.
pub fn read(bytes: &[u8]) -> Result<Vec<Trace>, TraceError> {
    let database = Database::open(bytes)?;
    let (processes, gpu) = if let Some(kernels) = database.table("CUPTI_ACTIVITY_KIND_KERNEL") {
        let launches = graph_launches(&database)?;
        if launches > 0 {
            return Err(TraceError::Graphs(launches));
        }
        (nsight(&database, kernels)?, names(&database, "TARGET_INFO_GPU", "name", None)?)
    } else if let Some((dispatches, suffix)) = named(&database, "rocpd_kernel_dispatch").next() {
        // A file of several jobs that were merged has the tables of each.
        if named(&database, "rocpd_kernel_dispatch").count() > 1 {
            return Err(TraceError::SeveralRanks);
        }
        let agents = format!("rocpd_info_agent{suffix}");
        (rocpd(&database, dispatches, suffix)?, names(&database, &agents, "product_name", Some(("type", "GPU")))?)
    } else if database.tables.iter().any(|table| table.name == "StringIds" || table.name.starts_with("rocpd_")) {
        return Err(TraceError::NoKernelTable);
    } else {
        return Err(TraceError::OtherDatabase);
    };
    let mut traces = Vec::new();
    let mut errors: Vec<(TraceError, u64)> = Vec::new();
    for (_, process) in processes.into_iter().filter(|(_, process)| process.events.has_kernels()) {
        match trace(process) {
            Ok(found) => traces.push(Trace { gpu: gpu.clone(), ..found }),
            Err(error) => match errors.iter_mut().find(|(known, _)| *known == error) {
                Some((_, processes)) => *processes += 1,
                None => errors.push((error, 1)),
            },
        }
    }
    match traces.first_mut() {
        Some(first) => {
            let words = |(error, processes): &(TraceError, u64)| {
                let those = if *processes == 1 { "process, which" } else { "processes, each of which" };
                format!("{processes} {those} by itself {error}")
            };
            first.left_out.extend(errors.iter().map(words));
            Ok(traces)
        }
        None => Err(errors.into_iter().next().map_or(TraceError::NoKernelTable, |(error, _)| error)),
    }
}

fn trace(mut process: Process) -> Result<Trace, TraceError> {
    if process.has_several_devices {
        return Err(TraceError::SeveralRanks);
    }
    process.ranges.add_embeddings(&mut process.events);
    let marked = process.ranges.steps().ok_or(TraceError::NoRange)?;
    process.events.steps = marked.steps;
    Ok(Trace { steps_by: Some(marked.by), ..process.events.trace()? })
}

/// The start and end in µs of an event, of which the profilers store both in ns.
fn times(start: &Value<'_>, end: &Value<'_>) -> Option<(f64, f64)> {
    let (start_ns, end_ns) = (start.integer()?, end.integer()?);
    events::times(Some(start_ns as f64 / 1e3), Some(end_ns.checked_sub(start_ns)? as f64 / 1e3))
}

/// Adds a kernel to its process.
fn add_kernel(processes: &mut Processes, number: i64, device: i64, name: Option<&String>, times: Option<(f64, f64)>) {
    let Some(process) = process(processes, number) else { return };
    // Its name alone says what a kernel does.
    let Some((name, times)) = name.zip(times) else { return process.events.add_broken() };
    if process.events.add_kernel(name, times) == KernelClass::Communication {
        process.events.calls.add_without_size();
    }
    process.has_several_devices |= *process.device.get_or_insert(device) != device;
}

fn process(processes: &mut Processes, number: i64) -> Option<&mut Process> {
    let place = match processes.iter().position(|(known, _)| *known == number) {
        Some(place) => place,
        None if processes.len() < MOST_PROCESSES => {
            processes.push((number, Process::default()));
            processes.len() - 1
        }
        None => return None,
    };
    Some(&mut processes[place].1)
}

/// The texts of a column by the numbers of another one; none where the database lacks the table.
fn texts(database: &Database<'_>, table: Option<&Table>, columns: [&str; 2]) -> Result<Numbered<String>, TraceError> {
    let mut all = Vec::new();
    if let Some(table) = table {
        database.rows(table, &columns, &mut |row| {
            if let (Some(number), Some(text)) = (row[0].integer(), row[1].text()) {
                all.push((number, text.to_owned()));
            }
        })?;
    }
    Ok(Numbered::of(all))
}

/// The value of a column of the rows that have `only`, where all of them have the same.
fn names(
    database: &Database<'_>,
    table: &str,
    column: &str,
    only: Option<(&str, &str)>,
) -> Result<Option<String>, TraceError> {
    let Some(table) = database.table(table) else { return Ok(None) };
    let mut found: Vec<String> = Vec::new();
    let key = only.map_or(column, |(key, _)| key);
    database.rows(table, &[column, key], &mut |row| {
        let is_meant = only.is_none_or(|(_, value)| row[1].text() == Some(value));
        if let Some(name) = row[0].text().filter(|name| is_meant && !name.is_empty())
            && !found.iter().any(|known| known == name)
            && found.len() < 2
        {
            found.push(name.to_owned());
        }
    })?;
    Ok(found.pop().filter(|_| found.is_empty()))
}

/// The launches of CUDA graphs whose kernels were not traced one by one.
fn graph_launches(database: &Database<'_>) -> Result<u64, TraceError> {
    let mut launches = 0;
    if let Some(graphs) = database.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") {
        database.rows(graphs, &[], &mut |_| launches += 1)?;
    }
    Ok(launches)
}

/// The processes of a profile of Nsight Systems. The upper bits of a thread's number are its process.
fn nsight(database: &Database<'_>, kernels: &Table) -> Result<Processes, TraceError> {
    const THREAD_BITS: u32 = 24;
    /// `NvtxPushPopRange` and `NvtxStartEndRange` of `eventType`.
    const RANGES: [i64; 2] = [59, 60];
    let strings = texts(database, database.table("StringIds"), ["id", "value"])?;
    let mut processes = Processes::new();
    let name = if kernels.has("demangledName") { "demangledName" } else { "shortName" };
    database.rows(kernels, &["start", "end", name, "globalPid", "deviceId"], &mut |row| {
        let name = row[2].integer().and_then(|name| strings.get(name));
        let number = row[3].integer().unwrap_or(0) >> THREAD_BITS;
        add_kernel(&mut processes, number, row[4].integer().unwrap_or(0), name, times(&row[0], &row[1]));
    })?;
    if let Some(table) = database.table("NVTX_EVENTS") {
        database.rows(table, &["start", "end", "text", "textId", "globalTid", "eventType"], &mut |row| {
            let name = row[2].text().or_else(|| Some(strings.get(row[3].integer()?)?.as_str()));
            let is_range = row[5].integer().is_none_or(|kind| RANGES.contains(&kind));
            let thread = row[4].integer().unwrap_or(0);
            if let (Some(name), Some(times), true) = (name, times(&row[0], &row[1]), is_range) {
                // Only where kernels are told by their process, ranges are.
                let number = if kernels.has("globalPid") { thread >> THREAD_BITS } else { 0 };
                if let Some(process) = process(&mut processes, number) {
                    process.ranges.add(name, thread, times);
                }
            }
        })?;
    }
    Ok(processes)
}

/// The tables of `rocpd` with this name, which ends in the number of the profile.
fn named<'d>(database: &'d Database<'_>, name: &'d str) -> impl Iterator<Item = (&'d Table, &'d str)> {
    let tables = database.tables.iter().filter_map(move |table| Some((table, table.name.strip_prefix(name)?)));
    tables.filter(|(_, suffix)| suffix.is_empty() || suffix.starts_with('_'))
}

/// The process of a profile of rocprofv3.
fn rocpd(database: &Database<'_>, dispatches: &Table, suffix: &str) -> Result<Processes, TraceError> {
    let table = |name: &str| database.table(&format!("{name}{suffix}"));
    let symbols = texts(database, table("rocpd_info_kernel_symbol"), ["id", "display_name"])?;
    // The text of a range stands in its event, as JSON.
    let messages = texts(database, table("rocpd_event"), ["id", "extdata"])?;
    let clock = Clock::read(database, table("rocpd_timestamp"))?;
    let columns = clock.columns();
    let mut processes = Processes::new();
    // From version 4 of the schema on, a track has what told the process and the GPU of a dispatch.
    let has_device = dispatches.has("agent_id");
    let key = ["agent_id", "track_id"][usize::from(!has_device)];
    let devices = match (has_device, table("rocpd_track")) {
        (false, Some(tracks)) => numbers(database, tracks, ["id", "agent_id"])?,
        _ => Numbered::of(Vec::new()),
    };
    database.rows(dispatches, &[columns[0], columns[1], "kernel_id", key], &mut |row| {
        let name = row[2].integer().and_then(|kernel| symbols.get(kernel));
        let device = row[3].integer().unwrap_or(0);
        let device = if has_device { device } else { devices.get(device).copied().unwrap_or(0) };
        add_kernel(&mut processes, 0, device, name, clock.times(&row[0], &row[1]));
    })?;
    if let Some(regions) = table("rocpd_region") {
        let thread = if regions.has("tid") { "tid" } else { "track_id" };
        database.rows(regions, &[columns[0], columns[1], "event_id", thread], &mut |row| {
            let message = row[2].integer().and_then(|event| messages.get(event)).and_then(|text| message(text));
            if let (Some(name), Some(times)) = (message, clock.times(&row[0], &row[1]))
                && let Some(process) = process(&mut processes, 0)
            {
                process.ranges.add(&name, row[3].integer().unwrap_or(0), times);
            }
        })?;
    }
    Ok(processes)
}

/// The text of a range: `{"message": "step 3"}`.
fn message(extra: &str) -> Option<String> {
    let extra: serde_json::Value = serde_json::from_str(extra).ok()?;
    extra["message"].as_str().map(str::to_owned)
}

/// The numbers of a column by those of another one.
fn numbers(database: &Database<'_>, table: &Table, columns: [&str; 2]) -> Result<Numbered<i64>, TraceError> {
    let mut all = Vec::new();
    database.rows(table, &columns, &mut |row| {
        all.extend(row[0].integer().zip(row[1].integer()));
    })?;
    Ok(Numbered::of(all))
}

/// Where the times of `rocpd` stand: in the row, or, from version 4 of its schema on, in a table of their own.
struct Clock {
    stamps: Option<Numbered<i64>>,
}

impl Clock {
    fn read(database: &Database<'_>, stamps: Option<&Table>) -> Result<Self, TraceError> {
        Ok(Self { stamps: stamps.map(|table| numbers(database, table, ["id", "value"])).transpose()? })
    }

    fn columns(&self) -> [&'static str; 2] {
        if self.stamps.is_some() { ["start_id", "end_id"] } else { ["start", "end"] }
    }

    fn times(&self, start: &Value<'_>, end: &Value<'_>) -> Option<(f64, f64)> {
        let Some(stamps) = &self.stamps else { return times(start, end) };
        let of = |id: &Value<'_>| id.integer().and_then(|id| stamps.get(id)).map(|stamp| Value::Integer(*stamp));
        times(&of(start)?, &of(end)?)
    }
}
