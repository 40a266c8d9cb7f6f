//! Forms as data: the page draws any form, an address carries any choices, and neither depends on the workbench.

use std::{borrow::Cow, iter};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::units::Size;

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

impl ChoiceError {
    /// The error of a value of the field with this label.
    pub fn new(label: &str, value: &str, expected: &str) -> Self {
        Self { label: label.to_owned(), value: value.chars().take(40).collect(), expected: expected.to_owned() }
    }
}

/// Keys of an address that say which page it is, not what was chosen.
const OF_THE_PAGE: [&str; 4] = ["v", "w", "x", "tab"];
const MOST: usize = 200;

impl Choices {
    /// The value that was chosen for a key.
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

    /// Whether nothing was chosen, so that every field has its default.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values, in the order in which they were chosen.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Reads them from the fragment of an address; what can't be read is passed over.
    ///
    /// ```
    /// use collectune::form::Choices;
    /// let choices = Choices::parse("#v=1&w=overlap&shown=forest&name=a%20b");
    /// assert_eq!((choices.get("shown"), choices.get("name")), (Some("forest"), Some("a b")));
    /// assert_eq!(choices.suffix(), "&shown=forest&name=a%20b");
    /// ```
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

    /// The choices for the form that there is after files were opened or closed: what names a file by its place among
    /// others follows that file, and goes with it. Labels tell which file is meant.
    pub fn after_other_files(&self, before: &[Field], after: &[Field]) -> Self {
        let mut carried = Self::default();
        let mut gone: Vec<&Field> = Vec::new();
        for (key, value) in self.iter() {
            let of = |form: &'_ [Field]| form.iter().position(|field| field.key == key);
            let Some(old) = of(before).map(|at| &before[at]) else {
                carried.set(key, value);
                continue;
            };
            let new = match key.rsplit_once('.').filter(|(_, place)| is_number(place)) {
                Some((what, _)) => after.iter().find(|field| {
                    field.label == old.label && field.key.rsplit_once('.').is_some_and(|(other, _)| other == what)
                }),
                None => of(after).map(|at| &after[at]),
            };
            let moved = match (&old.control, new) {
                (_, Some(new)) => moved_option(&old.control, &new.control, value).map(|value| (new, value)),
                _ => None,
            };
            match moved {
                Some((new, value)) => carried.set(&new.key, &value),
                // A field that is not there may come again with another choice, but not one of a file.
                None if new.is_none() && !key.rsplit_once('.').is_some_and(|(_, place)| is_number(place)) => {
                    carried.set(key, value);
                }
                None => gone.push(old),
            }
        }
        // A leader that nobody chose may show another file now.
        let shown = |field: &Field| field.shown_option().map(|label| beginning(label).to_owned());
        let is_other = |old: &&Field| {
            let new = after.iter().find(|field| field.key == old.key).and_then(shown);
            let is_file = old.value.ends_with(|last: char| last.is_ascii_digit()) && shown(old).is_some();
            !old.leads.is_empty() && self.get(&old.key).is_none() && is_file && new != shown(old)
        };
        gone.extend(before.iter().filter(is_other));
        for leader in gone {
            let led = after.iter().filter(|field| leader.leads.contains(&field.group));
            led.for_each(|field| carried.clear(&field.key));
        }
        carried
    }

    /// Sentences on the choices that a form does not offer, and what it shows instead.
    pub fn not_offered(&self, form: &[Field]) -> Vec<String> {
        const LONGEST: usize = 40;
        let told = form.iter().filter_map(|field| {
            let missing: String = field.lacks(self.get(&field.key)?)?.chars().take(LONGEST).collect();
            if let Control::Many(_) = &field.control {
                return Some(format!("{}: {missing} was chosen and is not there.", field.label));
            }
            let label = field.shown_option()?;
            Some(format!("{}: {missing} was chosen and is not there, {label} is taken instead.", field.label))
        });
        told.collect()
    }

    /// The choices with those that a form takes in place of what it does not offer.
    #[must_use]
    pub fn as_offered(&self, form: &[Field]) -> Self {
        let mut offered = self.clone();
        for field in
            form.iter().filter(|field| self.get(&field.key).is_some_and(|chosen| field.lacks(chosen).is_some()))
        {
            offered.set(&field.key, &field.value);
        }
        offered
    }

