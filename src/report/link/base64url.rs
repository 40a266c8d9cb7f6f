//! Bytes as characters that need no escape in an address (RFC 4648 §5, without padding).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The number of characters that encode this many bytes.
pub(super) const fn chars(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(chars(bytes.len()));
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_usize, |group, byte| group << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(ALPHABET[group >> (18 - 6 * place) & 63]));
        }
    }
    text
}

/// The six bits that a character encodes, or `None` if it is not part of the alphabet.
fn bits(byte: u8) -> Option<u32> {
    Some(
        match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        }
        .into(),
    )
}

/// Whether every character belongs to the alphabet.
pub(super) fn is_text(text: &str) -> bool {
    text.bytes().all(|byte| bits(byte).is_some())
}

/// The bytes; bits after the last whole byte are passed over. `None` where the text is none of [`encode`]'s.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut group = 0_u32;
        for byte in chunk {
            group = group << 6 | bits(*byte)?;
        }
        group <<= 6 * (4 - chunk.len());
        let [_, whole @ ..] = group.to_be_bytes();
        bytes.extend(whole.get(..chunk.len().checked_sub(1).filter(|whole| *whole > 0)?)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_what_others_write(bytes: Vec<u8>) {
            let text = encode(&bytes);
            prop_assert_eq!(&text, &base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&bytes));
            prop_assert_eq!(text.len(), chars(bytes.len()));
            prop_assert_eq!(decode(&text), Some(bytes));
        }
    }

    #[test]
    fn other_characters_stand_for_nothing() {
        for text in ["A", "AAAAA", "AA=", "AA+A", "AAA/", "µµ"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode(""), Some(Vec::new()));
    }
}
