//! Where a token comes from, and whether the login may be sent there. Pure.

use egress::Origin;
use serde::Deserialize;
use url::Url;
use url::form_urlencoded::Serializer;
use zeroize::Zeroizing;

use crate::error::foreign;
use crate::image::{Image, TokenService};
use crate::remote::Remote;
use crate::secret::LoginSecret;

/// The largest answer of a token service, in bytes.
pub(crate) const LIMIT: usize = 64 << 10;
/// The longest URL of a token service.
const REALM: usize = 2 << 10;
/// Our name at a token service.
const CLIENT: &str = "aerostat";

/// A place on the way to a token or to a blob.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct TokenPlace {
    pub(crate) origin: Origin,
    /// Path and query.
    pub(crate) target: String,
}

/// Reads an absolute URL.
///
/// # Errors
///
/// A clause.
pub(crate) fn place(url: &Url) -> Result<TokenPlace, String> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user in its URL".to_owned());
    }
    let host = url.host_str().ok_or("has no host in its URL")?;
    let port = url.port().map_or_else(String::new, |it| format!(":{it}"));
    let origin =
        Origin::parse(&format!("{}://{host}{port}", url.scheme())).map_err(|it| it.replace("the URL", "its URL"))?;
    let query = url.query().map_or_else(String::new, |it| format!("?{it}"));
    Ok(TokenPlace { origin, target: format!("{}{query}", url.path()) })
}

/// Where a registry's realm is, if it may be asked: at the registry's own host and port, or at one that the operator named.
///
/// # Errors
///
/// A clause that says what to do.
pub(crate) fn realm(realm: &str, remote: &Remote) -> Result<TokenPlace, String> {
    let own = remote.image.origin();
    let said = foreign(realm);
    if realm.len() > REALM {
        return Err(format!("asks for its login to be sent to a URL of {} bytes; {REALM} are the most", realm.len()));
    }
    let odd = |because: &str| format!("asks for its login to be sent to {said:?}, which {because}; nothing was sent");
    if realm.contains('\\') {
        return Err(odd("has a backslash: not all readers of URLs end the host there"));
    }
    let url = Url::parse(realm).map_err(|_| odd("is no URL"))?;
    if url.fragment().is_some() {
        return Err(odd("has a fragment"));
    }
    let place = place(&url).map_err(|because| odd(&because))?;
    let is_named = remote.token_services.iter().any(|TokenService(named)| *named == place.origin);
    if place.origin == *own || is_named {
        return Ok(place);
    }
    let shown = place.origin.to_string();
    let host = shown.split_once("://").map_or(shown.as_str(), |(_, it)| it);
    Err(format!(
        "asks for its login to be sent to {shown}: if that is its token service, name {host} in {}; nothing was sent",
        remote.written.token_services()
    ))
}

/// The rights in a repository that a token is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RepositoryScope {
    Pull,
    /// To look at what is there, too.
    Push,
}

impl RepositoryScope {
    /// In a question for a token.
    fn actions(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }

    /// For people: what a registry does not let us do.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Pull => "read",
            Self::Push => "write",
        }
    }
}

/// The parameters of the question: the scope in the image's repository, whatever the registry asks us to ask for.
fn pairs(image: &Image, scope: RepositoryScope, service: Option<&str>) -> Vec<(&'static str, String)> {
    let scope = format!("repository:{}:{}", image.repository(), scope.actions());
    service.map(|it| ("service", it.to_owned())).into_iter().chain([("scope", scope)]).collect()
}

/// The target of a GET for a token.
pub(crate) fn query(place: &TokenPlace, image: &Image, scope: RepositoryScope, service: Option<&str>) -> String {
    let query = Serializer::new(String::new()).extend_pairs(pairs(image, scope, service)).finish();
    let separator = if place.target.contains('?') { '&' } else { '?' };
    format!("{}{separator}{query}", place.target)
}

/// The form of a POST for a token, with a refresh token.
pub(crate) fn form(image: &Image, scope: RepositoryScope, service: Option<&str>, refresh: &str) -> Zeroizing<String> {
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "refresh_token").append_pair("client_id", CLIENT);
    form.extend_pairs(pairs(image, scope, service)).append_pair("refresh_token", refresh);
    Zeroizing::new(form.finish())
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<LoginSecret>,
    access_token: Option<LoginSecret>,
}

