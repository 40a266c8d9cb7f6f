//! Short files that once took minutes or gigabytes, made here so that none is kept.

use std::fmt::Write;

use collectune::{crc32::CRC32, report::link};
use flate2::{Compression, write::DeflateEncoder};

use super::archives::archive;

/// A workbook whose one sheet has these cells, and these shared texts.
fn workbook(sheet: &str, shared: &str) -> Vec<u8> {
    archive(&[
        ("xl/worksheets/sheet1.xml", format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>")),
        ("xl/sharedStrings.xml", format!("<sst>{shared}</sst>")),
    ])
}

/// A million `&` that begin no entity: some 1.4 kB.
pub fn ampersands() -> Vec<u8> {
    workbook(&format!("<row><c t=\"inlineStr\"><is><t>{}</t></is></c></row>", "&".repeat(1_000_000)), "")
}

/// One shared text of 256 KiB in 16,000 cells of the second row.
pub fn one_text_in_many_cells() -> Vec<u8> {
    let row = |cell: &str| format!("<row>{}</row>", cell.repeat(16_000));
    let sheet = row("<c><v>1</v></c>") + &row("<c t=\"s\"><v>0</v></c>");
    workbook(&sheet, &format!("<si><t>{}</t></si>", "x".repeat(256 << 10)))
}

/// The same in the first row, which are the headers.
pub fn one_text_in_many_headers() -> Vec<u8> {
    let sheet = format!("<row>{}</row>", "<c t=\"s\"><v>0</v></c>".repeat(16_000));
    workbook(&sheet, &format!("<si><t>{}</t></si>", "x".repeat(256 << 10)))
}

/// Rows with nothing but a blank cell in the last column.
pub fn wide_rows_of_nothing() -> Vec<u8> {
    let shared = "<si><t>a</t></si><si><t> </t></si>";
    let rows = "<row><c r=\"XFD1\" t=\"s\"><v>1</v></c></row>".repeat(300_000);
    // Beside other bytes, or it would be refused as too dense.
    let mut state = 1_u64;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'?' + (state >> 58) as u8)
    };
    let noise: String = (0..150_000).map(letter).collect();
    workbook(&format!("<row><c><v>{noise}</v></c></row>{rows}"), shared)
}

/// Thousands of entries that are read from one stream, by these names.
fn one_stream(name: impl Fn(u32) -> String, content: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    const ENTRIES: u32 = 4000;
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    packer.write_all(content).unwrap();
    let packed = packer.finish().unwrap();
    let sizes = [CRC32.checksum(content), packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
    let head = |name: &str| {
        let length = (name.len() as u16).to_le_bytes();
        [&b"\x14\0\0\0\x08\0\0\0\x21\0"[..], &sizes, &length, &[0, 0]].concat()
    };
    let mut bytes = [&b"PK\x03\x04"[..], &head(&name(0)), name(0).as_bytes(), &packed].concat();
    let begin = bytes.len() as u32;
    for entry in 0..ENTRIES {
        let name = name(entry);
        bytes.extend([&b"PK\x01\x02\x14\0"[..], &head(&name), &[0; 14], name.as_bytes()].concat());
    }
    let length = (bytes.len() as u32 - begin).to_le_bytes();
    let count = (ENTRIES as u16).to_le_bytes();
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &length, &begin.to_le_bytes(), &[0, 0]].concat());
    bytes
}

/// Thousands of sheets in one stream of a mebibyte: some 300 kB.
pub fn sheets_of_one_stream() -> Vec<u8> {
    let sheet = format!("<worksheet><row><c><v>{}</v></c></row></worksheet>", "x".repeat(1 << 20));
    one_stream(|entry| format!("xl/worksheets/sheet{entry}.xml"), sheet.as_bytes())
}

/// Thousands of samples in one stream.
pub fn samples_of_one_stream() -> Vec<u8> {
    let table = format!("mp,b,h,l,dim,F_dur(us),B_dur(us)\n{}", "1,1,32,2048,4096,10.5,20.5\n".repeat(40_000));
    one_stream(|entry| format!("X/operator/A100_linear{entry}_fp16.csv"), table.as_bytes())
}

/// Thousands of entries that are short and become long.
pub fn many_dense_entries() -> Vec<u8> {
    let table = format!("mp,b,h,l,dim,F_dur(us),B_dur(us)\n{}", "1,1,32,2048,4096,10.5,20.5\n".repeat(35_000));
    let entries: Vec<(String, &str)> =
        (0..1000).map(|entry| (format!("X/operator/A100_linear{entry}_fp16.csv"), table.as_str())).collect();
    archive(&entries)
}

