//! Limits on the values in a JSON text, counted before it is parsed: parsed values take up to a hundred times the
//! memory of the text.

use super::WireError;

/// The most bytes of a text.
pub const MOST_TEXT: usize = 6 << 20;
/// The most list items and object members together.
pub const MOST_ELEMENTS: usize = 300_000;
/// The most objects: an empty one takes more than half a kilobyte.
pub const MOST_OBJECTS: usize = 10_000;
/// The deepest nesting of values; a report has eight levels.
pub const MOST_DEPTH: usize = 24;

/// The counts of values in a JSON text, which need not be well formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub elements: usize,
    pub objects: usize,
    pub depth: usize,
}

impl Bounds {
    /// Counts commas and opening brackets outside of strings. Returns an error if the text exceeds the limits of
    /// reports.
    pub fn of(json: &str) -> Result<Self, WireError> {
        if json.len() > MOST_TEXT {
            return Err(WireError::TooLong(json.len()));
        }
        let mut found = Self::default();
        let (mut open, mut in_string, mut is_escaped) = (0_usize, false, false);
        for byte in json.bytes() {
            if in_string {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => in_string = true,
                b',' => found.elements += 1,
                b'[' | b'{' => {
                    found.elements += 1;
                    found.objects += usize::from(byte == b'{');
                    open += 1;
                    found.depth = found.depth.max(open);
                }
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        for (count, what, most) in [(found.elements, "values", MOST_ELEMENTS), (found.objects, "objects", MOST_OBJECTS)]
        {
            if count > most {
                return Err(WireError::TooMuch { count, what, most });
            }
        }
        if found.depth > MOST_DEPTH { Err(WireError::TooDeep) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hold_no_brackets() {
        let bounds = |json: &str| Bounds::of(json).map(|bounds| (bounds.elements, bounds.objects, bounds.depth));
        assert_eq!(bounds(r#"{"a":[1,2,{"b":"[,\"{"}]}"#), Ok((5, 2, 3)));
        assert_eq!(bounds("]]]]"), Ok((0, 0, 0)));
        assert_eq!(bounds(""), Ok((0, 0, 0)));
    }

    #[test]
    fn each_bound_is_exact() {
        let commas = ",".repeat(MOST_ELEMENTS);
        assert!(Bounds::of(&commas).is_ok());
        assert!(matches!(Bounds::of(&(commas + ",")), Err(WireError::TooMuch { what: "values", .. })));
        let objects = "{}".repeat(MOST_OBJECTS);
        assert!(Bounds::of(&objects).is_ok());
        assert!(matches!(Bounds::of(&(objects + "{}")), Err(WireError::TooMuch { what: "objects", .. })));
        let open = "[".repeat(MOST_DEPTH);
        assert!(Bounds::of(&open).is_ok());
        assert_eq!(Bounds::of(&(open + "[")), Err(WireError::TooDeep));
        let long = " ".repeat(MOST_TEXT);
        assert!(Bounds::of(&long).is_ok());
        assert_eq!(Bounds::of(&(long + " ")), Err(WireError::TooLong(MOST_TEXT + 1)));
    }
}
