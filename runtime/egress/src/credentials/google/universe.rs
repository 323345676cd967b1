//! The universe of a file: Google's own cloud, or another one of its kind that has its own domain.
//!
//! "universe_domain" of AIP-4111 and AIP-4117.

use super::client;
use crate::base_url::Origin;

/// The domain of Google's own.
const OWN: &str = "googleapis.com";
/// The longest domain.
const DOMAIN_BYTES: usize = 253;

/// The domain that a file names in the place of Google's own; `None` for that. The error continues the sentence that begins with the file.
pub(super) fn other(domain: Option<String>) -> Result<Option<String>, String> {
    let Some(domain) = domain.filter(|it| it != OWN) else { return Ok(None) };
    let is_label = |label: &str| {
        let is_part = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_part)
    };
    let is_domain = domain.len() <= DOMAIN_BYTES && domain.contains('.') && domain.split('.').all(is_label);
    if is_domain {
        Ok(Some(domain))
    } else {
        Err(format!("has no usable universe_domain; write {OWN}, or leave it out"))
    }
}

/// The URL at which a universe gives tokens for an assertion.
pub(super) fn token_url(domain: &str) -> String {
    format!("https://oauth2.{domain}/token")
}

/// Refuses a universe whose giver of tokens the operator does not list: its tokens are no tokens of Google. The error continues the
/// sentence that begins with the file.
pub(super) fn listed(domain: &str, giver: &str, origins: &[Origin]) -> Result<(), String> {
    client::permitted(giver, origins)
        .map(drop)
        .map_err(|because| format!("is of the universe {domain}, not {OWN}: its giver of tokens {because}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn googles_own_universe_is_none_and_others_are_domains() {
        assert_eq!(other(None), Ok(None));
        assert_eq!(other(Some("googleapis.com".to_owned())), Ok(None));
        assert_eq!(other(Some("apis.example".to_owned())), Ok(Some("apis.example".to_owned())));
        for bad in [
            "",
            "example",
            "a..b",
            ".googleapis.com",
            "EXAMPLE.com",
            "a/b.example",
            "a@b.example",
            "127.0.0.1:80",
            "b\n.example",
        ] {
            assert!(other(Some(bad.to_owned())).is_err_and(|it| it.contains("universe_domain")), "{bad:?}");
        }
        assert!(other(Some("a.".repeat(200))).is_err());
    }

    #[test]
    fn bad_universes_are_refused_unless_they_are_listed() {
        let origins = [Origin::parse("https://oauth2.apis.example").unwrap()];
        let judged = |domain: &str| listed(domain, &token_url(domain), &origins);
        assert_eq!(judged("apis.example"), Ok(()));
        let because = judged("other.example").unwrap_err();
        assert!(because.contains("universe other.example") && because.contains("google.tokenOrigins"), "{because}");
    }
}
