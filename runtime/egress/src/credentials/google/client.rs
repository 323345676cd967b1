//! The URLs of givers of Google's tokens.

use http::header::{HeaderName, HeaderValue};

use crate::base_url::{BaseUrl, CanonicalHost, Origin, Scheme};
use crate::key_service::KeyServiceUrl;

/// The header by which a client and the metadata server know each other ("About VM metadata" of the Compute Engine documentation).
pub(super) const METADATA_FLAVOR: HeaderName = HeaderName::from_static("metadata-flavor");
/// Its value.
pub(super) const GOOGLE: HeaderValue = HeaderValue::from_static("Google");
/// Where the metadata server has the token of the machine's service account.
const METADATA_TOKEN: &str = "computeMetadata/v1/instance/service-accounts/default/token";

/// Where the metadata server gives the token of the machine's service account.
pub(super) fn metadata_url(url: &KeyServiceUrl) -> BaseUrl {
    url.base_url().clone().with_path(METADATA_TOKEN.split('/').map(str::to_owned).collect())
}

/// The URL of a giver of tokens that a file names: Google's own, or of one of the `listed` origins. The error continues "the file
/// names a giver of tokens that".
pub(super) fn permitted(url: &str, listed: &[Origin]) -> Result<BaseUrl, String> {
    let url = BaseUrl::parse(url).map_err(|because| format!("is no URL of one: {because}"))?;
    let origin = url.origin();
    let is_googles = matches!(origin.host(), CanonicalHost::Name(host) if host.ends_with(".googleapis.com"))
        && origin.scheme() == Scheme::Https
        && origin.port() == 443;
    if is_googles || listed.contains(&origin) {
        return Ok(url);
    }
    Err(format!(
        "is not Google's ({origin}), and secrets go to Google alone; if it is right, list the origin in `google.tokenOrigins`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_urls_of_others_are_refused_unless_they_are_listed() {
        let listed = [Origin::parse("https://sts.example.com").unwrap()];
        for url in [
            "https://sts.googleapis.com/v1/token",
            "https://sts.europe-west4.rep.googleapis.com/v1/token",
            "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.example:generateAccessToken",
            "https://sts.example.com/token",
        ] {
            assert!(permitted(url, &listed).is_ok(), "{url}");
        }
        for url in [
            "http://sts.googleapis.com/v1/token",
            "https://sts.googleapis.com:8443/v1/token",
            "https://googleapis.com.example/v1/token",
            "https://evilgoogleapis.com/v1/token",
            "https://a@sts.googleapis.com/v1/token",
            "https://169.254.169.254/v1/token",
            "http://127.0.0.1:8080/token",
            "token",
        ] {
            assert!(permitted(url, &listed).is_err(), "{url}");
        }
    }
}
