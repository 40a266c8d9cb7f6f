//! JSON as text, compact or indented by one and the same code: a second way of writing is a second copy of it for every
//! type that is written. And numbers that are read to the last bit.

use std::io;

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{
    ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer},
    value::RawValue,
};

/// The value as JSON without white space.
pub fn compact(value: &impl Serialize) -> String {
    written(value, Layout(None))
}

/// The value as JSON, indented by two spaces.
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

/// Reads a number exactly. `serde_json` is sometimes off by the last bit unless its tables are compiled in, which weigh
/// ten kilobytes and repeat those of the standard library. Returns an error if the value is no number, or one that is
/// too large.
pub fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    if !deserializer.is_human_readable() {
        return f64::deserialize(deserializer);
    }
    let text = <&RawValue>::deserialize(deserializer)?.get();
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| D::Error::custom("not a number, or too large for one"))
}

/// Reads a number or null, as [`exact`]. It fails as [`exact`] does.
#[cfg(feature = "workbenches")]
pub fn exact_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    struct Exact(#[serde(deserialize_with = "exact")] f64);
    Ok(Option::deserialize(deserializer)?.map(|Exact(number)| number))
}

/// Reads a list of numbers, each as [`exact`]. It fails as [`exact`] does.
pub fn exact_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    #[derive(Deserialize)]
    struct Exact(#[serde(deserialize_with = "exact")] f64);
    Ok(Vec::<Exact>::deserialize(deserializer)?.into_iter().map(|Exact(number)| number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_to_the_last_bit() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Pair(#[serde(deserialize_with = "exact")] f64, #[serde(deserialize_with = "exact_or_none")] Option<f64>);
        let mut stream = crate::math::Stream::new(7);
        for _ in 0..2000 {
            let pair = Pair(stream.normal() * 1e3, Some(stream.normal() * 1e-9));
            assert_eq!(serde_json::from_str::<Pair>(&compact(&pair)).unwrap(), pair);
            assert_eq!(postcard::from_bytes::<Pair>(&postcard::to_allocvec(&pair).unwrap()).unwrap(), pair);
        }
        assert_eq!(serde_json::from_str::<Pair>("[12, null]").unwrap(), Pair(12.0, None));
        for wrong in ["[1e999, 1]", "[\"1\", 1]", "[null, 1]", "[1, \"NaN\"]", "[1, -1e400]"] {
            assert!(serde_json::from_str::<Pair>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn writes_as_the_library_does() {
        let value = serde_json::json!({ "a": [1, 2.5, null, []], "b": { "c": "d\n", "e": {} }, "f": [[true]] });
        assert_eq!(compact(&value), serde_json::to_string(&value).unwrap());
        assert_eq!(indented(&value), serde_json::to_string_pretty(&value).unwrap());
    }
}