/// The token in an answer.
pub(crate) fn read(body: &[u8]) -> Option<Zeroizing<String>> {
    let TokenAnswer { token, access_token } = serde_json::from_slice(body).ok()?;
    let is_usable = |it: &Zeroizing<String>| !it.is_empty() && it.bytes().all(|it| it.is_ascii_graphic());
    token.or(access_token).map(|it| it.0).filter(is_usable)
}

#[cfg(test)]
mod tests {
    use egress::AllowedAddresses;

    use super::*;
    use crate::remote::WrittenIn;

    fn remote() -> Remote {
        Remote {
            image: Image::parse("registry.example.com/acme/provider").unwrap(),
            login: None,
            token_services: vec![TokenService::parse("auth.example.com").unwrap()],
            addresses: AllowedAddresses::Public,
            ca_file: None,
            proxy: None,
            written: WrittenIn::CloudConfig,
        }
    }

    #[test]
    fn adv_56_a_login_goes_to_the_registry_or_a_named_service() {
        for (url, target) in [
            ("https://registry.example.com/token", "/token"),
            ("https://auth.example.com:443/a?b=c", "/a?b=c"),
            ("https://AUTH.example.com", "/"),
        ] {
            assert_eq!(realm(url, &remote()).unwrap().target, target, "{url}");
        }
        for (url, part) in [
            ("http://169.254.169.254/", "only for loopback literals"),
            ("https://169.254.169.254/", "name 169.254.169.254 in provider.module.oci.tokenServices"),
            ("https://evil.example.com/token", "name evil.example.com in provider.module.oci.tokenServices"),
            ("https://auth.example.com.evil.example.com/", "tokenServices"),
            ("https://registry.example.com:8443/token", "name registry.example.com:8443"),
            ("https://auth.example.com@evil.example.com/", "has a user"),
            ("https://user:x@auth.example.com/", "has a user"),
            ("https://auth.example.com\\@evil.example.com/", "has a backslash"),
            ("http://auth.example.com/", "only for loopback literals"),
            ("http://127.0.0.1:7002/steal", "name 127.0.0.1:7002"),
            ("file:///etc/passwd", "no host"),
            ("/token", "is no URL"),
            ("https://auth.example.com/#a", "fragment"),
        ] {
            let error = realm(url, &remote()).expect_err(url);
            assert!(error.contains(part), "{url}: {error}");
        }
        let flags = Remote { written: WrittenIn::CommandLine, ..remote() };
        let error = realm("https://evil.example.com/token", &flags).unwrap_err();
        assert!(error.contains("name evil.example.com in --token-service; nothing was sent"), "{error}");
        let giant = format!("https://auth.example.com/{}", "a".repeat(3000));
        assert!(realm(&giant, &remote()).unwrap_err().contains("2048 are the most"));
    }

    #[test]
    fn our_own_scope_is_asked_for() {
        let place = realm("https://auth.example.com/token?scope=repository:other:push", &remote()).unwrap();
        let target = query(&place, &remote().image, RepositoryScope::Pull, Some("the registry"));
        let ours = "&service=the+registry&scope=repository%3Aacme%2Fprovider%3Apull";
        assert_eq!(target, format!("/token?scope=repository:other:push{ours}"));
        let form = form(&remote().image, RepositoryScope::Push, None, "a&b");
        let rest = "scope=repository%3Aacme%2Fprovider%3Apull%2Cpush&refresh_token=a%26b";
        assert_eq!(*form, format!("grant_type=refresh_token&client_id=aerostat&{rest}"));
    }

    #[test]
    fn a_token_is_a_word() {
        assert_eq!(**read(br#"{ "token": "a.b-c" }"#).as_ref().unwrap(), "a.b-c");
        assert_eq!(**read(br#"{ "access_token": "t", "expires_in": 60 }"#).as_ref().unwrap(), "t");
        for odd in [&b"{}"[..], b"<html>", br#"{ "token": "" }"#, br#"{ "token": "a b" }"#, br#"{ "token": "a\r\nb" }"#]
        {
            assert!(read(odd).is_none(), "{}", String::from_utf8_lossy(odd));
        }
    }
}
