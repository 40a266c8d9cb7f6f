//! Packs and unpacks, within bounds.

use std::io::{Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

use super::LinkError;

/// Inflating stops beyond so many bytes: ten times the longest report that fits a link.
pub const MOST_INFLATED: usize = 1 << 20;
/// And beyond so many for each deflated one.
pub const MOST_RATIO: usize = 200;

pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    // Writing to memory can't fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Inflates a stream, and never more than a byte beyond [`MOST_INFLATED`] and [`MOST_RATIO`].
pub(super) fn inflate(stream: &[u8]) -> Result<Vec<u8>, LinkError> {
    let most = MOST_INFLATED.min(stream.len().saturating_mul(MOST_RATIO));
    let mut bytes = Vec::new();
    let read = DeflateDecoder::new(stream).take(most as u64 + 1).read_to_end(&mut bytes);
    if bytes.len() > most {
        return Err(LinkError::TooDense);
    }
    read.map_err(|_damaged| LinkError::Damaged)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_is_not_inflated() {
        let bomb = deflate(&vec![0; 64 << 20]);
        assert!(bomb.len() < 70_000, "{}", bomb.len());
        assert_eq!(inflate(&bomb), Err(LinkError::TooDense));
        assert_eq!(inflate(&deflate(&[0; 1000])).map(|bytes| bytes.len()), Ok(1000));
    }

    #[test]
    fn the_bound_is_exact() {
        // Dense enough that only the length counts.
        let text: Vec<u8> = (0..=MOST_INFLATED).map(|n| ((n * n) >> 7) as u8).collect();
        assert_eq!(inflate(&deflate(&text)), Err(LinkError::TooDense));
        assert_eq!(inflate(&deflate(&text[1..])).map(|bytes| bytes.len()), Ok(MOST_INFLATED));
    }

    #[test]
    fn every_cut_stream_is_damaged() {
        let stream = deflate(b"all_reduce all_gather all_reduce broadcast");
        for length in 0..stream.len() {
            assert_eq!(inflate(&stream[..length]), Err(LinkError::Damaged), "{length}");
        }
    }
}
