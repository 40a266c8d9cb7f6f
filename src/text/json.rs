//! JSON as text, compact or indented by one and the same code: a second way of writing is a second copy of it for every
//! type that is written.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Without any white space.
#[must_use]
pub fn compact(value: &impl Serialize) -> String {
    written(value, Layout(None))
}

/// Indented by two spaces.
#[must_use]
pub fn indented(value: &impl Serialize) -> String {
    written(value, Layout(Some(PrettyFormatter::new())))
}

fn written(value: &impl Serialize, layout: Layout) -> String {
    let mut bytes = Vec::new();
    // Strings and numbers can always be written.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, layout));
    String::from_utf8(bytes).unwrap_or_default()
}

struct Layout(Option<PrettyFormatter<'static>>);

macro_rules! either {
    ($($method:ident($($argument:ident: $type:ty)?);)*) => {
        $(fn $method<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $argument: $type)?) -> io::Result<()> {
            match &mut self.0 {
                Some(pretty) => pretty.$method(writer $(, $argument)?),
                None => CompactFormatter.$method(writer $(, $argument)?),
            }
        })*
    };
}

impl Formatter for Layout {
    either! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_as_the_library_does() {
        let value = serde_json::json!({ "a": [1, 2.5, null, []], "b": { "c": "d\n", "e": {} }, "f": [[true]] });
        assert_eq!(compact(&value), serde_json::to_string(&value).unwrap());
        assert_eq!(indented(&value), serde_json::to_string_pretty(&value).unwrap());
    }
}
