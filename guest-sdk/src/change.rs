//! The result of a change to an object of the cloud.

/// The result of a change to an object of the cloud.
///
/// Most clouds carry out one change of an object at a time, and answer 409 or 423 meanwhile. That is not a failure:
/// the call ends as `pending`, and the next one does what is left.
///
/// ```
/// use aerostat_sdk::Change;
///
/// assert_eq!(Change::Done(2).map(|it| it * 2), Change::Done(4));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use = "a change that was not made has to be made later"]
pub enum Change<T> {
    /// It is done.
    Done(T),
    /// The object is still carrying out an earlier change. Holds what the cloud says.
    Busy(String),
}

impl<T> Change<T> {
    /// The same with what `change` makes of the answer.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Done(it) => Change::Done(change(it)),
            Self::Busy(why) => Change::Busy(why),
        }
    }

    /// The next change, once this one is done.
    ///
    /// # Errors
    ///
    /// Those of `next`.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> crate::Result<Change<U>>) -> crate::Result<Change<U>> {
        match self {
            Self::Done(it) => next(it),
            Self::Busy(why) => Ok(Change::Busy(why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_follows_a_change_that_was_not_made() {
        let busy: Change<u8> = Change::Busy("an earlier change".to_owned());
        assert_eq!(busy.clone().map(u16::from), Change::Busy("an earlier change".to_owned()));
        assert_eq!(
            busy.and_then(|_| -> crate::Result<Change<()>> { panic!("sent") }),
            Ok(Change::Busy("an earlier change".to_owned()))
        );
        assert_eq!(Change::Done(1).and_then(|it| Ok(Change::Done(it + 1))), Ok(Change::Done(2)));
    }
}
