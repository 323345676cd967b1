//! Status codes of gRPC that a CSI driver would have answered with. No client, no clock.

use cloud_provider::{Error, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDetachment, VolumeExpansion};

const OK: &str = "OK";
const RESOURCE_EXHAUSTED: &str = "ResourceExhausted";
const FAILED_PRECONDITION: &str = "FailedPrecondition";

/// An answer about a volume.
pub(crate) trait CsiAnswer {
    /// The code of the same answer of a driver; `None` where the operation goes on.
    fn code(&self) -> Option<&'static str>;
}

impl CsiAnswer for VolumeCreation {
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Ready(_) => Some(OK),
            Self::Pending(_) => None,
            Self::NoRoom(_) => Some(RESOURCE_EXHAUSTED),
        }
    }
}

impl CsiAnswer for VolumeDeletion {
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Done => Some(OK),
            Self::Pending(_) => None,
            Self::InUse(_) => Some(FAILED_PRECONDITION),
        }
    }
}

impl CsiAnswer for VolumeAttachment {
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Ready(_) => Some(OK),
            Self::Pending(_) => None,
            Self::Occupied(_) => Some(FAILED_PRECONDITION),
            Self::Full(_) => Some(RESOURCE_EXHAUSTED),
        }
    }
}

impl CsiAnswer for VolumeDetachment {
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Done => Some(OK),
            Self::Pending(_) => None,
        }
    }
}

impl CsiAnswer for VolumeExpansion {
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Ready { .. } => Some(OK),
            Self::Pending(_) => None,
            Self::InUse(_) => Some(FAILED_PRECONDITION),
        }
    }
}

/// The code of an answer or an error; `None` where the operation goes on.
pub(super) fn code<T: CsiAnswer>(answer: &Result<T, Error>) -> Option<&'static str> {
    match answer {
        Ok(it) => it.code(),
        Err(Error::Invalid(_)) => Some("InvalidArgument"),
        Err(Error::Denied(_)) => Some("PermissionDenied"),
        Err(Error::RetryAfter { .. }) => Some(RESOURCE_EXHAUSTED),
        Err(Error::Crashed { .. }) => Some("Internal"),
        Err(Error::Unavailable(_)) => Some("Unavailable"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cloud_provider::PendingVolume;

    use super::*;

    /// Cases: csi 77
    #[test]
    fn answers_have_the_codes_of_a_driver() {
        let pending = || PendingVolume { memo: None, after: Duration::ZERO, reason: "busy".to_owned() };
        let word = || "why".to_owned();
        let codes = [
            code(&Ok(VolumeCreation::Ready(Box::default()))),
            code(&Ok(VolumeCreation::NoRoom(word()))),
            code(&Ok(VolumeDeletion::Done)),
            code(&Ok(VolumeDeletion::InUse(Vec::new()))),
            code(&Ok(VolumeAttachment::Ready(Vec::new()))),
            code(&Ok(VolumeAttachment::Occupied(word()))),
            code(&Ok(VolumeAttachment::Full(word()))),
            code(&Ok(VolumeDetachment::Done)),
            code(&Ok(VolumeExpansion::Ready { bytes: 1, node_must_grow: false })),
            code(&Ok(VolumeExpansion::InUse(Vec::new()))),
        ];
        let (ok, full, first) = (Some("OK"), Some("ResourceExhausted"), Some("FailedPrecondition"));
        assert_eq!(codes, [ok, full, ok, first, ok, first, full, ok, ok, first]);
        let going_on = [
            code(&Ok(VolumeCreation::Pending(pending()))),
            code(&Ok(VolumeDeletion::Pending(pending()))),
            code(&Ok(VolumeAttachment::Pending(pending()))),
            code(&Ok(VolumeDetachment::Pending(pending()))),
            code(&Ok(VolumeExpansion::Pending(pending()))),
        ];
        assert_eq!(going_on, [None; 5]);
        let after = Duration::ZERO;
        let errors = [
            Error::Invalid(word()),
            Error::Denied(word()),
            Error::RetryAfter { after, reason: word() },
            Error::Crashed { after, reason: word() },
            Error::Unavailable(word()),
        ];
        let codes = errors.map(|it| code::<VolumeDetachment>(&Err(it)).unwrap());
        assert_eq!(codes, ["InvalidArgument", "PermissionDenied", "ResourceExhausted", "Internal", "Unavailable"]);
    }
}
