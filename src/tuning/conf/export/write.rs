//! Writes plans as the text of tuner files.

use super::{ConfFile, ExportInput, ExportOptions, plan::Plan};
use crate::{
    collective::Scale,
    conf::machine::Gpu,
    conf::write,
    order::CompactSort,
    text::{apart, is_control},
    tuning::{
        conf::{reader::Reader, scan::LONGEST_LINE},
        platform::{Library, Platform},
    },
    units::{Size, grouped},
};

/// The files, in the order of their scales.
pub(super) fn files(plans: &[Plan], basis: &ExportInput<'_>, options: &ExportOptions) -> Vec<ConfFile> {
    let mut scales: Vec<Scale> = plans.iter().map(|plan| plan.scale).collect();
    scales.compact_sort();
    scales.dedup();
    let carried = options.carried().map(|table| (table.of.rows.len(), table.text(options.reader)));
    let file = |scale: Option<Scale>| {
        let of_file: Vec<&Plan> = plans.iter().filter(|plan| scale.is_none_or(|scale| plan.scale == scale)).collect();
        let rules: Vec<String> = of_file
            .iter()
            .flat_map(|plan| plan.spans.iter().filter_map(|span| plan.line(span, options.reader)))
            .collect();
        let text = header(&of_file, basis, options) + &rules.iter().map(|rule| format!("{rule}\n")).collect::<String>();
        // The first match wins: after the rules, the table answers exactly where none of them does. A file of one scale
        // has all rows, as a job splits off communicators of other scales.
        let (rows, carried) = carried.as_ref().map_or((0, ""), |(rows, text)| (*rows, text.as_str()));
        ConfFile { name: file_name(options, scale), text: text + carried, rules: rules.len() + rows }
    };
    match scales[..] {
        [] if carried.is_none() => Vec::new(),
        _ if options.by_scale && !scales.is_empty() => scales.into_iter().map(|scale| file(Some(scale))).collect(),
        _ => vec![file(None)],
    }
}

/// The suggested name of a file of all scales, or of one.
pub(super) fn file_name(options: &ExportOptions, scale: Option<Scale>) -> String {
    let scale = scale.map_or_else(String::new, |Scale { nodes, ranks }| format!("_{nodes}n{ranks}r"));
    match options.reader {
        Reader::Rccl => {
            let plain = |name: &String| {
                let plain: String =
                    name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
                (!plain.is_empty()).then_some(plain)
            };
            let of_gpu = || options.gpu.filter(|gpu| matches!(gpu, Gpu::Gfx(_))).map(|gpu| gpu.to_string());
            let named = || options.named_gpu().map(|gpu| gpu.to_string());
            let architecture = named().or_else(|| options.architecture.as_ref().and_then(plain)).or_else(of_gpu);
            let architecture = architecture.unwrap_or_else(|| "gfx950".to_owned());
            format!("rccl_tuner_{architecture}{scale}.csv")
        }
        Reader::Ncclx => format!("ncclx_tuner{scale}.csv"),
        Reader::Example | Reader::DnTuner | Reader::Collectune => format!("nccl_tuner{scale}.conf"),
    }
}

/// Up to this many sweeps are named, a line each; of more, their number, the first and the last.
const MIN_SWEEPS: usize = 3;

