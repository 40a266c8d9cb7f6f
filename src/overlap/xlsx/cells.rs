//! The cells of a sheet and the texts that sheets share (ECMA-376 part 1, 18.3 and 18.4).

use std::borrow::Cow;

use quick_xml::{
    Reader,
    escape::resolve_xml_entity,
    events::{BytesRef, BytesStart, Event},
};

use super::XlsxError;
use crate::overlap::sheet::Sheet;

/// The most columns of a sheet.
const WIDEST: usize = 16_384;

/// Collects the texts of an element: those in `<t>`, but not how they are pronounced (`<rPh>`).
#[derive(Default)]
struct Texts {
    text: String,
    in_text: bool,
    in_pronunciation: bool,
}

impl Texts {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => match tag.local_name().into_inner() {
                "rPh" => self.in_pronunciation = true,
                "t" | "v" => self.in_text = !self.in_pronunciation,
                _ => {}
            },
            Event::End(tag) => match tag.local_name().into_inner() {
                "rPh" => self.in_pronunciation = false,
                "t" | "v" => self.in_text = false,
                _ => {}
            },
            Event::Text(text) if self.in_text => self.text.push_str(text),
            Event::CData(text) if self.in_text => self.text.push_str(text),
            Event::GeneralRef(entity) if self.in_text => self.push_entity(entity),
            _ => {}
        }
    }

    /// Adds the character of an entity; one that is unknown stays as it is.
    fn push_entity(&mut self, entity: &BytesRef<'_>) {
        match (entity.resolve_char_ref(), resolve_xml_entity(entity)) {
            (Ok(Some(character)), _) => self.text.push(character),
            (_, Some(known)) => self.text.push_str(known),
            _ => self.text.extend(["&", entity, ";"]),
        }
    }
}

/// Reads all events of a part. An empty element gives two events: it begins, and it ends.
fn each(part: &str, text: &str, mut take: impl FnMut(&Event<'_>) -> Result<(), XlsxError>) -> Result<(), XlsxError> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.allow_dangling_amp = true;
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => return Ok(()),
            Ok(event) => take(&event)?,
            Err(_) => {
                let offset = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                return Err(XlsxError::NoXml { part: part.to_owned(), offset });
            }
        }
    }
}

/// The value of an attribute, with entities not resolved.
fn attribute<'a>(tag: &'a BytesStart<'_>, name: &str) -> Option<Cow<'a, str>> {
    tag.try_get_attribute(name).ok().flatten().map(|attribute| attribute.value)
}

/// Whether an event begins, or ends, the element of a name.
fn begins<'a, 'b>(event: &'a Event<'b>, name: &str) -> Option<&'a BytesStart<'b>> {
    if let Event::Start(tag) = event { Some(tag).filter(|tag| tag.local_name().as_ref() == name) } else { None }
}

fn ends(event: &Event<'_>, name: &str) -> bool {
    matches!(event, Event::End(tag) if tag.local_name().as_ref() == name)
}

/// The texts that sheets share, without the blanks around them.
#[derive(Debug, Default)]
pub(super) struct Shared {
    text: String,
    ends: Vec<u32>,
}

impl Shared {
    fn push(&mut self, text: &str) {
        self.text.push_str(text.trim());
        self.ends.push(self.text.len() as u32);
    }

    fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(&self.text[begin..end])
    }
}

pub(super) fn shared(part: &str, xml: &str) -> Result<Shared, XlsxError> {
    let mut all = Shared::default();
    let mut texts = Texts::default();
    each(part, xml, |event| {
        if begins(event, "si").is_some() {
            texts = Texts::default();
        } else if ends(event, "si") {
            all.push(&std::mem::take(&mut texts.text));
        } else {
            texts.take(event);
        }
        Ok(())
    })?;
    Ok(all)
}

