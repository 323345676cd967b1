//! Label selectors in annotations: which nodes are behind a load balancer is then the Service's word. They are read as
//! upstream's `labels.Parse` reads them. No client, no clock, no log.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::vec::IntoIter;

use cloud_provider::{Description, LoadBalancer, Node};

use crate::inventory::check::{is_label_key, is_label_value};

/// The longest that a person writes: 64 KiB of annotations would be compared with each node's labels.
const LONGEST: usize = 4 << 10;

/// What all nodes behind a load balancer have to match.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Selectors(Vec<(String, Operator)>);

/// The condition of one part of a selector, between two commas, for the label with its key.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Operator {
    Exists,
    DoesNotExist,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    GreaterThan(i64),
    LessThan(i64),
}

impl Selectors {
    /// Those in the annotations of a load balancer; if it has none, that of the operator's settings, if there is one.
    ///
    /// # Errors
    ///
    /// A sentence that names the annotation or the setting which cannot be read.
    pub(super) fn of(desired: &LoadBalancer, description: &Description) -> Result<Option<Self>, String> {
        let mut selectors = None::<Self>;
        for (key, text) in &desired.annotations {
            if description.annotation(key).is_some_and(|it| it.selects_nodes) {
                let read = parse(text).map_err(|because| {
                    format!("annotation {key} is no selector of node labels, such as \"pool=web,!spot\": {because}")
                })?;
                selectors.get_or_insert_default().0.extend(read);
            }
        }
        match (selectors, &description.node_selector) {
            (None, Some((name, text))) => in_setting(name, text).map(Some),
            (selectors, _) => Ok(selectors),
        }
    }

    /// Whether a node matches all of them.
    pub(super) fn matches(&self, node: &Node) -> bool {
        let value = |key: &str| node.labels.iter().find(|it| it.0 == key).map(|(_, value)| value);
        self.0.iter().all(|(key, operator)| operator.matches(value(key)))
    }
}

/// The selector in a setting of the operator's.
fn in_setting(name: &str, text: &str) -> Result<Selectors, String> {
    parse(text).map(Selectors).map_err(|because| {
        format!("provider.settings.{name} is no selector of node labels, such as \"pool=web,!spot\": {because}")
    })
}

/// Refuses a provider whose setting that selects nodes cannot be read as upstream's `labels.Parse` reads selectors.
///
/// # Errors
///
/// A sentence that names the setting.
pub fn check_node_selector(description: &Description) -> Result<(), String> {
    match &description.node_selector {
        Some((name, text)) => in_setting(name, text).map(drop),
        None => Ok(()),
    }
}

impl Operator {
    /// Whether the label has a value that matches, or matches by not being there.
    fn matches(&self, value: Option<&String>) -> bool {
        let number = || value.and_then(|it| it.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::In(values) => value.is_some_and(|it| values.contains(it)),
            Self::NotIn(values) => value.is_none_or(|it| !values.contains(it)),
            Self::GreaterThan(limit) => number().is_some_and(|it| it > *limit),
            Self::LessThan(limit) => number().is_some_and(|it| it < *limit),
        }
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Token {
    Word(String),
    /// `!`, `=`, `==`, `!=`, `>`, `<`, `(`, `)` or `,`.
    Symbol(&'static str),
}

/// The longer ones first: `!=` is no `!`.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ">", "<", "(", ")", ","];

fn parse(text: &str) -> Result<Vec<(String, Operator)>, String> {
    if text.len() > LONGEST {
        return Err(format!("it has {} bytes, and at most {LONGEST} are read", text.len()));
    }
    let mut tokens = tokens(text).into_iter().peekable();
    let mut requirements = Vec::new();
    while tokens.peek().is_some() {
        requirements.push(requirement(&mut tokens)?);
        match tokens.next() {
            None => break,
            Some(Token::Symbol(",")) if tokens.peek().is_some() => {}
            Some(Token::Symbol(",")) => return Err("a label is expected after the last ','".to_owned()),
            Some(other) => return Err(format!("found {}, expected ',' or the end", other.shown())),
        }
    }
    Ok(requirements)
}

fn tokens(text: &str) -> Vec<Token> {
    let is_space = |it: char| matches!(it, ' ' | '\t' | '\r' | '\n');
    let is_symbol = |it: char| matches!(it, '=' | '!' | '(' | ')' | ',' | '>' | '<');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let length = match SYMBOLS.into_iter().find(|it| rest.starts_with(it)) {
            Some(symbol) => {
                tokens.push(Token::Symbol(symbol));
                symbol.len()
            }
            None => {
                let end = rest.find(|it| is_space(it) || is_symbol(it)).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_owned()));
                end
            }
        };
        rest = rest[length..].trim_start_matches(is_space);
    }
    tokens
}