    /// The choices as the rest of an address fragment.
    pub fn suffix(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.0 {
            let escaped = |text| utf8_percent_encode(text, ESCAPED);
            text.extend(iter::once("&").chain(escaped(key)).chain(iter::once("=")).chain(escaped(value)));
        }
        text
    }
}

/// Whether a text is made of digits.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value is among options, each with its label.
fn offers(options: &[(String, String)], value: &str) -> bool {
    options.iter().any(|(known, _)| known == value)
}

/// The label of a file up to what is said of its contents.
fn beginning(label: &str) -> &str {
    label.split(": ").next().unwrap_or_default()
}

/// The value of an option in another form: where values are places (`f2`, `model-1`, `3`), that of the option with the
/// same label, up to a colon; `None` where no option has it.
fn moved_option(before: &Control, after: &Control, value: &str) -> Option<String> {
    let (Control::One(old), Control::One(new)) = (before, after) else { return Some(value.to_owned()) };
    let is_place = value.ends_with(|last: char| last.is_ascii_digit());
    let label = old.iter().find(|(known, _)| known == value).map(|(_, label)| label).filter(|_| is_place);
    let Some(label) = label else { return Some(value.to_owned()) };
    let is_same = |(_, other): &&(String, String)| beginning(other) == beginning(label);
    let stays = new.iter().find(|(known, _)| known == value).filter(is_same);
    stays.or_else(|| new.iter().find(is_same)).map(|(value, _)| value.clone())
}

/// The fragment as it was before a chat program or mail scanner encoded it a second time, with `%26` and `%3D` in
/// place of `&` and `=`. Other fragments are returned unchanged.
///
/// ```
/// use collectune::form::restored;
/// assert_eq!(restored("#v%3D1%26w%3Doverlap%26name%3Da%2520b"), "#v=1&w=overlap&name=a%20b");
/// assert_eq!(restored("#v=1&name=a%3Db"), "#v=1&name=a%3Db");
/// ```
pub fn restored(fragment: &str) -> Cow<'_, str> {
    let has_pairs = fragment.contains(['=', '&']);
    let is_encoded = || fragment.as_bytes().windows(3).any(|bytes| bytes.eq_ignore_ascii_case(b"%3d"));
    if has_pairs || !is_encoded() {
        return fragment.into();
    }
    decoded(fragment).map_or(fragment.into(), Cow::Owned)
}

/// The value of a key in a fragment that [`restored`] returned; the last one if the key is repeated.
pub fn value<'a>(fragment: &'a str, key: &str) -> Option<&'a str> {
    let pairs = fragment.trim_start_matches('#').split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(of, _)| *of == key).map(|(_, value)| value).next_back()
}

/// The key of the tab that a fragment names; empty where it names none.
///
/// ```
/// assert_eq!(collectune::form::tab("#v=1&w=topology&tab=links"), "links");
/// assert_eq!(collectune::form::tab("#v=1&w=topology&tab=<b>"), "");
/// ```
pub fn tab(fragment: &str) -> String {
    let fragment = restored(fragment);
    let is_key = |key: &&str| key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    value(&fragment, "tab").filter(is_key).unwrap_or_default().to_owned()
}

/// What is escaped in an address: everything but letters, digits and these.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b',')
    .remove(b':')
    .remove(b'/')
    .remove(b'*')
    .remove(b'+');

/// None where a `%` begins no escape, and where the bytes are no text.
fn decoded(text: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let is_valid = text.split('%').skip(1).all(is_escape);
    is_valid.then(|| percent_decode_str(text).decode_utf8().ok())?.map(Cow::into_owned)
}

