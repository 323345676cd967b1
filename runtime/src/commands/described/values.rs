//! Allowed values of annotations, read from the words that describe them, as an expression of CEL.
//!
//! The words are those of the SDK's forms. What is not known for sure is not judged: a value that the module takes is never
//! refused. So letter case is not judged, nor 0 where a number has bounds, nor an empty value.

/// Booleans, in small letters, as Go reads them.
const BOOLEANS: [&str; 6] = ["1", "t", "true", "0", "f", "false"];

/// A duration as Go writes it.
const DURATION: &str = "^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|ms|s|m|h))+$";

/// Values that can be told from others.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum AllowedValues {
    /// One of these, in small letters.
    Words(Vec<String>),
    /// A whole number within these bounds, or 0.
    Numbers(u64, u64),
    /// A duration within these bounds, as Go writes them; also a number of seconds, where they are told.
    Times { least: String, most: String, seconds: Option<(u64, u64)> },
}

impl AllowedValues {
    /// Reads `tcp or http`, `a whole number from 1 to 100` and their like.
    pub(super) fn parse(values: &str) -> Option<Self> {
        if values == "true or false" {
            return Some(Self::Words(BOOLEANS.map(str::to_owned).to_vec()));
        }
        if let Some(rest) =
            values.strip_prefix("a whole number").or_else(|| values.strip_prefix("one port, a whole number"))
        {
            let (least, most) = bounds(rest.split_once("from ")?.1, " to ")?;
            return Some(Self::Numbers(least.parse().ok()?, most.parse().ok()?));
        }
        if let Some(rest) = values.strip_prefix("a time such as 30s, from ") {
            let (least, most) = bounds(rest.strip_suffix(" in whole seconds")?, " to ")?;
            let seconds = |it: &str| it.strip_suffix('s')?.parse().ok();
            let seconds = Some((seconds(least)?, seconds(most)?));
            return Some(Self::Times { least: least.to_owned(), most: most.to_owned(), seconds });
        }
        if let Some(rest) = values.strip_prefix("between ") {
            let (least, most) = bounds(rest, " and ")?;
            let is_duration = |it: &str| go_duration::parse(it).is_ok();
            return (is_duration(least) && is_duration(most)).then(|| Self::Times {
                least: least.to_owned(),
                most: most.to_owned(),
                seconds: None,
            });
        }
        words(values)
    }

    /// An expression of CEL that is true if the text is allowed that the expression `value` gives.
    pub(super) fn cel(&self, value: &str) -> String {
        let within = |(least, most): (u64, u64)| format!("int({value}) >= {least} && int({value}) <= {most}");
        let check = match self {
            Self::Words(words) => {
                let words: Vec<_> = words.iter().map(|it| literal(it)).collect();
                format!("{value}.lowerAscii() in [{}]", words.join(", "))
            }
            Self::Numbers(least, most) => {
                format!("{value} == '0' || ({value}.matches('^[+]?[0-9]{{1,18}}$') && {})", within((*least, *most)))
            }
            Self::Times { least, most, seconds } => {
                let duration = format!(
                    "({value}.matches('{DURATION}') && duration({value}) >= duration('{least}') && duration({value}) <= \
                     duration('{most}'))"
                );
                match seconds {
                    Some(bounds) => {
                        format!("({value}.matches('^[0-9]{{1,18}}$') && {}) || {duration}", within(*bounds))
                    }
                    None => duration,
                }
            }
        };
        format!("{value} == '' || {check}")
    }
}

fn bounds<'a>(text: &'a str, between: &str) -> Option<(&'a str, &'a str)> {
    text.split_once(between).filter(|(least, most)| !least.contains(' ') && !most.contains(' '))
}

/// `tcp, http or https`: two words at least, and nothing that could be a description of a word.
fn words(values: &str) -> Option<AllowedValues> {
    let (others, last) = values.rsplit_once(" or ")?;
    let words: Vec<_> = others.split(", ").chain([last]).collect();
    let is_word = |word: &&str| {
        !word.is_empty() && word.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.'))
    };
    // "anything else" is two words, and "anything" or "none of these" is no value.
    let is_plain = words.iter().all(|it| is_word(it) && !it.eq_ignore_ascii_case("anything"));
    is_plain.then(|| AllowedValues::Words(words.iter().map(|it| it.to_ascii_lowercase()).collect()))
}

/// A text as a literal of CEL.
pub(super) fn literal(text: &str) -> String {
    serde_json::to_string(text).expect("a text becomes JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_the_sdk_are_known() {
        let words = |all: &[&str]| Some(AllowedValues::Words(all.iter().map(|it| (*it).to_owned()).collect()));
        let times = |least: &str, most: &str, seconds| {
            Some(AllowedValues::Times { least: least.to_owned(), most: most.to_owned(), seconds })
        };
        for (text, known) in [
            ("true or false", words(&BOOLEANS)),
            ("tcp, HTTP or lb-small_2.1", words(&["tcp", "http", "lb-small_2.1"])),
            ("5 or 60", words(&["5", "60"])),
            ("a whole number from 1 to 100", Some(AllowedValues::Numbers(1, 100))),
            ("a whole number of seconds from 30 to 600", Some(AllowedValues::Numbers(30, 600))),
            ("one port, a whole number from 1 to 65535", Some(AllowedValues::Numbers(1, 65_535))),
            ("a time such as 30s, from 1s to 3600s in whole seconds", times("1s", "3600s", Some((1, 3_600)))),
            ("between 250ms and 2h", times("250ms", "2h", None)),
        ] {
            assert_eq!(AllowedValues::parse(text), known, "{text}");
        }
    }

    #[test]
    fn values_that_are_described_in_a_sentence_are_not_judged() {
        for text in [
            "",
            "*",
            "anything",
            "a DNS name such as lb.example.com",
            "a port, or traffic-port",
            "tcp or anything",
            "nlb, external, nlb-ip, or anything else",
            "false, or anything else for true",
            "between you and me",
            "a list of ports such as 80,8080",
            "port numbers and port names with commas between them, or *",
        ] {
            assert_eq!(AllowedValues::parse(text), None, "{text}");
        }
    }
}
