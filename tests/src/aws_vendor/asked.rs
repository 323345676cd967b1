//! How much was asked.

use std::collections::BTreeMap;

/// How many requests there were.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Asked {
    /// Those of each action: `elbv2/CreateListener`.
    pub actions: BTreeMap<String, usize>,
}

impl Asked {
    /// How often each of these stands there.
    #[must_use]
    pub fn of(actions: impl IntoIterator<Item = String>) -> Self {
        let mut asked = Self::default();
        for action in actions {
            *asked.actions.entry(action).or_default() += 1;
        }
        asked
    }

    /// Adds others.
    pub fn add(&mut self, others: &Asked) {
        for (action, times) in &others.actions {
            *self.actions.entry(action.clone()).or_default() += times;
        }
    }

    /// Those that change nothing.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.actions.iter().filter(|it| is_read(it.0)).map(|it| it.1).sum()
    }

    /// The writes that are not among others', or not so often, and how many more there are.
    #[must_use]
    pub fn writes_beside(&self, others: &Asked) -> BTreeMap<String, usize> {
        let more = |(action, times): (&String, &usize)| {
            let more = times.saturating_sub(others.actions.get(action).copied().unwrap_or_default());
            (more > 0 && !is_read(action)).then(|| (action.clone(), more))
        };
        self.actions.iter().filter_map(more).collect()
    }

    /// The others.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.actions.values().sum::<usize>() - self.reads()
    }
}

/// Whether an action changes nothing.
pub(super) fn is_read(action: &str) -> bool {
    action.contains("/Describe")
}
