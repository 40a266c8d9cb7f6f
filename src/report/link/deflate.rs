//! Compresses and decompresses within limits.
//!
//! Both directions use a dictionary of common texts of reports. The stream continues as if the dictionary had been
//! compressed before, as with zlib's preset dictionary (RFC 1950 §2.2).

use std::io::Read;

use flate2::{Compress, Compression, FlushCompress, Status, read::DeflateDecoder};

use super::LinkError;

/// The most decompressed bytes: ten times the longest report that fits into a link.
pub const MOST_INFLATED: usize = 1 << 20;
/// The highest ratio of decompressed to compressed bytes.
pub const MOST_RATIO: usize = 200;

/// Words of reports, what is frequent last. Links of format 1 can't be read with another one.
const DICTIONARY: &[u8] = include_bytes!("dictionary.txt");

pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packer = Compress::new(Compression::best(), false);
    // The dictionary ends at a whole byte, and what it makes is known to the reader.
    packed(&mut packer, DICTIONARY, FlushCompress::Sync);
    packed(&mut packer, bytes, FlushCompress::Finish)
}

fn packed(packer: &mut Compress, bytes: &[u8], flush: FlushCompress) -> Vec<u8> {
    let begin = packer.total_in();
    let mut out = Vec::with_capacity(bytes.len() / 2 + 1024);
    loop {
        let taken = (packer.total_in() - begin) as usize;
        // Packing into memory can't fail.
        let status = packer.compress_vec(bytes.get(taken..).unwrap_or_default(), &mut out, flush);
        let is_done = match status {
            Ok(Status::StreamEnd) | Err(_) => true,
            // With room to spare, all is flushed.
            Ok(_) => flush != FlushCompress::Finish && out.len() < out.capacity(),
        };
        if is_done {
            return out;
        }
        out.reserve(out.capacity());
    }
}

/// Inflates a stream, and never more than a byte beyond [`MOST_INFLATED`] and [`MOST_RATIO`].
pub(super) fn inflate(stream: &[u8]) -> Result<Vec<u8>, LinkError> {
    let most = MOST_INFLATED.min(stream.len().saturating_mul(MOST_RATIO));
    let length = DICTIONARY.len() as u16;
    let [low, high] = length.to_le_bytes();
    // A block that is stored, and not the last.
    let head = [0, low, high, !low, !high];
    let mut decoder = DeflateDecoder::new(head.chain(DICTIONARY).chain(stream));
    let mut known = [0; DICTIONARY.len()];
    decoder.read_exact(&mut known).map_err(|_damaged| LinkError::Damaged)?;
    let mut bytes = Vec::new();
    let read = decoder.take(most as u64 + 1).read_to_end(&mut bytes);
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
    fn the_dictionary_stays() {
        assert!(DICTIONARY.len() < 1 << 15);
        assert_eq!(
            crate::crc32::CRC32.checksum(DICTIONARY),
            1_947_543_687,
            "links of format 1 can't be read any more: make a format 2"
        );
    }

    #[test]
    fn known_words_take_no_room() {
        let words = &DICTIONARY[100..1100];
        assert!(deflate(words).len() < 40, "{}", deflate(words).len());
        assert_eq!(inflate(&deflate(words)).as_deref(), Ok(words));
        assert_eq!(inflate(&deflate(b"")).as_deref(), Ok(&b""[..]));
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