fn requirement(tokens: &mut Peekable<IntoIter<Token>>) -> Result<(String, Operator), String> {
    let is_negated = tokens.next_if_eq(&Token::Symbol("!")).is_some();
    let key = match tokens.next() {
        Some(Token::Word(key)) => key,
        other => return Err(format!("found {}, expected a label's key", shown(other.as_ref()))),
    };
    if !is_label_key(&key) {
        return Err(format!("{key:?} is no label's key"));
    }
    let operator = match tokens.peek() {
        None | Some(Token::Symbol(",")) if is_negated => Operator::DoesNotExist,
        None | Some(Token::Symbol(",")) => Operator::Exists,
        // As upstream: `!key` says all that there is to say.
        Some(other) if is_negated => return Err(format!("found {}, expected ',' or the end", other.shown())),
        Some(_) => operator(tokens)?,
    };
    Ok((key, operator))
}

fn operator(tokens: &mut Peekable<IntoIter<Token>>) -> Result<Operator, String> {
    let token = tokens.next();
    Ok(match &token {
        Some(Token::Symbol("=" | "==")) => Operator::In([value(tokens)?].into()),
        Some(Token::Symbol("!=")) => Operator::NotIn([value(tokens)?].into()),
        Some(Token::Symbol(">")) => Operator::GreaterThan(number(tokens)?),
        Some(Token::Symbol("<")) => Operator::LessThan(number(tokens)?),
        Some(Token::Word(word)) if word == "in" => Operator::In(values(tokens)?),
        Some(Token::Word(word)) if word == "notin" => Operator::NotIn(values(tokens)?),
        other => {
            return Err(format!("found {}, expected one of =, ==, !=, in, notin, >, <", shown(other.as_ref())));
        }
    })
}

/// What stands behind `=`: perhaps nothing, which is the empty value.
fn value(tokens: &mut Peekable<IntoIter<Token>>) -> Result<String, String> {
    match tokens.peek() {
        None | Some(Token::Symbol(",")) => Ok(String::new()),
        Some(Token::Word(_)) => word(tokens),
        Some(other) => Err(format!("found {}, expected a label's value", other.shown())),
    }
}

fn number(tokens: &mut Peekable<IntoIter<Token>>) -> Result<i64, String> {
    let value = value(tokens)?;
    value.parse().map_err(|_| format!("{value:?} is no whole number"))
}

/// What stands in parentheses: `(a,b)`. Where nothing stands before or behind a comma, that is the empty value.
fn values(tokens: &mut Peekable<IntoIter<Token>>) -> Result<BTreeSet<String>, String> {
    let mut values = BTreeSet::new();
    match tokens.next() {
        Some(Token::Symbol("(")) => {}
        other => return Err(format!("found {}, expected '('", shown(other.as_ref()))),
    }
    loop {
        values.insert(match tokens.peek() {
            Some(Token::Word(_)) => word(tokens)?,
            _ => String::new(),
        });
        match tokens.next() {
            Some(Token::Symbol(")")) => return Ok(values),
            Some(Token::Symbol(",")) => {}
            other => return Err(format!("found {}, expected ',' or ')'", shown(other.as_ref()))),
        }
    }
}

fn word(tokens: &mut Peekable<IntoIter<Token>>) -> Result<String, String> {
    match tokens.next() {
        Some(Token::Word(word)) if is_label_value(&word) => Ok(word),
        other => Err(format!("{} is no label's value", shown(other.as_ref()))),
    }
}

