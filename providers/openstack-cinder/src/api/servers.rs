//! Volumes at servers, as Nova attaches and detaches them.

use aerostat_sdk::volume_backend::Attaching;
use aerostat_sdk::{Change, Error, Result};
use openstack_api::errors::nova_fault;
use openstack_api::{MICROVERSION, NOVA};
use serde_json::json;

/// From this version on Nova attaches a volume that several servers may have.
const SEVERAL: &str = "compute 2.60";
const ATTACHMENTS: &str = "os-volume_attachments";

/// Begins to attach a volume to a server. When Nova has answered, Cinder shows that it is on its way.
///
/// # Errors
///
/// `unavailable` for a server that Nova does not know; whatever else Nova answered.
pub(crate) fn attach(volume: &str, server: &str, is_multiattach: bool) -> Result<Attaching> {
    let request = NOVA.post(["servers", server, ATTACHMENTS]);
    let request = if is_multiattach { request.header(MICROVERSION, SEVERAL) } else { request };
    let response = request.json(&json!({ "volumeAttachment": { "volumeId": volume } })).answer()?;
    let words = nova_fault(&response).map(|(_, words)| words).unwrap_or_default();
    let complaint = || format!("{} {words}", response.complaint());
    Ok(match response.status() {
        403 if words.contains("maximum allowed number of disk devices") => Attaching::Full(complaint()),
        // The server is carrying out something else.
        409 => Attaching::Busy(complaint()),
        // Another attachment came first: the next read shows to which server. Nova says the second, Cinder through it the first.
        400 if words.contains("status must be") || words.contains("already attached") => Attaching::Busy(complaint()),
        404 => {
            let text = format!("Nova knows no server {server}, to which volume {volume} is to come: {}", complaint());
            return Err(Error::unavailable(text));
        }
        _ => {
            response.accepted()?;
            Attaching::Begun
        }
    })
}

/// Begins to detach a volume from a server.
///
/// # Errors
///
/// `unavailable` where Nova knows nothing of it; whatever else Nova answered.
pub(crate) fn detach(volume: &str, server: &str) -> Result<Change<()>> {
    let response = NOVA.delete(["servers", server, ATTACHMENTS, volume]).answer()?;
    let is_on_its_way = || nova_fault(&response).is_some_and(|(_, words)| words.contains("Unable to detach"));
    match response.status() {
        409 => Ok(Change::Busy(response.complaint())),
        // It is on its way already, or grows.
        400 if is_on_its_way() => Ok(Change::Busy(response.complaint())),
        // A server that was deleted gives its volumes back a little later.
        404 => Err(Error::unavailable(format_args!(
            "Cinder shows volume {volume} at server {server}, and Nova knows nothing of that: {}. It is asked again. Next step, if that stays: an \
             administrator of the cloud takes the attachment away in Cinder",
            response.complaint()
        ))),
        _ => response.accepted().map(|_| Change::Done(())),
    }
}