/// A group of fields: a variant of an enum of the workbench, by its number, and its title. It stands in the section
/// that names it, else in a fold of the bar above the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Which group of the workbench it is.
    pub number: u8,
    /// The title, for the page.
    pub title: Cow<'static, str>,
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its key in [`Choices`] and in the address; unique in the form.
    pub key: String,
    /// The label, with the unit.
    pub label: String,
    /// What the field is for, in a sentence; empty if the label says it.
    pub hint: String,
    /// Its group; `None` for the bar above the answer.
    pub group: Option<Group>,
    /// The control that edits the field.
    pub control: Control,
    /// The value that is shown, as text.
    pub value: String,
    /// The value where nothing is chosen, as text.
    pub usual: String,
    /// Groups whose choices are taken back where this one is made.
    pub leads: Vec<Option<Group>>,
    /// Pinning a point of a chart chooses its series here, where one of the labels is the series' name.
    pub picked: bool,
    /// A button beside the field exchanges its value with the one of the field with this key.
    pub swaps_with: Option<String>,
    /// The page shows it only while the field with this key has one of these values.
    pub only_for: Option<(String, Vec<String>)>,
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
        /// The smallest value that is taken.
        least: f64,
        /// The largest value that is taken.
        most: f64,
        /// Whether it is a whole number.
        is_whole: bool,
    },
    /// A number on a slider.
    Slider {
        /// The value at the left end.
        least: f64,
        /// The value at the right end.
        most: f64,
        /// The distance between two values.
        step: f64,
    },
    /// A line of text, with suggestions.
    Text(Vec<String>),
    /// Several lines of text, as one value.
    Lines,
}

impl Control {
    /// A number of this range.
    pub const fn within(least: f64, most: f64) -> Self {
        Self::NumberWithin { least, most, is_whole: false }
    }

    /// A whole number of this range.
    pub fn whole(least: u32, most: u32) -> Self {
        Self::NumberWithin { least: least.into(), most: most.into(), is_whole: true }
    }

    /// Whether a [`NumberWithin`](Self::NumberWithin) takes this text; every other control takes any.
    pub fn takes(&self, text: &str) -> bool {
        let Self::NumberWithin { least, most, is_whole } = self else { return true };
        let fits = |number: f64| (*least..=*most).contains(&number) && (!is_whole || number.fract() == 0.0);
        text.trim().parse().is_ok_and(fits)
    }

    /// The values that a [`NumberWithin`](Self::NumberWithin) takes, in words; nothing of other controls.
    pub fn expected(&self) -> String {
        match self {
            Self::NumberWithin { least, most, is_whole: true } => format!("a whole number from {least} to {most}"),
            Self::NumberWithin { least, most, .. } => format!("a number from {least} to {most}"),
            _ => String::new(),
        }
    }

    /// Options, each with value and label.
    pub fn options(options: &[(&str, &str)]) -> Vec<(String, String)> {
        options.iter().map(|(value, label)| ((*value).to_owned(), (*label).to_owned())).collect()
    }

    /// A choice of one of these, each with value and label.
    pub fn one(options: &[(&str, &str)]) -> Self {
        Self::One(Self::options(options))
    }

    /// A line of text, with suggestions.
    pub fn text(likely: &[&str]) -> Self {
        Self::Text(likely.iter().map(|text| (*text).to_owned()).collect())
    }
}

impl Field {
    /// Whether the text may be chosen: one that its control takes, or none where none is its default.
    pub fn takes(&self, text: &str) -> bool {
        self.control.takes(text) || text.trim().is_empty() && self.usual.is_empty()
    }

    /// The label of the option that it shows; `None` of a field without options, or of another value.
    fn shown_option(&self) -> Option<&str> {
        let Control::One(options) = &self.control else { return None };
        options.iter().find(|(value, _)| *value == self.value).map(|(_, label)| label.as_str())
    }

    /// What of a choice it does not offer, where it shows something else; `None` where it offers it all.
    fn lacks(&self, chosen: &str) -> Option<String> {
        match &self.control {
            Control::One(options) if chosen != self.value && !offers(options, chosen) => Some(chosen.to_owned()),
            Control::Many(options) => {
                let missing: Vec<&str> =
                    chosen.split(',').filter(|one| !one.is_empty() && !offers(options, one)).collect();
                (!missing.is_empty()).then(|| missing.join(", "))
            }
            _ => None,
        }
    }

    /// A field with its key, label and control, for a [`Form`].
    pub fn new(key: &str, label: &str, control: Control) -> Self {
        Self {
            key: key.to_owned(),
            label: label.to_owned(),
            hint: String::new(),
            group: None,
            control,
            value: String::new(),
            usual: String::new(),
            leads: Vec::new(),
            picked: false,
            swaps_with: None,
            only_for: None,
        }
    }

