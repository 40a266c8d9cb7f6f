//! Metrics of Nsight Compute: `ncu --csv` prints a row for each metric of each launch (`--page details`, its default,
//! or `--metrics`).

use crate::{
    overlap::{
        read::{KernelTable, Metric, STANDARD},
        sheet::Sheet,
    },
    text::{Problem, Problems, number},
};

/// A launch whose metrics are being collected.
struct CollectedLaunch {
    id: String,
    metric: Metric,
}

/// Reads the rows; launches that lack one of the metrics that others have are left out. Returns an error if a needed
/// column is missing; the error completes a sentence that begins with the name of the file.
pub fn metrics(sheet: &Sheet, problems: Problems) -> Result<KernelTable, String> {
    let needed = |name: &'static str| sheet.find(&[name]).ok_or_else(|| format!("lacks the column {name}"));
    let [id, name, metric, value] =
        [needed("ID")?, needed("Kernel Name")?, needed("Metric Name")?, needed("Metric Value")?];
    let unit = sheet.find(&["Metric Unit"]);
    let mut reading = KernelTable { problems, ..KernelTable::default() };
    let mut launches: Vec<CollectedLaunch> = Vec::new();
    for row in sheet.rows() {
        let Some(column) = standard(row.get(metric)) else { continue };
        // Of a section's two throughputs, one is in per cent and the other in bytes per second.
        if unit.is_some_and(|unit| !matches!(row.get(unit), "%" | "")) {
            continue;
        }
        let Some(value) = printed(row.get(value)) else {
            let text = "is not a number; the metric was left out";
            reading.problems.push(Problem::new(row.line(), "Metric Value", row.get(value), text));
            continue;
        };
        if launches.last().is_none_or(|launch| launch.id != row.get(id)) {
            let metric = Metric {
                name: short(row.get(name)).to_owned(),
                line: row.line(),
                values: vec![f64::NAN; STANDARD.len()],
            };
            launches.push(CollectedLaunch { id: row.get(id).to_owned(), metric });
        }
        if let Some(launch) = launches.last_mut()
            && launch.metric.values[column].is_nan()
        {
            launch.metric.values[column] = value;
        }
    }
    let has = |column: &usize| launches.iter().any(|launch| !launch.metric.values[*column].is_nan());
    let kept: Vec<usize> = (0..STANDARD.len()).filter(has).collect();
    if kept.is_empty() {
        return Err("has none of the metrics of throughput, occupancy and hit rates; profile with \
                    --section SpeedOfLight --section Occupancy --section MemoryWorkloadAnalysis"
            .to_owned());
    }
    reading.columns = kept.iter().map(|column| STANDARD[*column].0.to_owned()).collect();
    for CollectedLaunch { mut metric, .. } in launches {
        metric.values = kept.iter().map(|column| metric.values[*column]).collect();
        match metric.values.iter().position(|value| value.is_nan()) {
            None => reading.metrics.push(metric),
            Some(lacking) => {
                let text = format!("has no {}; the kernel was left out", reading.columns[lacking]);
                reading.problems.push(Problem::new(metric.line, "", &metric.name, text));
            }
        }
    }
    Ok(reading)
}

/// A number as the profiler prints it: commas part thousands, unless what follows them shows that it prints them in
/// place of the point (`36,55`).
fn printed(text: &str) -> Option<f64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let parts_thousands = whole.split(',').skip(1).all(|group| group.len() == 3);
    if parts_thousands && !decimals.contains(',') {
        return number(&text.replace(',', ""));
    }
    // Points part thousands there: `1.234,5`.
    let (whole, decimals) = text.split_once(',')?;
    let is_whole = whole.split('.').skip(1).all(|group| group.len() == 3) && !decimals.contains(['.', ',']);
    if is_whole { number(&format!("{}.{decimals}", whole.replace('.', ""))) } else { None }
}

fn standard(metric: &str) -> Option<usize> {
    STANDARD.iter().position(|(_, names)| names.iter().any(|name| metric.eq_ignore_ascii_case(name)))
}

/// A kernel's name without what it returns, its namespaces, its template arguments and its arguments.
pub(super) fn short(name: &str) -> &str {
    let mut depth = 0_i32;
    let mut end = name.len();
    for (at, character) in name.char_indices() {
        match character {
            '<' if depth == 0 && !name[at..].starts_with("<unnamed>") && !name[at..].starts_with("<lambda") => {
                end = at;
                break;
            }
            '(' if !name[at..].starts_with("(anonymous namespace)") => {
                end = at;
                break;
            }
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
    }
    let name = name[..end].trim();
    let name = name.rsplit("::").next().unwrap_or(name);
    name.rsplit(' ').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Dialect, Records};

    #[test]
    fn metrics_of_a_launch_come_together() {
        let text = "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
            \"0\",\"void at::native::<unnamed>::norm<float, 4>(int)\",\"x\",\"Memory Throughput\",\"%\",\"66.23\"\n\
            \"0\",\"void norm(int)\",\"x\",\"Memory Throughput\",\"Gbyte/second\",\"1,234.5\"\n\
            \"0\",\"void norm(int)\",\"x\",\"L1/TEX Hit Rate\",\"%\",\"44.5\"\n\
            \"1\",\"gemm\",\"x\",\"Memory Throughput\",\"%\",\"5\"\n\
            \"2\",\"gemm\",\"x\",\"Memory Throughput\",\"%\",\"n/a\"\n";
        let (sheet, problems) = Sheet::read(&mut Records::new(text.as_bytes(), Dialect::default()), 0).unwrap();
        let reading = metrics(&sheet, problems).unwrap();
        assert_eq!(reading.columns, ["Memory throughput", "L1 hit rate"]);
        assert_eq!(reading.metrics, [Metric { name: "norm".into(), line: 2, values: vec![66.23, 44.5] }]);
        let told: Vec<String> = reading.problems.kept.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "line 6, column Metric Value: \"n/a\" is not a number; the metric was left out",
                "line 5, whole line: \"gemm\" has no L1 hit rate; the kernel was left out"
            ]
        );
    }

    #[test]
    fn commas_part_thousands_or_stand_for_the_point() {
        for (text, value) in [
            ("1,234.5", Some(1234.5)),
            ("1,234", Some(1234.0)),
            ("12,345,678", Some(12_345_678.0)),
            ("36,55", Some(36.55)),
            ("5,9", Some(5.9)),
            ("1.234,5", Some(1234.5)),
            ("66.23", Some(66.23)),
            ("1,2,3", None),
            ("1,2.5", None),
            ("n/a", None),
        ] {
            assert_eq!(printed(text), value, "{text}");
        }
    }

    #[test]
    fn names_are_shortened_as_the_profiler_does() {
        for (long, name) in [
            (
                "void at::native::vectorized_elementwise_kernel<(int)4, at::Functor<float>>(int, T2)",
                "vectorized_elementwise_kernel",
            ),
            ("void at::native::<unnamed>::norm<float>(const T1 *)", "norm"),
            ("at::native::(anonymous namespace)::norm(int)", "norm"),
            ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
            ("", ""),
            ("<", ""),
        ] {
            assert_eq!(short(long), name, "{long}");
        }
    }
}
