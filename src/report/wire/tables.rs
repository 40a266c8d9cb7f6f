//! Tables, column by column: `{"name","meaning","numeric","secondary","text":[],"numbers":[]}`.
//!
//! `numbers` is written only if the texts don't determine the numbers by which the column is sorted.

use serde_json::Value;

use super::{Cursor, WireError, numbers, object, slug, text};
use crate::{
    report::Exhibit,
    text::{Column, Entry, Listing},
};

pub(super) fn write(table: &Exhibit) -> Value {
    let rows = &table.listing.rows;
    let columns = table.listing.columns.iter().enumerate().map(|(index, column)| {
        let cells = || rows.iter().map(|row| row.get(index));
        let told = cells().flatten().all(|cell| numbers::determines(&cell.text, cell.number));
        let number = |cell: Option<&Entry>| cell.and_then(|cell| cell.number).map_or(Value::Null, numbers::write);
        object([
            ("name", text(&column.name)),
            ("meaning", text(&column.meaning)),
            ("numeric", if column.is_numeric { true.into() } else { Value::Null }),
            ("secondary", if column.is_secondary { true.into() } else { Value::Null }),
            ("text", cells().map(|cell| text(cell.map_or("", |cell| &cell.text))).collect()),
            ("numbers", if told { Value::Null } else { cells().map(number).collect() }),
        ])
    });
    object([("id", text(&table.id)), ("title", text(&table.title)), ("columns", columns.collect())])
}

pub(super) fn read(at: Cursor<'_>) -> Result<Exhibit, WireError> {
    at.object()?;
    let columns = at.field("columns").list(read_column)?;
    let height = columns.first().map_or(0, |(_, cells)| cells.len());
    if let Some(index) = columns.iter().position(|(_, cells)| cells.len() != height) {
        let found = columns[index].1.len();
        return Err(at
            .field("columns")
            .expected(format!("{height} texts in column {index} as in the first, not {found}")));
    }
    let mut rows: Vec<Vec<Entry>> = (0..height).map(|_| Vec::with_capacity(columns.len())).collect();
    let mut heads = Vec::with_capacity(columns.len());
    for (column, cells) in columns {
        rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        heads.push(column);
    }
    Ok(Exhibit::new(slug(at.field("id").text()?), at.field("title").text()?, Listing { columns: heads, rows }))
}

fn read_column(at: Cursor<'_>) -> Result<(Column, Vec<Entry>), WireError> {
    at.object()?;
    let texts = at.field("text").texts()?;
    let numbers = at.field("numbers").optional(|at| at.list(|at| at.number()))?;
    if let Some(numbers) = &numbers
        && numbers.len() != texts.len()
    {
        return Err(at.field("numbers").expected(format!("{} numbers, one for each text", texts.len())));
    }
    let cells = match numbers {
        Some(numbers) => texts.into_iter().zip(numbers).map(|(text, number)| Entry { text, number }).collect(),
        None => texts.into_iter().map(|text| Entry { number: numbers::shown(&text), text }).collect(),
    };
    let column = Column {
        name: at.field("name").text()?.to_owned().into(),
        meaning: at.field("meaning").text()?.to_owned().into(),
        is_numeric: at.field("numeric").flag()?,
        is_secondary: at.field("secondary").flag()?,
    };
    Ok((column, cells))
}
