//! Refusals of a cloud, sorted by what they are about. A provider has a table from its cloud's codes to these kinds; what
//! follows from a kind is the same for all clouds.

use std::fmt::Display;

use crate::Error;

/// The kind of a refusal, as the cloud's own code says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// The request asks for what cannot be.
    Invalid,
    /// The name, the port or the like is another's already.
    Taken,
    /// The credential is not accepted, or lacks a right.
    Denied,
    /// A quota of the account is used up, or what may be had of something in one place.
    Quota,
    /// The object is carrying out an earlier change, or has changed meanwhile: 409 and 423 of many clouds.
    Busy,
    /// The cloud protects the object from being deleted.
    Protected,
    /// There is no such object.
    NotFound,
    /// Too many requests.
    RateLimit,
    /// The cloud has failed, or cannot do it now.
    Failure,
}

impl Refused {
    /// The error for it. `complaint` is what the cloud said, as [`Response::complaint`](super::Response::complaint) has it.
    ///
    /// `None` where the status decides: a pause for too many requests stands in headers, and an object that is not there is
    /// no error of a read.
    #[must_use]
    pub fn error(self, complaint: impl Display) -> Option<Error> {
        match self {
            Self::Invalid | Self::Taken | Self::Protected => Some(Error::invalid(complaint)),
            Self::Denied => Some(Error::denied(complaint)),
            Self::Quota => Some(Error::quota(complaint)),
            Self::Busy | Self::Failure => Some(Error::unavailable(complaint)),
            Self::NotFound | Self::RateLimit => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_refusal_decides_what_the_host_does_next() {
        let error = |it: Refused| it.error("so it is");
        for kind in [Refused::Invalid, Refused::Taken, Refused::Protected] {
            assert_eq!(error(kind), Some(Error::invalid("so it is")));
        }
        assert_eq!(error(Refused::Denied), Some(Error::denied("so it is")));
        for kind in [Refused::Busy, Refused::Failure] {
            assert_eq!(error(kind), Some(Error::unavailable("so it is")));
        }
        assert_eq!(error(Refused::NotFound).or(error(Refused::RateLimit)), None);
    }

    #[test]
    fn a_used_up_quota_is_named_and_passes_by_itself() {
        let error = Refused::Quota.error("POST /a at endpoint api: 403 limit exceeded").unwrap();
        let why = "POST /a at endpoint api: 403 limit exceeded. A quota of the account is used up: delete what is not needed, \
                   or ask the vendor for more";
        assert_eq!(error, Error::Unavailable(why.to_owned()));
        assert!(error.is_quota() && !Error::unavailable("the cloud is down").is_quota());
        assert!(!Error::invalid(why).is_quota());
    }
}
