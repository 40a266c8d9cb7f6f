//! What the shipped page weighs: its wasm, scripts and styles, each compressed by brotli at its best, as a host would.

use std::{fs, io, path::Path};

use crate::Result;

/// A moment of the first visit, and what may have come until then.
struct Moment {
    /// For people.
    name: &'static str,
    /// Whether a file, by its name, comes before it.
    comes: fn(&str) -> bool,
    /// What all these files may weigh, in bytes. The weight moves by up to 3 kB with the folder of the checkout, since
    /// code is ordered by names that hold it.
    ceiling_bytes: usize,
}

/// The budget (docs/dependencies.md).
const MOMENTS: [Moment; 2] = [
    Moment {
        name: "until the page is there, and shows a shared report",
        comes: |name| !name.starts_with("worker-"),
        ceiling_bytes: 506_000,
    },
    Moment { name: "until it answers, with the workers: all", comes: |_| true, ceiling_bytes: 2_041_000 },
];

/// What one file weighs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWeight {
    /// Its name.
    pub name: String,
    /// Its size in bytes as it lies on the disk.
    pub plain_bytes: usize,
    /// Its size in bytes after brotli, quality 11.
    pub brotli_bytes: usize,
}

/// Weighs the wasm, js and css files of a folder, heaviest first.
///
/// # Errors
/// When the folder or a file can't be read.
pub fn weigh(dist: &Path) -> io::Result<Vec<FileWeight>> {
    let mut weights = Vec::new();
    for entry in fs::read_dir(dist)? {
        let path = entry?.path();
        if path.is_dir() {
            weights.extend(weigh(&path)?);
        }
        if path.extension().is_some_and(|extension| ["wasm", "js", "css"].iter().any(|counted| extension == *counted)) {
            let content = fs::read(&path)?;
            weights.push(FileWeight {
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                plain_bytes: content.len(),
                brotli_bytes: brotli_bytes(&content)?,
            });
        }
    }
    weights.sort_by(|a, b| b.brotli_bytes.cmp(&a.brotli_bytes).then_with(|| a.name.cmp(&b.name)));
    Ok(weights)
}

/// Prints the weights, and holds what comes until each [`Moment`] against its ceiling.
///
/// # Errors
/// When the page is over a ceiling, or nothing is there to be weighed.
pub fn check(weights: &[FileWeight]) -> Result<()> {
    if weights.is_empty() {
        return Err("there is no page to weigh; build it first".to_owned());
    }
    println!("{:>12} {:>12}  page weight, bytes", "plain", "brotli");
    for FileWeight { name, plain_bytes, brotli_bytes } in weights {
        println!("{plain_bytes:>12} {brotli_bytes:>12}  {name}");
    }
    let mut over = Vec::new();
    for Moment { name, comes, ceiling_bytes } in &MOMENTS {
        let files = weights.iter().filter(|file| comes(&file.name));
        let (plain, brotli) = files.fold((0, 0), |(p, b), w| (p + w.plain_bytes, b + w.brotli_bytes));
        println!("{plain:>12} {brotli:>12}  {name}; the ceiling is {ceiling_bytes}");
        if brotli > *ceiling_bytes {
            over.push(format!("{brotli} bytes {name}, {} over the ceiling", brotli - ceiling_bytes));
        }
    }
    if over.is_empty() { Ok(()) } else { Err(format!("the page weighs {}", over.join("; "))) }
}

fn brotli_bytes(content: &[u8]) -> io::Result<usize> {
    let mut compressed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &*content, &mut compressed, &parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_the_ceiling_is_an_error() {
        let file = |name: &str, brotli_bytes| FileWeight { name: name.into(), plain_bytes: 1, brotli_bytes };
        let [page, all] = MOMENTS.map(|moment| moment.ceiling_bytes);
        let (page, worker) = (file("page-1_bg.wasm", page), file("worker-2_bg.wasm", all - page));
        assert_eq!(check(&[page.clone(), worker.clone()]), Ok(()));
        let extra = |name| check(&[page.clone(), worker.clone(), file(name, 1)]).unwrap_err();
        assert!(extra("worker-3.js").contains(" all, 1 over"), "{}", extra("worker-3.js"));
        let of_both = extra("x.js");
        assert!(of_both.contains("report, 1 over") && of_both.contains(" all, 1 over"), "{of_both}");
        assert!(check(&[]).is_err());
    }

    #[test]
    fn compression_is_measured() {
        assert!(brotli_bytes(&[7; 100_000]).unwrap() < 100);
    }
}
