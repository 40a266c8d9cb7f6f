//! Forms as data: the page draws any form, an address carries any choices, and neither depends on the workbench.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The values that the user chose, by the keys of their fields. Fields without a value have their default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices(Vec<(String, String)>);

/// The error of a choice that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{label}: {value:?} is not {expected}")]
pub struct ChoiceError {
    /// The label of the field.
    pub label: String,
    /// The beginning of the value.
    pub value: String,
    /// A description of valid values.
    pub expected: String,
}

/// Keys of an address that say which page it is, not what was chosen.
const OF_THE_PAGE: [&str; 3] = ["v", "w", "x"];
const MOST: usize = 200;

impl Choices {
    /// The value that was chosen for a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Sets the value for a key.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, held)) => value.clone_into(held),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Removes the value for a key.
    pub fn clear(&mut self, key: &str) {
        self.0.retain(|(known, _)| known != key);
    }

    /// Whether nothing was chosen.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values, in the order in which they were chosen.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// A value of any type that can be read from text; `None` where nothing was chosen, or the field was emptied.
    ///
    /// # Errors
    /// Returns an error if the value that was chosen is not valid.
    pub fn parsed<T: std::str::FromStr>(&self, key: &str, expected: &str) -> Result<Option<T>, ChoiceError> {
        let Some(value) = self.get(key).map(str::trim).filter(|value| !value.is_empty()) else { return Ok(None) };
        let wrong = || ChoiceError { label: key.to_owned(), value: start_of(value), expected: expected.to_owned() };
        value.parse().ok().map(Some).ok_or_else(wrong)
    }

    /// Reads them from the fragment of an address; what can't be read is passed over.
    ///
    /// ```
    /// use collectune::form::Choices;
    /// let choices = Choices::parse("#v=1&w=overlap&shown=forest&name=a%20b");
    /// assert_eq!((choices.get("shown"), choices.get("name")), (Some("forest"), Some("a b")));
    /// assert_eq!(choices.suffix(), "&shown=forest&name=a%20b");
    /// ```
    #[must_use]
    pub fn parse(fragment: &str) -> Self {
        let mut choices = Self::default();
        let fragment = restored(fragment);
        let pairs = fragment.trim_start_matches('#').split('&').filter_map(|pair| pair.split_once('='));
        for (key, value) in pairs.take(MOST).filter(|(key, _)| !OF_THE_PAGE.contains(key)) {
            if let (Some(key), Some(value)) = (decoded(key), decoded(value)) {
                choices.set(&key, &value);
            }
        }
        choices
    }

    /// The choices as the rest of an address fragment.
    #[must_use]
    pub fn suffix(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.0 {
            text.push('&');
            encode(key, &mut text);
            text.push('=');
            encode(value, &mut text);
        }
        text
    }
}

/// The fragment as it was before a chat program or mail scanner encoded it a second time, with `%26` and `%3D` in
/// place of `&` and `=`. Other fragments are returned unchanged.
///
/// ```
/// use collectune::form::restored;
/// assert_eq!(restored("#v%3D1%26w%3Doverlap%26name%3Da%2520b"), "#v=1&w=overlap&name=a%20b");
/// assert_eq!(restored("#v=1&name=a%3Db"), "#v=1&name=a%3Db");
/// ```
#[must_use]
pub fn restored(fragment: &str) -> Cow<'_, str> {
    let has_pairs = fragment.contains(['=', '&']);
    let is_encoded = || fragment.as_bytes().windows(3).any(|bytes| bytes.eq_ignore_ascii_case(b"%3d"));
    if has_pairs || !is_encoded() {
        return fragment.into();
    }
    decoded(fragment).map_or(fragment.into(), Cow::Owned)
}

/// The value of a key in a fragment that [`restored`] returned; the last one if the key is repeated.
#[must_use]
pub fn value<'a>(fragment: &'a str, key: &str) -> Option<&'a str> {
    let pairs = fragment.trim_start_matches('#').split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(of, _)| *of == key).map(|(_, value)| value).next_back()
}

