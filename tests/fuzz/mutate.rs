//! Samples become inputs.

use collectune::math::Stream;

/// What breaks readers.
const TOKENS: [&[u8]; 48] = [
    b"0",
    b"-1",
    b"1",
    b"255",
    b"256",
    b"1024",
    b"65536",
    b"4294967296",
    b"9007199254740993",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"1e308",
    b"1e-308",
    b"1e999",
    b"nan",
    b"inf",
    b"N/A",
    b"0x10",
    b".",
    b"-",
    b"+",
    b",",
    b";",
    b"\t",
    b"\"",
    b"'",
    b"#",
    b"=",
    b"/",
    b"|",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b" ",
    b"%",
    b"\xFF",
    b"\xC2\xB5",
    b"\xE2\x80",
    b"DEFAULT",
    b"NCCL INFO ",
    b"16M",
];

/// Mutates a sample; pieces of `others` may come in, and nothing grows beyond `longest`.
pub fn mutate(sample: &[u8], others: &[Vec<u8>], longest: usize, random: &mut Stream) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    // Mostly one or two, sometimes many.
    let times = 1 << random.below(6);
    for _ in 0..times {
        mutation(&mut bytes, others, random);
        bytes.truncate(longest);
    }
    bytes
}

fn mutation(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Stream) {
    let at = random.below(bytes.len() + 1);
    let rest = bytes.len() - at;
    match random.below(10) {
        0 if rest > 0 => bytes[at] ^= 1 << random.below(8),
        1 if rest > 0 => bytes[at] = random.below(256) as u8,
        2 => drop(bytes.drain(at..at + random.below(rest + 1).min(32))),
        3 => bytes.truncate(at),
        4 => insert(bytes, at, TOKENS[random.below(TOKENS.len())]),
        5 => {
            // Something else instead of a number.
            let is_number = |b: &u8| b.is_ascii_digit() || *b == b'.';
            let begin = at + bytes[at..].iter().position(is_number).unwrap_or(rest);
            let end = begin + bytes[begin..].iter().position(|b| !is_number(b)).unwrap_or(bytes.len() - begin);
            bytes.splice(begin..end, TOKENS[random.below(TOKENS.len())].iter().copied());
        }
        6 => {
            let piece = bytes[at..at + random.below(rest + 1).min(256)].to_vec();
            let to = random.below(bytes.len() + 1);
            insert(bytes, to, &piece);
        }
        7 => {
            let other = &others[random.below(others.len())];
            let from = random.below(other.len() + 1);
            let piece = &other[from..from + random.below(other.len() - from + 1).min(512)];
            insert(bytes, at, piece);
        }
        8 => {
            // Lines change places.
            let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            lines.swap(a, b);
            *bytes = lines.join(&b'\n');
        }
        _ => {
            // A line goes.
            let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
            lines.remove(random.below(lines.len()));
            *bytes = lines.join(&b'\n');
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