    /// The field with a hint.
    #[must_use]
    pub fn hinted(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.hint);
        self
    }

    /// The field with a default that its settings don't show.
    #[must_use]
    pub fn usually(mut self, usual: impl Into<String>) -> Self {
        self.usual = usual.into();
        self
    }

    /// The same, but pinning a point of a chart chooses its series.
    #[must_use]
    pub const fn picked(mut self) -> Self {
        self.picked = true;
        self
    }

    /// The same, but shown only while the field with this key has one of these values.
    #[must_use]
    pub fn only_for(mut self, key: &str, values: impl IntoIterator<Item = String>) -> Self {
        self.only_for = Some((key.to_owned(), values.into_iter().collect()));
        self
    }

    /// The same, with a button that exchanges its value with the one of the field with this key.
    #[must_use]
    pub fn swapping(mut self, key: &str) -> Self {
        self.swaps_with = Some(key.to_owned());
        self
    }

    /// The same, but choosing it takes back what was chosen in these groups.
    #[must_use]
    pub fn leading(mut self, groups: Vec<Option<Group>>) -> Self {
        self.leads = groups;
        self
    }
}

/// A value of a workbench's settings, as a field shows and sets it.
pub trait Setting {
    /// What valid values are, as errors say it.
    const EXPECTED: &'static str;

    /// The value as a field shows it and an address writes it.
    fn text(&self) -> String;

    /// Sets it to what was chosen; `None` if that is not valid. It is left as it is where its field was emptied.
    fn set(&mut self, text: &str) -> Option<()>;
}

macro_rules! parsed {
    ($($value:ty: $expected:expr),*) => {$(
        impl Setting for $value {
            const EXPECTED: &'static str = $expected;

            fn text(&self) -> String {
                self.to_string()
            }

            fn set(&mut self, text: &str) -> Option<()> {
                let mut read = None::<Self>;
                read.set(text)?;
                read.into_iter().for_each(|value| *self = value);
                Some(())
            }
        }

        impl Setting for Option<$value> {
            const EXPECTED: &'static str = $expected;

            fn text(&self) -> String {
                self.as_ref().map(ToString::to_string).unwrap_or_default()
            }

            fn set(&mut self, text: &str) -> Option<()> {
                if !text.trim().is_empty() {
                    *self = Some(text.trim().parse().ok()?);
                }
                Some(())
            }
        }
    )*};
}

parsed!(
    u16: "a whole number from 0 on",
    u32: "a whole number from 0 on",
    u64: "a whole number from 0 on",
    usize: "a whole number from 0 on",
    f64: "a number"
);
parsed!(Size: Size::EXPECTED, String: "a text");

/// Makes a [`Setting`] of values with commas between them; none where the text is empty.
macro_rules! list_setting {
    ($($item:ty: $expected:expr),*) => {$(
        impl $crate::form::Setting for Vec<$item> {
            const EXPECTED: &'static str = $expected;

            fn text(&self) -> String {
                self.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            }

            fn set(&mut self, text: &str) -> Option<()> {
                *self = text.split(',').filter(|item| !item.is_empty()).map(|item| item.parse().ok()).collect::<Option<_>>()?;
                Some(())
            }
        }
    )*};
}
pub(crate) use list_setting;

impl Setting for bool {
    const EXPECTED: &'static str = "1 or empty";

    fn text(&self) -> String {
        if *self { "1".to_owned() } else { String::new() }
    }

    fn set(&mut self, text: &str) -> Option<()> {
        *self = text == "1";
        Some(())
    }
}

/// A walk over the table of a workbench's fields. Each entry names key, label and control of a field and the place of
/// its value in the workbench's settings: what is there is the field's default, and what was chosen is put there. So
/// one table makes settings of choices, and the form of settings; an entry can depend on what the ones before it chose.
pub struct Form<'a> {
    choices: &'a Choices,
    group: Option<Group>,
    /// Whether the page is to show the fields that follow: others can be chosen by an address all the same.
    pub is_listed: bool,
    fields: Vec<Field>,
    error: Option<ChoiceError>,
}

impl<'a> Form<'a> {
    /// A walk by these choices. The fields up to the first group stand in the bar above the answer.
    pub const fn new(choices: &'a Choices) -> Self {
        Self { choices, group: None, is_listed: true, fields: Vec::new(), error: None }
    }

