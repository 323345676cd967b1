//! Hands blobs and manifests to a registry. What is there already is not sent again, and nobody but the registry is sent
//! anything.

use bytes::Bytes;
use egress::{Origin, Transfer};
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use http::{Method, StatusCode};
use sha256::Digest;
use url::Url;

use crate::client::{RegistryClient, RegistryRequest};
use crate::error::{PullError, foreign};
use crate::token;

/// The header in which a registry says that it has seen to which manifest another refers.
const SUBJECT: &str = "oci-subject";

/// Sends a blob, unless it is there.
pub(crate) async fn blob(client: &mut RegistryClient, bytes: Bytes, transfer: &Transfer) -> Result<(), PullError> {
    let digest = Digest::of(&bytes);
    let there = client.question(Method::HEAD, &format!("blobs/sha256:{digest}"), "*/*");
    match client.own(there).await?.status {
        StatusCode::NOT_FOUND => {}
        status if status.is_success() => return Ok(()),
        // Registries that keep their blobs elsewhere send whoever asks there.
        status if status.is_redirection() => return Ok(()),
        status => return Err(client.failed(status, &format!("answers {status} for blob sha256:{digest}"))),
    }
    let begin = client.question(Method::POST, "blobs/uploads/", "*/*");
    let (origin, begun) = (client.remote().image.origin().clone(), begin.target.clone());
    let answer = client.own(begin).await?;
    if answer.status != StatusCode::ACCEPTED {
        let because = format!("answers {} to the beginning of an upload, where 202 is awaited", answer.status);
        return Err(client.failed(answer.status, &because));
    }
    let location = answer.headers.get(LOCATION).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let target = place(&origin, &begun, location, digest).map_err(|because| client.refused(&because))?;
    let mut put =
        RegistryRequest { target, body: bytes, transfer: transfer.clone(), ..client.question(Method::PUT, "", "*/*") };
    put.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let status = client.own(put).await?.status;
    stored(client, status, &format!("blob sha256:{digest}"))
}

/// How a manifest is stored.
pub(crate) struct ManifestName<'a> {
    pub(crate) media_type: &'a str,
    /// Its tag; without one it is stored under its digest.
    pub(crate) tag: Option<&'a str>,
}

/// The way in which a registry took a manifest that refers to another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SubjectSeen {
    /// It lists the manifest among what refers to the other.
    Yes,
    /// It knows no such list.
    No,
}

/// Stores a manifest or an index, once all that it names is there.
pub(crate) async fn manifest(
    client: &mut RegistryClient,
    bytes: Bytes,
    ManifestName { media_type, tag }: &ManifestName<'_>,
) -> Result<SubjectSeen, PullError> {
    let reference = tag.map_or_else(|| format!("sha256:{}", Digest::of(&bytes)), str::to_owned);
    let put = client.question(Method::PUT, &format!("manifests/{reference}"), "*/*");
    let mut put = RegistryRequest { body: bytes, ..put };
    let media_type = HeaderValue::from_str(media_type).map_err(|_| client.refused("cannot be sent such a type"))?;
    put.headers.insert(CONTENT_TYPE, media_type);
    let answer = client.own(put).await?;
    stored(client, answer.status, &format!("the manifest {reference}"))?;
    Ok(if answer.headers.contains_key(SUBJECT) { SubjectSeen::Yes } else { SubjectSeen::No })
}

fn stored(client: &RegistryClient, status: StatusCode, what: &str) -> Result<(), PullError> {
    match status {
        StatusCode::CREATED => Ok(()),
        _ => Err(client.failed(status, &format!("answers {status} to {what}, where 201 is awaited"))),
    }
}

/// Where a registry wants a blob: the target of a PUT at the registry itself. The error is a clause.
fn place(own: &Origin, begun: &str, location: &str, digest: Digest) -> Result<String, String> {
    let said = foreign(location);
    let odd = |because: &str| format!("wants an upload at {said:?}, which {because}; nothing was sent");
    if location.is_empty() {
        return Err("does not say where it wants an upload".to_owned());
    }
    let base = Url::parse(&format!("{own}{begun}")).map_err(|_| odd("is no URL"))?;
    let url = base.join(location).map_err(|_| odd("is no URL"))?;
    let place = token::place(&url).map_err(|because| odd(&because))?;
    if place.origin != *own {
        return Err(odd("is another host: uploads go to the registry alone"));
    }
    let separator = if place.target.contains('?') { '&' } else { '?' };
    Ok(format!("{}{separator}digest=sha256:{digest}", place.target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_goes_to_the_registry_alone() {
        let own = Origin::parse("https://registry.example.com").unwrap();
        let digest = Digest::of(b"");
        let place = |location: &str| place(&own, "/v2/acme/provider/blobs/uploads/", location, digest);
        let query = format!("digest=sha256:{digest}");
        for (location, target) in [
            ("/v2/acme/provider/blobs/uploads/7?_state=a%3D", "/v2/acme/provider/blobs/uploads/7?_state=a%3D&"),
            ("7", "/v2/acme/provider/blobs/uploads/7?"),
            ("https://registry.example.com/up", "/up?"),
            ("https://Registry.example.com:443/up?a=b", "/up?a=b&"),
        ] {
            assert_eq!(place(location).unwrap(), format!("{target}{query}"), "{location}");
        }
        for (location, part) in [
            ("", "does not say where"),
            ("https://storage.example.com/up", "is another host"),
            ("//storage.example.com/up", "is another host"),
            ("\\\\storage.example.com/up", "is another host"),
            ("http://registry.example.com/up", "only for loopback literals"),
            ("https://registry.example.com:8443/up", "is another host"),
            ("https://169.254.169.254/", "is another host"),
            ("https://a@registry.example.com/up", "has a user"),
            ("https://", "is no URL"),
        ] {
            let error = place(location).expect_err(location);
            assert!(error.contains(part), "{location}: {error}");
        }
    }
}
