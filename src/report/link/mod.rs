//! A report as the fragment of a link: `#v=1&w=report&d=…`. No server sees what follows the `#`.
//!
//! `d` is base64url (RFC 4648 §5, without padding) of nine bytes and a raw deflate stream (RFC 1951) of the report's
//! JSON: the format (1), the stream's length and its CRC-32, both little-endian. So a link that was cut on its way is
//! told from one that was changed. Reading is bounded: characters, then inflated bytes, then what [`super::wire`]
//! bounds.

mod coarse;
mod deflate;
mod qr;
mod small;

use base64::{
    Engine,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::{Deserialize, Serialize};

use self::small::Most;
pub use self::{
    coarse::{Reduced, for_link},
    deflate::{MOST_INFLATED, MOST_RATIO},
    qr::svg as qr_svg,
};
use super::{
    Report,
    annotations::MOST_NOTE,
    wire::{self, WireError},
};
use crate::{crc32::CRC32, form::restored};

/// Bits after the last whole byte are passed over, as they always were.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// The version of the fragment.
const VERSION: u64 = 1;
/// The format of the data in `d`.
const FORMAT: u8 = 1;
/// The number of bytes that precede the stream.
const HEAD: usize = 9;
/// The most characters of a note in a link that is short of room.
const NOTE_CHARS: usize = 200;
/// The most characters of a fragment that is read.
pub const MOST_READ: usize = 100_000;

/// How long a link may be, in characters of the whole address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkSize {
    /// What to deploy for each workload and why, and nothing else.
    Small,
    /// As much as Slack leaves whole.
    Medium,
    /// As much as browsers and mail leave whole.
    #[default]
    Full,
}

impl LinkSize {
    /// All sizes, the shortest link first.
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Full];

    /// The name that is shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "Small",
            Self::Medium => "Medium",
            Self::Full => "Full",
        }
    }

    /// The program that cuts longer links, if one is known.
    pub const fn cut_by(self) -> Option<&'static str> {
        match self {
            Self::Small => Some("Microsoft Teams"),
            Self::Medium => Some("Slack"),
            Self::Full => None,
        }
    }

    /// The most characters of an address.
    pub const fn most_chars(self) -> usize {
        match self {
            Self::Small => 2_000,
            Self::Medium => 4_000,
            Self::Full => 8_000,
        }
    }
}

/// A report as a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The part of the address after the page's own, including the `#`.
    pub fragment: String,
    /// The length of the whole address in characters.
    pub chars: usize,
    /// It is as short as it has to be: else the report travels as a file.
    pub fits: bool,
    /// Descriptions of the parts that were left out or reduced.
    pub left_out: Vec<String>,
}

/// The reason why a link contains no report. Messages are shown to users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The link has no data.
    #[error("The link holds no report")]
    NoReport,
    /// The link has this many characters, more than [`MOST_READ`].
    #[error("The link can't be read: it is longer than any report ({0} characters, and {MOST_READ} are read)")]
    TooLong(usize),
    /// A version or format that this program does not know yet.
    #[error("The link was made by a newer Collectune (format {0}; this one reads up to {VERSION}): open it there")]
    Newer(u64),
    /// The end of the link is missing.
    #[error(
        "The link was cut on its way: {found} of {whole} characters arrived. Chat programs cut long links; ask for the \
         report as a file"
    )]
    Cut {
        /// The number of characters that arrived.
        found: usize,
        /// The number of characters that were sent.
        whole: usize,
    },
    /// The link ends before the length of its data.
    #[error("The link was cut on its way, right after its beginning. Ask for the report as a file")]
    CutEarly,
    /// The checksum does not match.
    #[error("The link is damaged: it has changed on its way. Copy it again, or ask for the report as a file")]
    Damaged,
    /// The data exceeds the limits when decompressed.
    #[error("The link can't be read: it unpacks to more than any report holds")]
    TooDense,
    /// The data is no valid report.
    #[error("The report in the link {0}")]
    Report(#[from] WireError),
}

/// Whether a fragment is that of a report.
pub fn is_report(fragment: &str) -> bool {
    value(&restored(fragment), "w") == Some("report")
}

/// The value of a key; a page that shows links as HTML may have written `&` as `&amp;`.
fn value<'a>(fragment: &'a str, key: &str) -> Option<&'a str> {
    let pairs = fragment.trim_start_matches('#').split('&').map(|pair| pair.strip_prefix("amp;").unwrap_or(pair));
    pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Writes links to a page whose address has `page_chars` characters, one of each of [`LinkSize::ALL`], with the