    /// The fields that follow belong to this group.
    pub fn group(&mut self, group: impl Into<Group>) {
        self.group = Some(group.into());
        self.is_listed = true;
    }

    /// A field whose value is in `place`.
    pub fn field<T: Setting>(&mut self, field: Field, place: &mut T) {
        self.field_of(field, T::EXPECTED, place);
    }

    /// A field whose value is in `place`, where errors say otherwise what is expected.
    pub fn field_of<T: Setting>(&mut self, mut field: Field, expected: &str, place: &mut T) {
        if field.usual.is_empty() {
            field.usual = place.text();
        }
        let refused = self.get(&field.key).filter(|text| !text.trim().is_empty() && !field.control.takes(text));
        match refused {
            Some(text) => self.refuse(ChoiceError::new(&field.label, text, &field.control.expected())),
            None => self.set(&field.key, &field.label, expected, place),
        }
        self.chosen(field);
    }

    /// A field whose value the caller knows.
    pub fn add(&mut self, mut field: Field) {
        if self.is_listed {
            field.group.clone_from(&self.group);
            self.fields.push(field);
        }
    }

    /// A value that can be chosen by an address, without a field in this form.
    pub fn unlisted<T: Setting>(&mut self, key: &str, expected: &str, place: &mut T) {
        self.set(key, key, expected, place);
    }

    /// Errors name the value by its label, which people see.
    fn set<T: Setting>(&mut self, key: &str, label: &str, expected: &str, place: &mut T) {
        if let Some(text) = self.choices.get(key)
            && place.set(text).is_none()
        {
            self.refuse(ChoiceError::new(label, text.trim(), expected));
        }
    }

    /// A field of a number from 1 on that is shown as it counts: where the field was emptied, the default.
    pub fn number(&mut self, field: Field, place: &mut u32) {
        const EXPECTED: &str = "a whole number from 1 on";
        let listed = self.fields.len();
        let (key, label) = (field.key.clone(), field.label.clone());
        self.field_of(field, EXPECTED, place);
        if let Some(text) = self.get(&key).filter(|_| *place == 0) {
            self.refuse(ChoiceError::new(&label, text, EXPECTED));
        }
        if let Some(field) = self.fields.get_mut(listed) {
            field.value = place.to_string();
        }
    }

