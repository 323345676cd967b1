//! Filters of lists: comparisons by `eq` and `ne` with regular expressions, and by `=`, `!=`, `:` and with `AND`, `OR`.

use regex::Regex;
use serde_json::Value;

use super::errors::{self, Refusal};

/// A filter as a request writes it.
#[derive(Debug)]
pub(super) enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    /// The whole value matches an expression.
    Matches(String, Regex),
    /// The value is this.
    Is(String, String),
    /// The value holds this, or there is any with `*`.
    Has(String, String),
}

impl Filter {
    /// Reads a filter. Empty, it lets all pass.
    pub(super) fn parse(text: &str) -> Result<Filter, Refusal> {
        let refused = || errors::invalid("filter", text, "Invalid list filter expression.");
        let words = words(text).ok_or_else(refused)?;
        let mut rest = words.as_slice();
        let filter = any(&mut rest).ok_or_else(refused)?;
        if rest.is_empty() { Ok(filter) } else { Err(refused()) }
    }

    /// Whether a resource passes.
    pub(super) fn passes(&self, body: &Value) -> bool {
        match self {
            Filter::All(parts) => parts.iter().all(|it| it.passes(body)),
            Filter::Any(parts) => parts.iter().any(|it| it.passes(body)),
            Filter::Not(part) => !part.passes(body),
            Filter::Matches(field, pattern) => value(body, field).is_some_and(|it| pattern.is_match(&it)),
            Filter::Is(field, wanted) => value(body, field).is_some_and(|it| it == *wanted),
            Filter::Has(field, wanted) => {
                let found = value(body, field);
                found.is_some_and(|it| wanted == "*" || it.to_lowercase().contains(&wanted.to_lowercase()))
            }
        }
    }
}

/// The text of a field: `labels.team`, `scheduling.preemptible`.
fn value(body: &Value, field: &str) -> Option<String> {
    let found = field.split('.').try_fold(body, |it, key| it.get(key))?;
    match found {
        Value::String(it) => Some(it.clone()),
        Value::Bool(it) => Some(it.to_string()),
        Value::Number(it) => Some(it.to_string()),
        _ => None,
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Word {
    Open,
    Close,
    /// `=`, `!=` or `:`.
    Sign(&'static str),
    Text(String),
    /// In quotation marks: no word of the language.
    Quoted(String),
}

fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            it if it.is_whitespace() => it.len_utf8(),
            '(' | ')' => {
                words.push(if first == '(' { Word::Open } else { Word::Close });
                1
            }
            '"' | '\'' => {
                let end = rest[1..].find(first)?;
                words.push(Word::Quoted(rest[1..=end].to_owned()));
                end + 2
            }
            '!' if rest.starts_with("!=") => {
                words.push(Word::Sign("!="));
                2
            }
            '=' => {
                words.push(Word::Sign("="));
                1
            }
            ':' => {
                words.push(Word::Sign(":"));
                1
            }
            _ => {
                let after_word = matches!(words.last(), Some(Word::Text(it)) if it == "eq" || it == "ne");
                let end = text_end(rest, after_word);
                words.push(Word::Text(rest[..end].to_owned()));
                end
            }
        };
        rest = &rest[taken..];
    }
    Some(words)
}

/// The end of a word. An expression without quotation marks goes on to a space, or to a parenthesis that it has not opened.
fn text_end(rest: &str, is_expression: bool) -> usize {
    let mut open = 0_usize;
    for (at, it) in rest.char_indices() {
        match it {
            it if it.is_whitespace() => return at,
            '(' if is_expression => open += 1,
            ')' if open > 0 => open -= 1,
            '(' | ')' => return at,
            '=' | '!' | ':' if !is_expression => return at,
            _ => {}
        }
    }
    rest.len()
}

fn any(rest: &mut &[Word]) -> Option<Filter> {
    let mut parts = vec![all(rest)?];
    while matches!(rest.first(), Some(Word::Text(it)) if it == "OR") {
        *rest = &rest[1..];
        parts.push(all(rest)?);
    }
    Some(Filter::Any(parts))
}

fn all(rest: &mut &[Word]) -> Option<Filter> {
    let mut parts = Vec::new();
    loop {
        match rest.first() {
            None | Some(Word::Close) => return Some(Filter::All(parts)),
            Some(Word::Text(it)) if it == "OR" => return Some(Filter::All(parts)),
            Some(Word::Text(it)) if it == "AND" => *rest = &rest[1..],
            Some(_) => parts.push(one(rest)?),
        }
    }
}

fn one(rest: &mut &[Word]) -> Option<Filter> {
    match rest.split_first()? {
        (Word::Open, inner) => {
            *rest = inner;
            let filter = any(rest)?;
            let (Word::Close, after) = rest.split_first()? else { return None };
            *rest = after;
            Some(filter)
        }
        (Word::Text(it), inner) if it == "NOT" => {
            *rest = inner;
            Some(Filter::Not(Box::new(one(rest)?)))
        }
        (Word::Text(field), [sign, Word::Text(value) | Word::Quoted(value), after @ ..]) => {
            *rest = after;
            let (field, value) = (field.clone(), value.clone());
            let whole = || Regex::new(&format!("^(?:{value})$")).ok();
            Some(match sign {
                Word::Text(it) if it == "eq" => Filter::Matches(field, whole()?),
                Word::Text(it) if it == "ne" => Filter::Not(Box::new(Filter::Matches(field, whole()?))),
                Word::Sign("=") => Filter::Is(field, value),
                Word::Sign("!=") => Filter::Not(Box::new(Filter::Is(field, value))),
                Word::Sign(":") => Filter::Has(field, value),
                _ => return None,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn filters_pass_what_they_say() {
        let body = json!({
            "name": "kubernetes-1", "network": "https://www.googleapis.com/compute/v1/projects/p1/global/networks/default",
            "description": "k8s-node-route", "labels": { "team": "blue" }, "priority": 1000, "canIpForward": true,
        });
        for (filter, passes) in [
            ("", true),
            ("name eq kubernetes-.*", true),
            ("name eq kubernetes", false),
            ("name eq \"kubernetes-(1|2)\"", true),
            ("name eq kubernetes-(1|2)", true),
            ("name ne kubernetes-.*", false),
            (
                "(name eq kubernetes-.*) (network eq https://www.googleapis.com/compute/v1/projects/p1/global/networks/default) (description eq k8s-node-route)",
                true,
            ),
            ("(name eq kubernetes-.*) (description eq other)", false),
            ("network eq \".*/global/networks/default\"", true),
            ("labels.team=blue", true),
            ("labels.team = \"red\"", false),
            ("labels.team:*", true),
            ("labels.other:*", false),
            ("labels.other != blue", true),
            ("labels.team=red OR priority=1000", true),
            ("labels.team=red AND priority=1000", false),
            ("NOT labels.team=red", true),
            ("canIpForward=true", true),
            ("name:NETES", true),
        ] {
            assert_eq!(Filter::parse(filter).unwrap().passes(&body), passes, "{filter}");
        }
    }

    #[test]
    fn filters_that_say_nothing_are_refused() {
        for filter in ["name", "name eq", "name eq (", "(name eq x", "name eq x)", "= x", "name eq [", "name eq \"x"] {
            assert!(Filter::parse(filter).is_err(), "{filter}");
        }
    }
}
