//! The states of a volume. Pure.

use aerostat_sdk::{Error, VolumeState};

use crate::api::volumes::{BlockVolume, VolumeMessage};

/// It could not be made.
pub(super) const ERROR: &str = "error";
/// It could not be deleted.
pub(super) const ERROR_DELETING: &str = "error_deleting";
/// It is on its way from a server, which is still told.
pub(super) const DETACHING: &str = "detaching";

/// The state, as the contract has it. One that is not known, or that Cinder leaves by itself, is a change.
pub(super) fn of(status: &str, message: Option<&VolumeMessage>) -> VolumeState {
    match status {
        "available" | "in-use" => VolumeState::Ready,
        it if is_failure(it) => VolumeState::Failed(match message {
            Some(it) => it.text.clone(),
            None => format!("Cinder says that it is in the state {it}"),
        }),
        _ => VolumeState::Changing,
    }
}

/// Whether it is one that Cinder does not leave by itself, and in which it neither attaches nor enlarges the volume: `error_extending`.
pub(super) fn is_failure(status: &str) -> bool {
    status.starts_with(ERROR)
}

/// The error about a volume in such a state.
pub(super) fn stuck(volume: &BlockVolume) -> Error {
    Error::unavailable(format_args!(
        "volume {} ({}) is in the state {}, which Cinder does not leave by itself: nothing is done with it. Next step: let an administrator of the \
         cloud look at it, and set its state back",
        volume.id, volume.name, volume.status
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_cinder_leaves_are_changes() {
        for status in ["available", "in-use"] {
            assert_eq!(of(status, None), VolumeState::Ready);
        }
        for status in [
            "creating",
            "reserved",
            "attaching",
            DETACHING,
            "extending",
            "deleting",
            "maintenance",
            "awaiting-transfer",
            "backing-up",
            "restoring-backup",
            "retyping",
            "uploading",
            "downloading",
            "managing",
            "",
        ] {
            assert_eq!(of(status, None), VolumeState::Changing, "{status}");
        }
    }

    #[test]
    fn states_of_failure_are_told_with_their_message() {
        for status in
            [ERROR, ERROR_DELETING, "error_extending", "error_restoring", "error_backing-up", "error_managing"]
        {
            let why = format!("Cinder says that it is in the state {status}");
            assert_eq!(of(status, None), VolumeState::Failed(why));
        }
        let message = VolumeMessage {
            text: "schedule allocate volume: none".to_owned(),
            is_no_room: true,
            ..VolumeMessage::default()
        };
        assert_eq!(of(ERROR, Some(&message)), VolumeState::Failed(message.text));
    }
}
