//! Where a location is, in the words of nodes' labels.

/// The zone of a location: the vendor's controller has always written these.
pub(crate) fn zone(location: &str) -> &str {
    match location {
        "nbg1" => "nbg1-dc3",
        "hel1" => "hel1-dc2",
        "fsn1" => "fsn1-dc14",
        "ash" => "ash-dc1",
        "hil" => "hil-dc1",
        "sin" => "sin-dc1",
        other => other,
    }
}
