//! Booleans, one of several words, and any text.

use super::traits::Form;

/// Yes or no, in the spellings of Go: `1`, `t`, `T`, `true`, `True`, `TRUE`, and the same for no.
#[derive(Clone, Copy, Debug)]
pub struct Bool;

impl Form for Bool {
    type Value<'a> = bool;

    fn parse(&self, text: &str) -> Option<bool> {
        match text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        }
    }

    fn allowed(&self) -> String {
        "true or false".to_owned()
    }
}

/// One of a few words, each with its value.
#[derive(Clone, Copy, Debug)]
pub struct OneOf<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy> Form for OneOf<T> {
    type Value<'a> = T;

    fn parse(&self, text: &str) -> Option<T> {
        self.0.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning)
    }

    fn allowed(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|(word, _)| *word).collect();
        match words.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        }
    }
}

impl<T: Copy + PartialEq> OneOf<T> {
    /// The word for this value, if there is one.
    #[must_use]
    pub fn word(&self, meaning: T) -> Option<&'static str> {
        self.0.iter().find(|(_, it)| *it == meaning).map(|(word, _)| *word)
    }
}

/// One of a few words in lower or upper case, each with its value.
#[derive(Clone, Copy, Debug)]
pub struct AnyCase<T: 'static>(pub OneOf<T>);

impl<T: Copy> Form for AnyCase<T> {
    type Value<'a> = T;

    fn parse(&self, text: &str) -> Option<T> {
        let Self(OneOf(words)) = self;
        words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, meaning)| *meaning)
    }

    fn allowed(&self) -> String {
        self.0.allowed()
    }
}

/// Any text. Holds what the description says of it.
#[derive(Clone, Copy, Debug)]
pub struct Text(pub &'static str);

impl Form for Text {
    type Value<'a> = &'a str;

    fn parse<'a>(&self, text: &'a str) -> Option<&'a str> {
        Some(text)
    }

    fn allowed(&self) -> String {
        self.0.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_those_of_go() {
        for text in ["1", "t", "T", "true", "True", "TRUE"] {
            assert_eq!(Bool.parse(text), Some(true), "{text}");
        }
        for text in ["0", "f", "F", "false", "False", "FALSE"] {
            assert_eq!(Bool.parse(text), Some(false), "{text}");
        }
        for text in ["yes", "no", "on", "tRUE", "2", ""] {
            assert_eq!(Bool.parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_word_is_read_and_found_by_its_meaning() {
        let form = OneOf(&[("tcp", 4), ("http", 7)]);
        assert_eq!((form.parse("http"), form.parse("HTTP")), (Some(7), None));
        assert_eq!((form.word(7), form.word(5)), (Some("http"), None));
        assert_eq!((AnyCase(form).parse("HTTP"), AnyCase(form).parse("udp")), (Some(7), None));
        assert_eq!(AnyCase(form).allowed(), "tcp or http");
    }
}
