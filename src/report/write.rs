//! Writes a report in one of four formats.

use serde::{Deserialize, Serialize};

use super::{
    Report,
    annotations::{self, Annotations},
    html,
    link::{self, Link},
    markdown,
    wire::{self, WireError},
};

/// The formats in which a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReportFormat {
    /// A page that needs nothing else, and opens as the live report again.
    #[default]
    Html,
    /// Markdown with tables and without charts, for pull requests.
    Markdown,
    /// The report as JSON, which programs read and the page opens.
    Json,
    /// A link with the report in its fragment.
    Link,
}

impl ReportFormat {
    /// All formats, in the order of the page's menu.
    pub const ALL: &[Self] = &[Self::Link, Self::Html, Self::Markdown, Self::Json];

    /// The name that is shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Html => "HTML",
            Self::Markdown => "Markdown",
            Self::Json => "JSON",
            Self::Link => "Link",
        }
    }

    /// The extension of the file; a link is no file.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Link => "txt",
        }
    }

    /// The media type of the file.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html",
            Self::Markdown => "text/markdown",
            Self::Json => "application/json",
            Self::Link => "text/plain",
        }
    }
}

/// A report in one of the formats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Written {
    /// A file to save: HTML, Markdown or JSON.
    File {
        /// The suggested file name, such as `collectune-all_reduce-on-2-nodes-16-ranks.html`.
        name: String,
        /// The media type, such as `text/html`.
        media_type: String,
        /// The contents of the file in UTF-8.
        text: String,
    },
    /// A link of each length, for [`ReportFormat::Link`].
    Links(Links),
}

/// A report as links, and what belongs to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// A link of each size, in the order of [`LinkSize::ALL`](link::LinkSize::ALL).
    pub sizes: Vec<Link>,
    /// The QR code of the small one as SVG; `None` where the small one does not fit.
    pub qr_svg: Option<String>,
    /// What a note to the report can be about.
    pub subjects: Vec<String>,
}

/// The format, the user's words and the address with which a report is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteOptions {
    /// The format, [`ReportFormat::Link`] for links of all lengths.
    pub form: ReportFormat,
    /// The title and the notes that the user adds.
    pub annotations: Annotations,
    /// The address of the page that opens links, without a fragment.
    pub page: String,
}

impl From<ReportFormat> for WriteOptions {
    fn from(form: ReportFormat) -> Self {
        Self { form, ..Self::default() }
    }
}

/// Writes a report.
///
/// # Errors
/// Returns an error, phrased to follow `The report`, if the report exceeds the limits within which reports are read.
pub fn write(report: &Report, options: &WriteOptions) -> Result<Written, WireError> {
    let form = options.form;
    let mut annotated = report.clone();
    annotations::annotate(&mut annotated, &options.annotations);
    // What is written can be opened again.
    let report = &wire::fit(&annotated);
    let text = match form {
        ReportFormat::Link => return Ok(Written::Links(links(report, &options.page))),
        ReportFormat::Markdown => markdown::markdown(report),
        ReportFormat::Json => {
            let json = wire::write(report);
            wire::is_within_bounds(&json)?;
            json + "\n"
        }
        ReportFormat::Html => html::html(report)?,
    };
    let name = format!("{}.{}", file_stem(report), form.extension());
    Ok(Written::File { name, media_type: form.media_type().to_owned(), text })
}

fn links(report: &Report, page: &str) -> Links {
    let sizes = link::encode(report, page.chars().count());
    let [small, ..] = &sizes;
    let qr_svg = small.fits.then(|| link::qr_svg(&format!("{page}{}", small.fragment))).flatten();
    Links { qr_svg, subjects: annotations::subjects(report), sizes: sizes.into() }
}

/// The stem of the file names of a report: its title in characters that every file system accepts.
pub fn file_stem(report: &Report) -> String {
    /// The most characters of a name that all file systems keep.
    const LONGEST: usize = 80;
    let mut stem = String::from("collectune");
    let mut between = true;
    for c in report.title.chars() {
        if stem.len() >= LONGEST {
            break;
        }
        if c.is_ascii_alphanumeric() || c == '_' {
            if between {
                stem.push('-');
            }
            stem.push(c.to_ascii_lowercase());
            between = false;
        } else {
            between = true;
        }
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_title() {
        let stem = |title: &str| file_stem(&Report { title: title.to_owned(), ..Report::default() });
        assert_eq!(stem("all_reduce on 2 nodes, 16 ranks"), "collectune-all_reduce-on-2-nodes-16-ranks");
        assert_eq!(stem("../../etc/passwd"), "collectune-etc-passwd");
        assert_eq!(stem(""), "collectune");
        assert!(stem(&"a".repeat(500)).len() <= 80);
    }
}
