//! Sentences about machines, for people.

use cloud_provider::Instance;

/// Why nodes with one provider id are left alone, as a sentence about one of them.
pub(super) fn unproven(provider_id: &str, others: &[&str]) -> String {
    let (nodes, have) = if others.len() == 1 { ("node", "has") } else { ("nodes", "have") };
    format!(
        "it has the provider id {provider_id}, and so {have} {nodes} {}, perhaps in another spelling; neither the name nor the addresses that the cloud \
         tells of that instance prove whose it is",
        others.join(", "),
    )
}

/// The name of a machine in a message.
pub(super) fn called(instance: &Instance) -> String {
    match &instance.provider_id {
        Some(provider_id) => format!("{:?} ({provider_id})", instance.name),
        None => format!("{:?}", instance.name),
    }
}