fn start_of(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Writes what needs no escape in a fragment as it is, and everything else as `%20`.
fn encode(text: &str, into: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~,:/*+".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(HEX[usize::from(byte >> 4)]));
            into.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push((digit()? * 16 + digit()?) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its key in [`Choices`] and in the address; unique in the form.
    pub key: String,
    /// The label, with the unit.
    pub label: String,
    /// A short explanation.
    pub hint: String,
    /// Empty for the bar above the answer; else the title of the section that it belongs to, or of a fold in the bar
    /// where there is no such section.
    pub group: String,
    /// The control that edits the field.
    pub control: Control,
    /// The current value.
    pub value: String,
    /// The default value.
    pub usual: String,
    /// Groups whose choices are taken back where this one is made.
    pub leads: Vec<String>,
    /// Pinning a point of a chart chooses its series here, where one of the labels is the series' name.
    pub picked: bool,
}

/// The control that edits a value. Values are text; several are separated by commas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Control {
    /// A choice of one of these, each with value and label.
    One(Vec<(String, String)>),
    /// A choice of any number of these, each with value and label.
    Many(Vec<(String, String)>),
    /// A switch, whose value is `1` or empty.
    Switch,
    /// A number in a text field.
    Number,
    /// A number in a text field, which takes only one of this range.
    NumberWithin {
        /// The smallest value.
        least: f64,
        /// The largest value.
        most: f64,
        /// Whether it is a whole number.
        is_whole: bool,
    },
    /// A number on a slider.
    Slider {
        /// The smallest value.
        least: f64,
        /// The largest value.
        most: f64,
        /// The increment.
        step: f64,
    },
    /// A line of text, with suggestions.
    Text(Vec<String>),
    /// Several lines of text.
    Lines,
    /// A button that chooses this value.
    Button(String),
}

impl Control {
    /// Whether a [`NumberWithin`](Self::NumberWithin) takes this text; every other control takes any.
    #[must_use]
    pub fn takes(&self, text: &str) -> bool {
        let Self::NumberWithin { least, most, is_whole } = self else { return true };
        let fits = |number: f64| (*least..=*most).contains(&number) && (!is_whole || number.fract() == 0.0);
        text.trim().parse().is_ok_and(fits)
    }
}

impl Field {
    /// A field in the bar above the report, with its value from the choices.
    #[must_use]
    pub fn new(choices: &Choices, key: &str, label: &str, control: Control, usual: impl Into<String>) -> Self {
        let usual = usual.into();
        let value = choices.get(key).map_or_else(|| usual.clone(), str::to_owned);
        Self {
            key: key.to_owned(),
            label: label.to_owned(),
            hint: String::new(),
            group: String::new(),
            control,
            value,
            usual,
            leads: Vec::new(),
            picked: false,
        }
    }

    /// The field, placed in a group.
    #[must_use]
    pub fn of(mut self, group: &str) -> Self {
        group.clone_into(&mut self.group);
        self
    }

    /// The field with a hint.
    #[must_use]
    pub fn hinted(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.hint);
        self
    }

    /// The same, but pinning a point of a chart chooses its series.
    #[must_use]
    pub const fn picked(mut self) -> Self {
        self.picked = true;
        self
    }

    /// The same, but choosing it takes back the rest of its group.
    #[must_use]
    pub fn leading(self) -> Self {
        let group = self.group.clone();
        self.leading_of(&[&group])
    }

    /// The same, but choosing it takes back what was chosen in these groups.
    #[must_use]
    pub fn leading_of(mut self, groups: &[&str]) -> Self {
        self.leads = groups.iter().map(|group| (*group).to_owned()).collect();
        self
    }
}

/// A table whose rows are choices: opening one chooses its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowChoice {
    /// The key of the field.
    pub key: String,
    /// The value for each row.
    pub values: Vec<String>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_choice_takes_the_place_of_the_one_before() {
        let mut choices = Choices::parse("#v=1&w=topology&x=1&n=4&n=8&broken&%zz=1");
        assert_eq!(choices.iter().collect::<Vec<_>>(), [("n", "8")]);
        choices.set("n", "16");
        assert_eq!(choices.parsed::<u32>("n", "a whole number"), Ok(Some(16)));
        choices.set("n", " ");
        assert_eq!(choices.parsed::<u32>("n", "a whole number"), Ok(None));
        choices.set("n", "many");
        let error = choices.parsed::<u32>("n", "a whole number").unwrap_err();
        assert_eq!(error.to_string(), "n: \"many\" is not a whole number");
        choices.clear("n");
        assert!(choices.is_empty());
    }

    #[test]
    fn what_was_encoded_once_more_is_read() {
        for fragment in
            ["#v%3D1%26w%3Doverlap%26shown%3Dforest%26name%3Da%2520b", "v%3d1%26shown%3dforest%26name%3da%2520b"]
        {
            let choices = Choices::parse(fragment);
            assert_eq!(choices.iter().collect::<Vec<_>>(), [("shown", "forest"), ("name", "a b")], "{fragment}");
        }
        // Where pairs stand as they are, what is encoded belongs to a value; what is no text is none afterwards either.
        for fragment in ["#v=1&name=a%3Db%26c", "#name=a%26b", "#%3D%FF", "#nothing", ""] {
            assert_eq!(restored(fragment), fragment);
        }
    }

    proptest! {
        #[test]
        fn any_address_may_be_encoded_once_more(pairs in proptest::collection::vec(("[a-z]{1,8}", ".{0,40}"), 1..20)) {
            let mut choices = Choices::default();
            pairs.iter().for_each(|(key, value)| choices.set(key, value));
            let fragment = format!("v=1{}", choices.suffix());
            // As JavaScript's encodeURIComponent does it.
            let encode = |byte: u8| {
                let is_plain = byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
                if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            };
            let again: String = fragment.bytes().map(encode).collect();
            let marked = format!("#{again}");
            prop_assert_eq!(restored(&marked).into_owned(), format!("#{fragment}"));
            prop_assert_eq!(Choices::parse(&again), Choices::parse(&fragment));
        }

        #[test]
        fn what_is_written_reads_back(pairs in proptest::collection::vec((".{1,12}", ".{0,40}"), 0..20)) {
            let mut choices = Choices::default();
            for (key, value) in pairs.iter().filter(|(key, _)| !OF_THE_PAGE.contains(&key.as_str())) {
                choices.set(key, value);
            }
            prop_assert_eq!(Choices::parse(&format!("#v=1{}", choices.suffix())), choices);
        }

        #[test]
        fn any_text_is_read(text in ".{0,300}") {
            let _ = Choices::parse(&text);
        }
    }
}
