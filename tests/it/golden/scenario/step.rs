//! Steps of a recording beside new objects: patches, deletions, answers of the API server.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::Step;

/// A [`Step`], understood.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// The recorder saw that the process had started.
    Up,
    Patch {
        kind: String,
        name: String,
        status: bool,
        body: Value,
    },
    Delete {
        kind: String,
        name: String,
    },
    Answers(Vec<Answer>),
}

/// An answer of the API server that a proxy gave.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) method: String,
    /// A regular expression, looked for in path and query.
    pub(crate) path: String,
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) message: String,
    /// 0 and absent: always.
    #[serde(default)]
    pub(crate) count: u32,
}

impl Step {
    pub(crate) fn action(&self) -> Result<Action> {
        let words: Vec<&str> = self.action.split_whitespace().collect();
        let owned = |word: &str| word.to_owned();
        Ok(match words.as_slice() {
            ["CCM", "is", "up"] => Action::Up,
            ["patch", kind, name] => {
                Action::Patch { kind: owned(kind), name: owned(name), status: false, body: self.body.clone() }
            }
            ["patch", kind, name, "status"] => {
                Action::Patch { kind: owned(kind), name: owned(name), status: true, body: self.body.clone() }
            }
            ["delete", kind, name] => Action::Delete { kind: owned(kind), name: owned(name) },
            ["API", "answers", "set"] => Action::Answers(self.answers()?),
            _ => bail!("the runner does not know the action {:?} (at t={})", self.action, self.t),
        })
    }

    fn answers(&self) -> Result<Vec<Answer>> {
        let one_or_more = match self.body.clone() {
            Value::Array(answers) => answers,
            Value::Null => Vec::new(),
            answer => vec![answer],
        };
        one_or_more
            .into_iter()
            .map(|answer| serde_json::from_value(answer).with_context(|| format!("at t={}: {}", self.t, self.body)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_action_is_named() {
        let step = Step { t: 3.5, action: "set fire to Node n1".into(), body: Value::Null, _note: String::new() };
        let error = step.action().unwrap_err().to_string();
        assert_eq!(error, "the runner does not know the action \"set fire to Node n1\" (at t=3.5)");
    }

    #[test]
    fn an_unknown_word_of_an_answer_is_an_error() {
        let body = serde_json::json!({ "Method": "PUT", "Path": "/", "Status": 500, "Colour": "red" });
        let step = Step { t: 0.3, action: "API answers set".into(), body, _note: String::new() };
        let error = format!("{:#}", step.action().unwrap_err());
        assert!(error.contains("unknown field `Colour`"), "{error}");
    }
}
