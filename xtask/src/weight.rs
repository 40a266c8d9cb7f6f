//! What the shipped page weighs: its wasm, scripts and styles, each compressed by brotli at its best, as a host would.

use std::{fs, io, path::Path};

use crate::Result;

/// The page's budget in bytes, for all of its workbenches together.
pub const BUDGET_BYTES: usize = 600_000;

/// What the page may weigh while it is over its budget: it must not get heavier on the way back. Code is ordered by
/// names that differ from folder to folder, which moves its weight by some kilobytes.
pub const CEILING_BYTES: usize = 1_225_000;

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

/// Prints the weights, how far their sum is over [`BUDGET_BYTES`], and holds it against [`CEILING_BYTES`].
///
/// # Errors
/// When the page is over its ceiling, or nothing is there to be weighed.
pub fn check(weights: &[FileWeight]) -> Result<()> {
    if weights.is_empty() {
        return Err("there is no page to weigh; build it first".to_owned());
    }
    println!("{:>12} {:>12}  page weight, bytes", "plain", "brotli");
    for FileWeight { name, plain_bytes, brotli_bytes } in weights {
        println!("{plain_bytes:>12} {brotli_bytes:>12}  {name}");
    }
    let (plain, brotli) = weights.iter().fold((0, 0), |(p, b), w| (p + w.plain_bytes, b + w.brotli_bytes));
    println!("{plain:>12} {brotli:>12}  in all; the budget is {BUDGET_BYTES}");
    if brotli > BUDGET_BYTES {
        println!(
            "The page is {} bytes over its budget; the ceiling meanwhile is {CEILING_BYTES}.",
            brotli - BUDGET_BYTES
        );
    }
    if brotli <= CEILING_BYTES {
        Ok(())
    } else {
        Err(format!("the page weighs {brotli} bytes, {} over its ceiling", brotli - CEILING_BYTES))
    }
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
        let file = |brotli_bytes| FileWeight { name: "x.wasm".into(), plain_bytes: 1, brotli_bytes };
        assert_eq!(check(&[file(CEILING_BYTES - 1), file(1)]), Ok(()));
        assert!(check(&[file(CEILING_BYTES), file(1)]).unwrap_err().contains("1 over"));
        assert!(check(&[]).is_err());
    }

    #[test]
    fn compression_is_measured() {
        assert!(brotli_bytes(&[7; 100_000]).unwrap() < 100);
    }
}