/// report as fine as it fits; the small one says what to deploy and nothing else.
pub fn encode(report: &Report, page_chars: usize) -> [Link; 3] {
    let link = |json: &str, left_out: Vec<String>, size: LinkSize| {
        let mut link = of_json(json);
        link.left_out = left_out;
        link.chars += page_chars;
        // What packs too well is taken for a bomb, by whoever reads it.
        link.fits = link.chars <= size.most_chars() && decode(&link.fragment).is_ok();
        link
    };
    let forms = for_link(report);
    // The first of the forms from an index on that fits, with as much put back as fits, and its index.
    let finest = |size: LinkSize, from: usize| {
        let fits = |form: &Reduced| {
            let json = Some(wire::write(&form.report)).filter(|json| json.len() <= MOST_INFLATED)?;
            Some(link(&json, form.left_out.clone(), size)).filter(|link| link.fits)
        };
        let (at, found) = forms.iter().enumerate().skip(from).find_map(|(at, form)| Some((at, fits(form)?)))?;
        Some((at, forms[at].put_back(report, fits).unwrap_or(found)))
    };
    let short = |size: LinkSize| {
        let with = |most: Most| {
            let (coarse, left_out) = small::small(report, most);
            link(&wire::write(&coarse), left_out, size)
        };
        let rows = small::rows(report);
        // What to deploy at a glance needs no long texts.
        if size != LinkSize::Small {
            let whole = with(Most { rows, chars: MOST_NOTE, sentences: 40 });
            if whole.fits {
                return whole;
            }
        }
        let texts = [(400, 12), (NOTE_CHARS, 6), (100, 3), (40, 1)].into_iter();
        let mut without_rows = texts.map(|(chars, sentences)| Most { rows: 0, chars, sentences });
        let Some(most) = without_rows.find(|most| with(*most).fits) else {
            return with(Most { rows: 0, chars: 40, sentences: 1 });
        };
        // As many rows as fit.
        let (mut fit, mut too_many) = (0, rows + 1);
        while too_many - fit > 1 {
            let rows = usize::midpoint(fit, too_many);
            if with(Most { rows, ..most }).fits { fit = rows } else { too_many = rows }
        }
        with(Most { rows: fit, ..most })
    };
    let full = finest(LinkSize::Full, 0);
    // What is too long for the longest link is too long for a shorter one.
    let medium = full.as_ref().and_then(|(at, _)| finest(LinkSize::Medium, *at));
    let or_short = |found: Option<(usize, Link)>, size| found.map_or_else(|| short(size), |(_, link)| link);
    [short(LinkSize::Small), or_short(medium, LinkSize::Medium), or_short(full, LinkSize::Full)]
}

/// The link of a text, which need not be a valid report.
pub fn of_json(json: &str) -> Link {
    let stream = deflate::deflate(json.as_bytes());
    let length = u32::try_from(stream.len()).unwrap_or(u32::MAX);
    let mut bytes = vec![FORMAT];
    bytes.extend(length.to_le_bytes());
    bytes.extend(CRC32.checksum(&stream).to_le_bytes());
    bytes.extend(stream);
    let fragment = format!("#v={VERSION}&w=report&d={}", BASE64URL.encode(&bytes));
    let chars = fragment.len();
    Link { fragment, chars, fits: chars <= LinkSize::Full.most_chars(), left_out: Vec::new() }
}

/// Reads a fragment, or a whole address with one.
///
/// # Errors
/// Returns the reason, for users, if the link contains no report that can be read.
pub fn decode(link: &str) -> Result<Report, LinkError> {
    let fragment = link.split_once('#').map_or(link, |(_, fragment)| fragment).trim();
    if fragment.len() > MOST_READ {
        return Err(LinkError::TooLong(fragment.len()));
    }
    let fragment = &restored(fragment);
    if !is_report(fragment) {
        return Err(LinkError::NoReport);
    }
    match value(fragment, "v").and_then(|version| version.parse().ok()) {
        Some(VERSION) => {}
        Some(newer) if newer > VERSION => return Err(LinkError::Newer(newer)),
        _ => return Err(LinkError::Damaged),
    }
    let data = value(fragment, "d").ok_or(LinkError::CutEarly)?;
    // Mail breaks lines.
    let data: String = data.replace("%20", "").replace("%0A", "").replace("%0D", "").split_whitespace().collect();
    Ok(wire::read(&unpack(&data)?)?)
}

/// The number of characters that encode this many bytes.
const fn encoded_chars(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn bytes_of(text: &str) -> Result<Vec<u8>, LinkError> {
    BASE64URL.decode(text).map_err(|_no_base64url| LinkError::Damaged)
}

fn unpack(data: &str) -> Result<String, LinkError> {
    let head_chars = encoded_chars(HEAD);
    let head = data.get(..head_chars).ok_or(if data.is_char_boundary(data.len().min(head_chars)) {
        LinkError::CutEarly
    } else {
        LinkError::Damaged
    })?;
    let head: [u8; HEAD] = bytes_of(head)?.try_into().map_err(|_too_few| LinkError::Damaged)?;
    let [format, l0, l1, l2, l3, sum @ ..] = head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > MOST_READ || format < FORMAT {
        return Err(LinkError::Damaged);
    }
    let whole = encoded_chars(HEAD + length);
    // What follows was not part of it: the full stop or bracket of a sentence.
    let Some(exactly) = data.get(..whole) else {
        let is_cut = data.len() < whole && data.bytes().all(is_base64url);
        return Err(if is_cut { LinkError::Cut { found: data.len(), whole } } else { LinkError::Damaged });
    };
    let bytes = bytes_of(exactly)?;
    let stream = bytes.get(HEAD..).filter(|stream| CRC32.checksum(stream) == u32::from_le_bytes(sum));
    let inflated = deflate::inflate(stream.ok_or(LinkError::Damaged)?);
    if format != FORMAT {
        // What can be unpacked as ours is ours, and its beginning has changed.
        return Err(if inflated.is_ok() { LinkError::Damaged } else { LinkError::Newer(format.into()) });
    }
    let inflated = inflated?;
    String::from_utf8(inflated).map_err(|_not_text| LinkError::Damaged)
}