/// Reads a sheet, whose headers are the first row that is not blank. It may take at most `room` bytes.
pub(super) fn sheet(part: &str, xml: &str, shared: &Shared, room: usize) -> Result<Sheet, XlsxError> {
    let mut sheet: Option<Sheet> = None;
    let mut line = 0_u64;
    // Shared texts are borrowed, not copied: a short file can use a long text in every cell.
    let mut cells: Vec<Cow<'_, str>> = Vec::new();
    let mut column = 0;
    let mut is_shared = false;
    let mut reference = String::new();
    let mut texts = Texts::default();
    each(part, xml, |event| {
        if let Some(tag) = begins(event, "row") {
            line = attribute(tag, "r").and_then(|r| r.parse().ok()).unwrap_or(line.saturating_add(1));
            cells.clear();
            column = 0;
        } else if let Some(tag) = begins(event, "c") {
            reference = attribute(tag, "r").unwrap_or_default().into_owned();
            column = column_of(&reference).unwrap_or(column);
            is_shared = attribute(tag, "t").as_deref() == Some("s");
            texts = Texts::default();
        } else if ends(event, "c") {
            let text = std::mem::take(&mut texts.text);
            let text = if is_shared && !text.trim().is_empty() {
                let found = text.trim().parse::<usize>().ok().and_then(|index| shared.get(index));
                Cow::Borrowed(found.ok_or_else(|| XlsxError::NoSharedText {
                    part: part.to_owned(),
                    cell: if reference.is_empty() {
                        format!("{} of row {line}", column + 1)
                    } else {
                        crate::text::excerpt(&reference)
                    },
                    index: crate::text::excerpt(&text),
                    count: shared.ends.len(),
                })?)
            } else {
                Cow::Owned(text)
            };
            // Blank cells don't count: one far to the right would make the row wide.
            if !text.trim().is_empty() && column < sheet.as_ref().map_or(WIDEST, |sheet| sheet.headers().len()) {
                if cells.len() <= column {
                    cells.resize(column + 1, Cow::Borrowed(""));
                }
                cells[column] = text;
            }
            column += 1;
        } else if ends(event, "row") && !cells.is_empty() {
            match &mut sheet {
                None => sheet = Some(Sheet::within(room, cells.iter().map(|cell| cell.trim()))?),
                // A row without a beginning, or with the number 0, counts as line 1.
                Some(sheet) => sheet.push(line.max(1), cells.iter().map(|cell| &**cell))?,
            }
            cells.clear();
        } else {
            texts.take(event);
        }
        Ok(())
    })?;
    Ok(sheet.unwrap_or_default())
}

/// The column of a reference such as `AB12`, from 0.
fn column_of(reference: &str) -> Option<usize> {
    let letters = reference.bytes().take_while(u8::is_ascii_alphabetic);
    let number =
        letters.take(8).fold(0_usize, |n, letter| n * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_columns() {
        for (reference, column) in
            [("A1", Some(0)), ("Z9", Some(25)), ("aa10", Some(26)), ("XFD1", Some(16_383)), ("7", None)]
        {
            assert_eq!(column_of(reference), column);
        }
    }

    #[test]
    fn cells_of_every_kind() {
        let shared =
            shared("s", "<sst><si><t>id</t></si><si><r><t>na</t></r><r><t>me</t></r><rPh><t>x</t></rPh></si></sst>")
                .unwrap();
        assert_eq!([0, 1, 2].map(|index| shared.get(index)), [Some("id"), Some("name"), None]);
        let xml = "<worksheet><sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='s'><v>1</v></c><c r='C1' t='inlineStr'><is><t>a&lt;b</t></is></c></row>\
                   <row/><row r='7'><c r='C7'><v>3.5</v></c><c r='A7' t='str'><f>1+1</f><v>2</v></c></row><row><c><v>1</v></c><c><v>2</v></c></row></sheetData></worksheet>";
        let sheet = sheet("w", xml, &shared, 1 << 20).unwrap();
        assert_eq!(sheet.headers(), ["id", "name", "a<b"]);
        let rows: Vec<_> = sheet.rows().map(|r| (r.line(), [0, 1, 2].map(|c| r.get(c).to_owned()))).collect();
        assert_eq!(rows, [(7, ["2".into(), "".into(), "3.5".into()]), (8, ["1".into(), "2".into(), "".into()])]);
    }

    #[test]
    fn entities_and_sections() {
        let cell = |text: &str| {
            let xml = format!("<!-- <c> --><x:row><x:c><x:v>{text}</x:v></x:c></x:row>");
            sheet("w", &xml, &Shared::default(), 1 << 20).map(|sheet| sheet.headers().join("|"))
        };
        assert_eq!(cell("a&lt;b&#65;&#x42;&nbsp;&#xD800;& c&").as_deref(), Ok("a<bAB&nbsp;&#xD800;& c&"));
        assert_eq!(cell("t&amp;<![CDATA[<&amp;]]>").as_deref(), Ok("t&<&amp;"));
        let error = cell("</x:c>").unwrap_err();
        assert_eq!(error.to_string(), "is a damaged workbook: w is no XML at byte 29");
    }

    #[test]
    fn a_shared_text_that_is_missing_is_located() {
        let error = sheet("w", "<row r='3'><c r='B3' t='s'><v>9</v></c></row>", &Shared::default(), 0).unwrap_err();
        assert_eq!(error.to_string(), "is a damaged workbook: cell B3 of w refers to shared text 9, and there are 0");
    }
}
