//! Effects of requests in the cloud.

use std::fmt;

use budgets::WriteKind;

use crate::request::Method;

/// The effect of a request in the cloud, as the operator's rule names it. Ordered by how much harm it can do.
///
/// Whole objects cost data, an address or money: load balancers, machines, volumes. Members are what such an object has many of and
/// what can be put back: targets, listeners, rules, routes, tags, attachments.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It changes an object that stays, or gives it members.
    Update,
    /// It takes members away, or may: a PUT of all that an object has.
    Detach,
    /// It makes whole objects, or may do anything but take them away.
    Write,
    /// It takes whole objects away.
    Delete,
}

impl Effect {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Read, Self::Update, Self::Detach, Self::Write, Self::Delete];

    /// Reads `read`, `update`, `detach`, `write` or `delete`.
    ///
    /// # Errors
    ///
    /// A sentence that lists the effects, for every other word.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|it| it.as_str() == text)
            .ok_or_else(|| format!("unknown effect {text:?}: one of read, update, detach, write, delete"))
    }

    /// The effect of a method where a rule does not say it: on whole objects, the strictest kind.
    #[must_use]
    pub fn of(method: Method) -> Self {
        match method {
            Method::Get | Method::Head => Self::Read,
            Method::Post | Method::Put | Method::Patch => Self::Write,
            Method::Delete => Self::Delete,
        }
    }

    /// As what a request is counted: `None` if it only reads.
    pub(crate) fn counted_as(self) -> Option<WriteKind> {
        match self {
            Self::Read => None,
            Self::Update => Some(WriteKind::Update),
            Self::Detach => Some(WriteKind::Detachment),
            Self::Write => Some(WriteKind::Creation),
            Self::Delete => Some(WriteKind::Deletion),
        }
    }

    /// As the config says it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Detach => "detach",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }

    /// Whether it may change something in the cloud.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// Whether it may take something away: whole objects or members.
    #[must_use]
    pub fn takes_away(self) -> bool {
        matches!(self, Self::Delete | Self::Detach)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adv_161_without_a_word_a_write_is_of_whole_objects() {
        let all = Method::ALL.map(Effect::of);
        assert_eq!(
            all,
            [Effect::Read, Effect::Read, Effect::Write, Effect::Write, Effect::Write, Effect::Delete],
            "as configs mean it that were written before there were other words"
        );
        let taking: Vec<_> = Effect::ALL.into_iter().filter(|it| it.takes_away()).collect();
        assert_eq!(taking, [Effect::Detach, Effect::Delete]);
        for effect in Effect::ALL {
            assert_eq!(Effect::parse(effect.as_str()), Ok(effect));
        }
    }
}