    /// A field whose value the caller reads: the text that was chosen.
    pub fn chosen(&mut self, mut field: Field) -> Option<&'a str> {
        let chosen = self.choices.get(&field.key);
        field.value = chosen.unwrap_or(&field.usual).to_owned();
        self.add(field);
        chosen
    }

    /// A field that offers values. One that is chosen and not offered, such as that of a file that was closed, counts
    /// as not chosen.
    pub fn offered(&mut self, mut field: Field) -> Option<&'a str> {
        let Control::One(options) = &field.control else { return self.chosen(field) };
        let chosen = self.choices.get(&field.key).filter(|chosen| offers(options, chosen));
        field.value = chosen.unwrap_or(&field.usual).to_owned();
        self.add(field);
        chosen
    }

    /// A field that offers several values at once. Of those that are chosen the ones that are offered count; where
    /// there is none among them, nothing counts as chosen.
    pub fn offered_of(&mut self, mut field: Field) -> Option<String> {
        let Control::Many(options) = &field.control else { return self.chosen(field).map(str::to_owned) };
        let chosen = self.choices.get(&field.key).and_then(|chosen| {
            let known: Vec<&str> = chosen.split(',').filter(|one| offers(options, one)).collect();
            (chosen.is_empty() || !known.is_empty()).then(|| known.join(","))
        });
        field.value = chosen.clone().unwrap_or_else(|| field.usual.clone());
        self.add(field);
        chosen
    }

    /// A field whose text, unless it is empty, is read by a function.
    pub fn read<T>(&mut self, field: Field, read: impl FnOnce(&str) -> Result<T, ChoiceError>) -> Option<T> {
        let text = self.chosen(field)?.trim();
        if text.is_empty() {
            return None;
        }
        read(text).map_err(|error| self.refuse(error)).ok()
    }

    /// The value that was chosen for a key, whether it has a field or not.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.choices.get(key)
    }

    /// Notes that a choice is not valid. The first that was noted is the error of the form.
    pub fn refuse(&mut self, error: ChoiceError) {
        self.error.get_or_insert(error);
    }

    /// Adds what another walk over the same choices found.
    pub fn append(&mut self, other: Form<'_>) {
        self.fields.extend(other.fields);
        other.error.into_iter().for_each(|error| self.refuse(error));
    }

    /// The fields, for the page: a choice that is not valid stays in its field, to be mended.
    pub fn into_fields(self) -> Vec<Field> {
        self.fields
    }

    /// What was walked over, if all choices are valid.
    ///
    /// # Errors
    /// Returns the error of the first choice that is not.
    pub fn checked<T>(self, settings: T) -> Result<T, ChoiceError> {
        self.error.map_or(Ok(settings), Err)
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
        let read = |value: &str| {
            let (mut choices, mut n) = (Choices::default(), 4_u32);
            choices.set("n", value);
            let mut form = Form::new(&choices);
            form.field(Field::new("n", "Nodes", Control::Number), &mut n);
            assert_eq!((form.fields[0].usual.as_str(), form.fields[0].value.as_str()), ("4", value));
            form.checked(n)
        };
        assert_eq!((read("16"), read(" ")), (Ok(16), Ok(4)));
        assert_eq!(read("-1").unwrap_err().to_string(), "Nodes: \"-1\" is not a whole number from 0 on");
        choices.clear("n");
        assert!(choices.is_empty());
    }

    #[test]
    fn choices_follow_their_files() {
        let form = |files: &[&str]| {
            let options = (1..).zip(files).map(|(n, name)| (format!("f{n}"), format!("{name}: {n} links"))).collect();
            let mut graph = Field::new("graph", "Graph", Control::One(options)).leading(vec![None]);
            graph.value = "f1".to_owned();
            let mut fields = vec![graph, Field::new("cut", "Cut links", Control::Number)];
            fields.extend(
                (1..)
                    .zip(files)
                    .map(|(n, name)| Field::new(&format!("arm.{n}"), &format!("{name}: arm"), Control::Number)),
            );
            fields
        };
        let after = |choices: &str, before: &[&str], now: &[&str]| {
            Choices::parse(choices).after_other_files(&form(before), &form(now)).suffix()
        };
        assert_eq!(after("graph=f2&cut=0&arm.2=auto", &["a", "b"], &["b", "c"]), "&graph=f1&cut=0&arm.1=auto");
        assert_eq!(after("graph=f2&cut=0&arm.2=auto", &["a", "b"], &["a", "c"]), "");
        assert_eq!(after("graph=f1&arm.1=auto", &["a"], &["a", "b"]), "&graph=f1&arm.1=auto");
        assert_eq!(after("graph=mesh&seed=3", &["a", "b"], &["b"]), "&graph=mesh&seed=3");
        // Nobody chose the first file, and it is another one now.
        assert_eq!(after("cut=0", &["a", "b"], &["b"]), "");
        assert_eq!(after("cut=0", &["a"], &["a", "b"]), "&cut=0");
        let choices = Choices::parse("graph=f3");
        let told = choices.not_offered(&form(&["a", "b"]));
        assert_eq!(told, ["Graph: f3 was chosen and is not there, a: 1 links is taken instead."]);
        assert!(Choices::parse("graph=f1").not_offered(&form(&["a"])).is_empty());
        assert_eq!(choices.as_offered(&form(&["a", "b"])).suffix(), "&graph=f1");
        let columns = || Control::Many(vec![("a".to_owned(), "a".to_owned()), ("b".to_owned(), "b".to_owned())]);
        for (chosen, counts, told) in [
            ("a,c", Some("a"), Some("Columns: c was chosen and is not there.")),
            ("c", None, Some("Columns: c was chosen and is not there.")),
            ("b", Some("b"), None),
            ("", Some(""), None),
        ] {
            let choices = Choices::parse(&format!("columns={chosen}"));
            let mut form = Form::new(&choices);
            let found = form.offered_of(Field::new("columns", "Columns", columns()).usually("a,b"));
            let fields = form.into_fields();
            assert_eq!((found.as_deref(), fields[0].value.as_str()), (counts, counts.unwrap_or("a,b")), "{chosen}");
            assert_eq!(choices.not_offered(&fields).first().map(String::as_str), told, "{chosen}");
        }
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