fn header(plans: &[&Plan], basis: &ExportInput<'_>, options: &ExportOptions) -> String {
    let reader = options.reader.name();
    let mut lines = Comments(String::new());
    lines.say(concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")), &[format!("rules for {reader}")]);
    lines.say("gains", &[format!("hold at a level of {:.0} %", basis.level * 100.0)]);
    // A path may name people and machines: only the part that distinguishes the files is written.
    let names = apart(basis.names);
    match &names[..] {
        [] => {}
        few if few.len() <= MIN_SWEEPS => few.iter().for_each(|name| lines.say("sweep", &[name.to_string()])),
        [first, .., last] => {
            lines.say("sweeps", &[grouped(names.len() as u64)]);
            lines.say("the first sweep", &[first.to_string()]);
            lines.say("the last sweep", &[last.to_string()]);
        }
        [one] => lines.say("sweep", &[one.to_string()]),
    }
    if let Some(set) = basis.set {
        lines.say("measured with", &[set.to_owned()]);
    }
    lines.say("where no rule matches", &[beside_rules(options)]);
    for plan in plans {
        let kept: Vec<String> = plan.kept.iter().map(|size| Size(*size).to_string()).collect();
        if !kept.is_empty() {
            let what = if options.reader.behaviour().keeps_default {
                "default kept at"
            } else {
                "the default is as fast, but this reader can't keep it, at"
            };
            lines.say(&format!("{} on {}: {what}", plan.collective, plan.scale), &kept);
        }
        if !plan.moved.is_empty() {
            let moved: Vec<String> = plan.moved.iter().map(|(from, to)| format!("{from} to {to}")).collect();
            let what = "bytes that no whole number of bytes per rank parts from the sizes below, with which they go";
            lines.say(&format!("{} on {}: {what}", plan.collective, plan.scale), &moved);
        }
    }
    lines.0 + "# " + &write::fields(options.reader) + "\n"
}

/// What decides where no rule of the file matches.
fn beside_rules(options: &ExportOptions) -> String {
    let last = if options.reader.behaviour().keeps_default { "the library's cost model" } else { "one channel" };
    let Platform { library, gpu, .. } = options.platform();
    match (options.carried(), options.displaced()) {
        (Some(table), _) => format!("the rows of {table}'s own table at the end, then {last}"),
        (None, Some(table)) => format!("{last}; {table}'s own table is not loaded beside this file"),
        (None, None) if library == Library::Rccl && gpu.is_none() => {
            format!("{last}; whether the library has a table of its own can't be known without the GPU and the version")
        }
        (None, None) => last.to_owned(),
    }
}

/// Comment lines, each short enough for the buffers of all readers.
struct Comments(String);

impl Comments {
    /// Adds `# subject: item, item` in as many lines as needed.
    fn say(&mut self, subject: &str, items: &[String]) {
        let begin = format!("# {subject}:");
        let mut line = begin.clone();
        for (index, item) in items.iter().enumerate() {
            let comma = if index + 1 < items.len() { "," } else { "" };
            let word = format!(" {item}{comma}");
            if line.len() + word.len() > LONGEST_LINE && line != begin {
                self.push(&line);
                line.clone_from(&begin);
            }
            line += &word;
        }
        self.push(&line);
    }

    fn push(&mut self, line: &str) {
        let plain: String = line.chars().map(|c| if is_control(c) { ' ' } else { c }).collect();
        self.0 += &plain[..plain.floor_char_boundary(LONGEST_LINE)];
        self.0.push('\n');
    }
}

/// The shell lines that make a reader load a file, with comments.
pub fn loading(reader: Reader, file_name: &str) -> String {
    let conf = format!("export NCCL_TUNER_CONFIG_FILE=/absolute/path/{file_name}\n");
    let plugin = |library: &str| {
        format!(
            "# The plugin's path must be absolute: a name that can't be found falls back to the library's own tuner\n\
             # without an error. NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING shows whether it was loaded.\n\
             export NCCL_TUNER_PLUGIN=/absolute/path/{library}\n{conf}"
        )
    };
    match reader {
        Reader::Example => plugin("libnccl-tuner-example.so"),
        Reader::DnTuner => plugin("librccl-tuner.so"),
        Reader::Collectune => {
            "# cargo xtask plugin builds the plugin for NCCL 2.21 and RCCL 2.21 and later; docs/plugin.md tells the rest.\n"
                .to_owned()
                + &plugin("libnccl-tuner-collectune.so")
        }
        Reader::Ncclx => format!(
            "# NCCLX reads the file itself, and then no plugin of NCCL_TUNER_PLUGIN. A name that ends in .json would be read\n\
             # as JSON. NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING shows how many rules were loaded.\n\
             export NCCLX_TUNER_CONFIG_FILE=/absolute/path/{file_name}\n"
        ),
        Reader::Rccl => format!(
            "# RCCL from ROCm 7.13 reads the file itself where no plugin is loaded. With another architecture the name\n\
             # is rccl_tuner_<arch>.csv; rocminfo names it (gfx950 is MI350 and MI355, gfx942 is MI300).\n\
             {conf}\
             # or put it where it is looked for: tuner/ beside librccl.so, or $ROCM_PATH/share/rccl/tuner/.\n"
        ),
    }
}