/// A workbook one byte of which has changed.
pub fn changed() -> Vec<u8> {
    let names = ["kShortName", "ground_truth", "duration", "overlap_ratio"];
    let cells = |of: &[&str]| {
        of.iter().map(|text| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>")).collect::<String>()
    };
    let sheet = format!("<row>{}</row><row>{}</row>", cells(&names), cells(&["a", "100", "120", "0.5"]));
    let mut bytes = workbook(&sheet, "");
    // The checksum in the directory, which counts, follows 16 bytes behind the mark of the first entry.
    let entry = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    bytes[entry + 16] ^= 1;
    bytes
}

/// A dump of so many GPUs.
pub fn dump(gpus: u32) -> Vec<u8> {
    let mut text = String::from("<system version=\"1\"><cpu numaid=\"0\">");
    for gpu in 0..gpus {
        let _ = write!(text, "<pci busid=\"0000:{gpu:04x}\"><gpu dev=\"{gpu}\" gcn=\"gfx942\"/></pci>");
    }
    (text + "</cpu></system>").into_bytes()
}

/// A report as JSON with this in its one section.
fn report(section: &str) -> String {
    format!(
        "{{\"collectune_report\":1,\"workbench\":\"tuning\",\"title\":\"t\",\"sections\":[{{\"title\":\"s\",{section}}}]}}"
    )
}

/// Reports that are short and ask for much: what each is, and its JSON.
pub fn reports() -> Vec<(&'static str, String)> {
    let axes = "\"x\":[\"a\",\"number\",\"log\"],\"y\":[\"b\",\"number\",\"log\"]";
    let series =
        |name: usize| format!("{{\"name\":\"s{name}\",\"colour\":1,\"mark\":\"dots\",\"x\":[1,2],\"y\":[3,4]}}");
    let chart = |at: usize, count: usize| {
        let series: Vec<String> = (0..count).map(series).collect();
        format!("{{\"id\":\"c{at}\",\"title\":\"c\",{axes},\"series\":[{}]}}", series.join(","))
    };
    let charts =
        |count: usize| format!("\"charts\":[{}]", (0..count).map(|at| chart(at, 1)).collect::<Vec<_>>().join(","));
    let column = "{\"name\":\"a\",\"text\":[\"1\"]}";
    let table = |columns: usize| format!("{{\"id\":\"t\",\"columns\":[{}]}}", vec![column; columns].join(","));
    let tables = |count: usize| format!("\"tables\":[{}]", vec![table(1); count].join(","));
    let sections = vec!["{\"title\":\"s\",\"text\":[\"t\"]}"; 5000].join(",");
    vec![
        ("charts", report(&charts(300))),
        ("charts", report(&charts(1000))),
        ("tables", report(&tables(4000))),
        ("columns", report(&format!("\"tables\":[{}]", table(9000)))),
        ("series of a chart", report(&format!("\"charts\":[{}]", chart(0, 3000)))),
        ("series", report(&format!("\"charts\":[{}]", (0..100).map(|at| chart(at, 50)).collect::<Vec<_>>().join(",")))),
        ("sentences", report(&format!("\"text\":[{}]", vec!["\"t\""; 100_000].join(",")))),
        (
            "sections",
            format!("{{\"collectune_report\":1,\"workbench\":\"tuning\",\"title\":\"t\",\"sections\":[{sections}]}}"),
        ),
        ("files", report(&format!("\"files\":[{}]", vec!["{\"name\":\"a\",\"text\":\"b\"}"; 5000].join(",")))),
    ]
}

/// The fragment of a link with a report.
pub fn fragment(json: &str) -> String {
    link::of_json(json).fragment
}

const SWEEP: &str = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels";

/// A sweep of two sizes and two configurations.
pub fn good_sweep() -> Vec<u8> {
    let mut text = format!("{SWEEP}\n");
    for (size, tree, ring) in [(4096, 0.2, 0.3), (1 << 20, 12.0, 9.0)] {
        let _ = writeln!(text, "all_reduce_perf,2,16,{size},{tree},TREE,LL,2");
        let _ = writeln!(text, "all_reduce_perf,2,16,{size},{ring},RING,LL128,8");
    }
    text.into_bytes()
}

/// A sweep of so many scales: 2.9 MB for 60,000.
pub fn many_scales(scales: u32) -> Vec<u8> {
    let mut text = format!("{SWEEP}\n");
    for nodes in 1..=scales {
        let _ = writeln!(text, "all_reduce_perf,{nodes},{},4096,0.2,TREE,LL,2", 8 * nodes);
    }
    text.into_bytes()
}

/// A file with 999 versions of the library, others than those of other files.
pub fn many_libraries(file: u32) -> Vec<u8> {
    let mut text =
        String::from("collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels,nccl_version\n");
    for version in 0..999 {
        let _ = writeln!(text, "all_reduce_perf,2,16,4096,0.2,TREE,LL,2,2.{file}.{version}");
    }
    text.into_bytes()
}