fn shown(token: Option<&Token>) -> String {
    token.map_or_else(|| "the end".to_owned(), Token::shown)
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Word(word) => format!("{word:?}"),
            Self::Symbol(symbol) => format!("'{symbol}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::Annotation;
    use measured_work::Line;

    use super::*;

    fn node(labels: &str) -> Node {
        let labels = labels.split(' ').filter_map(|it| it.split_once('='));
        Node { labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(), ..Node::default() }
    }

    #[track_caller]
    fn check(selector: &str, matching: &[&str], others: &[&str]) {
        let selectors = Selectors(parse(selector).unwrap());
        for labels in matching {
            assert!(selectors.matches(&node(labels)), "{selector:?} leaves out {labels:?}");
        }
        for labels in others {
            assert!(!selectors.matches(&node(labels)), "{selector:?} takes {labels:?}");
        }
    }

    #[test]
    fn the_operators_selector_holds_for_services_without_one() {
        let annotation =
            |key: &str, selects_nodes| Annotation { key: key.into(), selects_nodes, ..Annotation::default() };
        let description = |selector: Option<&str>| Description {
            annotations: vec![annotation("example.com/nodes", true), annotation("example.com/size", false)],
            node_selector: selector.map(|it| ("node-selector".to_owned(), it.to_owned())),
            ..Description::default()
        };
        let desired = |key: &str, value: &str| LoadBalancer {
            annotations: vec![(key.to_owned(), value.to_owned())],
            ..LoadBalancer::default()
        };
        let of = |desired: &LoadBalancer, selector| Selectors::of(desired, &description(selector));
        let read = |text: &str| Some(Selectors(parse(text).unwrap()));
        let (own, none) = (desired("example.com/nodes", "pool=a"), desired("example.com/size", "2"));
        assert_eq!(of(&none, Some("pool=b")), Ok(read("pool=b")));
        assert_eq!(of(&own, Some("pool=b")), Ok(read("pool=a")), "its own is the only one");
        assert_eq!(of(&own, None), Ok(read("pool=a")));
        assert_eq!(of(&none, None), Ok(None));
        let error = of(&none, Some("pool in a")).unwrap_err();
        assert!(error.starts_with("provider.settings.node-selector is no selector of node labels"), "{error}");
        assert_eq!(check_node_selector(&description(Some("pool in a"))), Err(error));
        assert_eq!(check_node_selector(&description(Some("pool in (a)"))), Ok(()));
        assert_eq!(check_node_selector(&description(None)), Ok(()));
    }

    /// The rows of upstream's `TestSelectorParse`, `TestSelectorMatches` and `TestSetSelectorParser`, as far as they differ.
    #[test]
    fn adv_158_selectors_cost_no_more_than_their_bytes() {
        let pieces: [&[u8]; 9] = [b"a", b"in (a,b)", b",", b"(", b")", b"!", b"pool=web,", b"a > 1,", b" "];
        measured_work::fuzz("selectors", Line { nanoseconds: 3_000, memory: 160 }, &pieces, |text| {
            drop(parse(&String::from_utf8_lossy(text)));
        });
    }

    #[test]
    fn selectors_are_read_as_upstream_reads_them() {
        check("", &["", "x=y"], &[]);
        check(" ", &["", "x=y"], &[]);
        check("x=y", &["x=y", "x=y z=w"], &["x=z", "z=w", ""]);
        check("x==y", &["x=y"], &["x=z"]);
        check("x=y,z=w", &["x=y z=w"], &["x=z z=w", "x=y"]);
        check("x!=y,z!=w", &["x=z z=a", "", "x=a"], &["x=z z=w", "x=y"]);
        check("x=a,y=b,z=c", &["x=a y=b z=c"], &["x=a y=b"]);
        check("x=", &["x="], &["x=a", ""]);
        check("x= ", &["x="], &["x=a"]);
        check("x=,z= ", &["x= z="], &["x=a z="]);
        check("x= ,z= ", &["x= z="], &["z="]);
        check("!x", &["y=z", ""], &["x=z", "x="]);
        check("x", &["x=z", "x="], &["y=z"]);
        check("x in (a,b)", &["x=a", "x=b"], &["x=c", "", "y=a"]);
        check("x notin (a,b)", &["x=c", "", "y=a"], &["x=a", "x=b"]);
        check("x in (a),y in (b)", &["x=a y=b"], &["x=a", "x=b y=b"]);
        check("x in (),y", &["x= y=1"], &["x=a y=1", "x="]);
        check("x in (,a)", &["x=", "x=a"], &["x=b", ""]);
        check("x in (a,)", &["x=", "x=a"], &["x=b"]);
        check("x in (,,a)", &["x=", "x=a"], &["x=b"]);
        check("x notin (), y in (a)", &["x=b y=a", "y=a"], &["x= y=a"]);
        check("x>1", &["x=2", "x=3"], &["x=1", "x=a", ""]);
        check("x>1,z<5", &["x=2 z=4"], &["x=2 z=5", "x=1 z=4"]);
        check("x<7", &["x=6"], &["x=8", ""]);
        check("\nx\n=\ty ", &["x=y"], &["x=z"]);
        check("in in (in,notin)", &["in=in", "in=notin"], &["in=a"]);
        check("notin", &["notin=a"], &[""]);
        check("!in", &[""], &["in=a"]);
        check("example.com/pool notin (spot)", &["", "example.com/pool=web"], &["example.com/pool=spot"]);
    }

    #[test]
    fn selectors_that_cannot_be_read_say_what_is_wrong() {
        for (selector, expected) in [
            ("x=a||y=b", "\"a||y\" is no label's value"),
            ("x==a==b", "found '==', expected ',' or the end"),
            ("!x=a", "found '=', expected ',' or the end"),
            ("x<a", "\"a\" is no whole number"),
            ("x=,", "a label is expected after the last ','"),
            ("x,,y", "found ',', expected a label's key"),
            (",x", "found ',', expected a label's key"),
            ("x y", "found \"y\", expected one of"),
            ("x in a", "found \"a\", expected '('"),
            ("x in (a b)", "found \"b\", expected ',' or ')'"),
            ("x in (a", "found the end, expected ',' or ')'"),
            ("x notin", "found the end, expected '('"),
            ("x=(a)", "found '(', expected a label's value"),
            ("!", "found the end, expected a label's key"),
            ("!!x", "found '!', expected a label's key"),
            ("a b/c=d", "found \"b/c\""),
            ("-x=a", "\"-x\" is no label's key"),
            ("x=-a", "\"-a\" is no label's value"),
            (&format!("x={}", "a".repeat(64)), "is no label's value"),
            (&"x,".repeat(4_000), "bytes, and at most"),
        ] {
            let error = parse(selector).unwrap_err();
            assert!(error.contains(expected), "{selector:?}: {error}");
        }
    }
}
