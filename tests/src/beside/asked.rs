//! How much was asked.

use std::collections::{BTreeMap, BTreeSet};

/// How many requests there were, by what they ask for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Asked {
    /// Those of each action, in the cloud's words: `elbv2/CreateListener`, `load-balancer GET /v2.0/lbaas/pools`.
    pub actions: BTreeMap<String, usize>,
    /// The actions that change something.
    writing: BTreeSet<String>,
}

impl Asked {
    /// How often each of these stands there, and whether it changes something.
    #[must_use]
    pub fn of(requests: impl IntoIterator<Item = (String, bool)>) -> Self {
        Self::counted(requests.into_iter().map(|(action, writes)| (action, writes, 1)))
    }

    /// As [`Asked::of`], where each has been counted.
    #[must_use]
    pub fn counted(actions: impl IntoIterator<Item = (String, bool, usize)>) -> Self {
        let mut asked = Self::default();
        for (action, writes, times) in actions {
            if writes {
                asked.writing.insert(action.clone());
            }
            *asked.actions.entry(action).or_default() += times;
        }
        asked
    }

    /// Adds others.
    pub fn add(&mut self, others: &Asked) {
        for (action, times) in &others.actions {
            *self.actions.entry(action.clone()).or_default() += times;
        }
        self.writing.extend(others.writing.iter().cloned());
    }

    /// Those that change nothing.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.actions.values().sum::<usize>() - self.writes()
    }

    /// The others.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.writing.iter().filter_map(|it| self.actions.get(it)).sum()
    }

    /// The writes that are not among others', or not so often, and how many more there are.
    #[must_use]
    pub fn writes_beside(&self, others: &Asked) -> BTreeMap<String, usize> {
        let more = |action: &String| {
            let times = |asked: &Asked| asked.actions.get(action).copied().unwrap_or_default();
            let more = times(self).saturating_sub(times(others));
            (more > 0).then(|| (action.clone(), more))
        };
        self.writing.iter().filter_map(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_counted_apart() {
        let text = |it: &str| it.to_owned();
        let mut asked = Asked::of([(text("GET /a"), false), (text("PUT /a"), true), (text("GET /a"), false)]);
        assert_eq!((asked.reads(), asked.writes()), (2, 1));
        let others = Asked::counted([(text("PUT /a"), true, 1), (text("DELETE /a"), true, 2)]);
        asked.add(&others);
        assert_eq!((asked.reads(), asked.writes()), (2, 4));
        assert_eq!(asked.writes_beside(&others), BTreeMap::from([(text("PUT /a"), 1)]));
        assert_eq!(others.writes_beside(&asked), BTreeMap::new());
    }
}
