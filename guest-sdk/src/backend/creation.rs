//! The result of a creation, the one request that must not be sent twice.

use serde::de::DeserializeOwned;

use super::found::Found;
use crate::Result;
use crate::http::{Attempt, Request, Response};

/// The result of a creation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Creation {
    /// The cloud builds it.
    Begun(Found),
    /// It is there already, as the answer says: the next call comes when its id is kept, and waits for no poll.
    Made(Found),
    /// It was certainly not created: the cloud is still carrying out an earlier change of something that it needs, such as a
    /// network. Holds what it says.
    Busy(String),
    /// It was refused because its name is taken, or its parts' names are, by what the list does not show: by the Service's own, perhaps, of a
    /// request before, which lists show late. It is looked for, without a warning; refused again after [`Pauses::create_again`](super::Pauses), it
    /// is an error. Holds what the cloud says.
    Taken(String),
    /// It may have been created or not: the cloud did not answer, said that it failed, or has one like it already. Why, for a
    /// person.
    Unclear(String),
}

impl Creation {
    /// The same in a cloud that creates a load balancer before it answers: [`Self::Made`] for [`Self::Begun`].
    #[must_use]
    pub fn at_once(self) -> Self {
        match self {
            Self::Begun(found) => Self::Made(found),
            other => other,
        }
    }
}

impl Request {
    /// Sends a creation. What may have been carried out is [`Creation::Unclear`]: an answer that was lost, a status of 500 or
    /// more, 408 or 499, and a success that cannot be read.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success: nothing was created.
    pub fn create<T: DeserializeOwned>(self, found: impl FnOnce(T) -> Found) -> Result<Creation> {
        self.create_unless(|_| false, |response| response.json().map(found))
    }

    /// As [`Self::create`], where `is_unclear` names further answers after which there may be one, such as "the name is taken",
    /// and `found` reads the answer.
    ///
    /// # Errors
    ///
    /// As [`Self::create`].
    pub fn create_unless(
        self,
        is_unclear: impl FnOnce(&Response) -> bool,
        found: impl FnOnce(&Response) -> Result<Found>,
    ) -> Result<Creation> {
        let response = match self.attempt()? {
            Attempt::Answered(response) => response,
            Attempt::Lost(why) => return Ok(Creation::Unclear(why)),
        };
        if gave_up(response.status()) || is_unclear(&response) {
            return Ok(Creation::Unclear(response.complaint()));
        }
        let response = response.accepted()?;
        // The status says that it was accepted, also if the body cannot be read.
        let unread = |_| Creation::Unclear(format!("{}, with an answer that cannot be read", response.complaint()));
        Ok(found(&response).map_or_else(unread, Creation::Begun))
    }
}

/// Whether a status says that somebody gave up, the cloud or what stands before it: the request may have been carried out.
#[must_use]
pub fn gave_up(status: u16) -> bool {
    status >= 500 || matches!(status, 408 | 499)
}
