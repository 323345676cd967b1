//! A login out of a file in Docker's form. Nothing is executed.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use egress::{Origin, Secrets};
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

use crate::error::PullError;
use crate::image::{Image, authority};
use crate::remote::Remote;
use crate::secret::LoginSecret;

/// The largest file.
const LIMIT: u64 = 1 << 20;

/// The login that is shown to a registry.
pub(crate) enum Login {
    /// Nothing.
    Anonymous,
    /// A user and a password.
    Basic(Zeroizing<String>),
    /// A refresh token, for the token service alone.
    IdentityToken(Zeroizing<String>),
    /// A token, for the registry itself.
    RegistryToken(Zeroizing<String>),
}

impl Login {
    /// The secrets in it, which no answer may repeat: as they are sent, and a password by itself.
    pub(crate) fn secrets(&self) -> Secrets {
        let none = Secrets::default();
        match self {
            Self::Anonymous => none,
            Self::IdentityToken(token) | Self::RegistryToken(token) => none.with(token.clone()),
            Self::Basic(pair) => {
                let decoded = STANDARD.decode(pair.as_bytes()).map(Zeroizing::new).unwrap_or_default();
                let password = decoded.splitn(2, |it| *it == b':').nth(1).unwrap_or_default();
                let password = std::str::from_utf8(password).unwrap_or_default();
                none.with(pair.clone()).with(Zeroizing::new(password.to_owned()))
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoginFile {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    creds_store: Option<String>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
struct Entry {
    auth: Option<LoginSecret>,
    username: Option<String>,
    password: Option<LoginSecret>,
    identitytoken: Option<LoginSecret>,
    registrytoken: Option<LoginSecret>,
}

/// Reads the login for a repository. A file without one for its registry is an error: nobody is asked without.
pub(crate) async fn read(remote: &Remote) -> Result<Login, PullError> {
    let Remote { image, login: Some(path), written, .. } = remote else { return Ok(Login::Anonymous) };
    let refused = |because: &str| PullError::Refused(format!("{} {}: {because}", written.login(), path.display()));
    let text = text_of(path).await.map_err(|error| refused(&format!("{error}; {}", written.missing_file())))?;
    of(&text, image).map_err(|because| refused(&because))
}

async fn text_of(path: &Path) -> std::io::Result<Zeroizing<Vec<u8>>> {
    // Opening a pipe would wait for a writer.
    if !tokio::fs::metadata(path).await?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    tokio::fs::File::open(path).await?.take(LIMIT + 1).read_to_end(&mut bytes).await?;
    if bytes.len() as u64 > LIMIT {
        return Err(std::io::Error::other("larger than 1 MiB"));
    }
    Ok(bytes)
}

/// The login for an image. The error is a clause.
fn of(text: &[u8], image: &Image) -> Result<Login, String> {
    // The parser's words could repeat a password.
    let file: LoginFile = serde_json::from_slice(text).map_err(|error| {
        format!("it is no Docker config in JSON (line {}); write what docker login writes", error.line())
    })?;
    let helper = |name: &str| {
        format!(
            "it leaves the login to the helper {name:?}, and nothing is executed here; write the login itself, as \
             kubectl create secret docker-registry does"
        )
    };
    if let Some(name) = file.creds_store.filter(|it| !it.is_empty()) {
        return Err(helper(&name));
    }
    if let Some((_, name)) = file.cred_helpers.iter().find(|(key, _)| length_of_match(key, image).is_some()) {
        return Err(helper(name));
    }
    let known = || {
        let known: Vec<_> = file.auths.keys().map(String::as_str).collect();
        if known.is_empty() { "nobody".to_owned() } else { cloud_provider::printable(&known.join(", "), 512) }
    };
    let found = file.auths.iter().filter_map(|(key, entry)| Some((length_of_match(key, image)?, entry)));
    let Some((_, entry)) = found.max_by_key(|it| it.0) else {
        return Err(format!("it has no login for {}, but for {}; add it", image.registry(), known()));
    };
    login(entry).map_err(|because| format!("its login for {} {because}", image.registry()))
}

fn login(entry: &Entry) -> Result<Login, &'static str> {
    let given = |it: &Option<LoginSecret>| it.as_ref().map(|it| it.0.clone()).filter(|it| !it.is_empty());
    if let Some(token) = given(&entry.registrytoken) {
        return Ok(Login::RegistryToken(token));
    }
    if let Some(token) = given(&entry.identitytoken) {
        return Ok(Login::IdentityToken(token));
    }
    if let (Some(user), Some(password)) = (entry.username.as_ref().filter(|it| !it.is_empty()), given(&entry.password))
    {
        if user.contains(':') {
            return Err("has a user with a colon, which cannot be sent");
        }
        return Ok(Login::Basic(Zeroizing::new(
            STANDARD.encode(Zeroizing::new(format!("{user}:{}", *password)).as_bytes()),
        )));
    }
    let Some(auth) = given(&entry.auth) else {
        return Err("is empty; write auth, username and password, identitytoken or registrytoken");
    };
    let pair = Zeroizing::new(STANDARD.decode(auth.trim()).map_err(|_| "has an auth that is not base64")?);
    if !pair.contains(&b':') {
        return Err("has an auth that is not the base64 of user:password");
    }
    // Sent as it decodes, in the one spelling of base64.
    Ok(Login::Basic(Zeroizing::new(STANDARD.encode(&*pair))))
}

/// How long a key of the file is that is meant for this image: its host, or its host and the first segments of its
/// repository.
fn length_of_match(key: &str, image: &Image) -> Option<usize> {
    let key = key.split_once("://").map_or(key, |(_, it)| it).trim_end_matches('/');
    let key = key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key);
    let (host, path) = key.split_once('/').unwrap_or((key, ""));
    let host = authority(&Origin::parse(&format!("https://{host}")).ok()?);
    let rest = image.repository().strip_prefix(path)?;
    let is_whole = path.is_empty() || rest.is_empty() || rest.starts_with('/');
    (host == image.registry() && is_whole).then_some(path.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        Image::parse("registry.example.com/acme/provider:1").unwrap()
    }

    /// The user's name and the password of a login that is sent as `Basic`.
    fn shown(text: &str) -> Result<String, String> {
        of(text.as_bytes(), &image()).map(|login| match login {
            Login::Anonymous => "nothing".to_owned(),
            Login::Basic(pair) => format!("basic {}", String::from_utf8(STANDARD.decode(&*pair).unwrap()).unwrap()),
            Login::IdentityToken(token) => format!("identity {}", *token),
            Login::RegistryToken(token) => format!("registry {}", *token),
        })
    }

    fn entry(entry: &str) -> Result<String, String> {
        shown(&format!(r#"{{ "auths": {{ "registry.example.com": {entry} }} }}"#))
    }

    #[test]
    fn every_form_of_a_login_is_read() {
        assert_eq!(entry(r#"{ "auth": "YWxpY2U6czNjcmV0" }"#).unwrap(), "basic alice:s3cret");
        assert_eq!(entry(r#"{ "username": "alice", "password": "a:b" }"#).unwrap(), "basic alice:a:b");
        assert_eq!(entry(r#"{ "auth": "YWxpY2U6", "identitytoken": "refresh" }"#).unwrap(), "identity refresh");
        assert_eq!(entry(r#"{ "registrytoken": "token" }"#).unwrap(), "registry token");
        for (odd, part) in [
            ("{}", "is empty"),
            (r#"{ "username": "alice" }"#, "is empty"),
            (r#"{ "auth": "?" }"#, "not base64"),
            (r#"{ "auth": "YWxpY2U=" }"#, "user:password"),
            (r#"{ "username": "a:b", "password": "c" }"#, "colon"),
        ] {
            let error = entry(odd).expect_err(odd);
            assert!(error.contains(part), "{odd}: {error}");
        }
    }

    #[test]
    fn the_longest_key_of_whole_segments_counts() {
        let of = |keys: &[&str]| {
            let auths: BTreeMap<_, _> =
                keys.iter().map(|it| (*it, serde_json::json!({ "username": it, "password": "p" }))).collect();
            shown(&serde_json::json!({ "auths": auths }).to_string().replace("://", ";//"))
                .or_else(|_| shown(&serde_json::json!({ "auths": auths }).to_string()))
        };
        assert_eq!(
            of(&["registry.example.com", "registry.example.com/acme"]).unwrap(),
            "basic registry.example.com/acme:p"
        );
        let both = ["registry.example.com/acme", "registry.example.com/acme/provider", "registry.example.com/ac"];
        assert_eq!(of(&both).unwrap(), "basic registry.example.com/acme/provider:p");
        for none in [
            "registry.example.com/ac",
            "registry.example.com:5000",
            "example.com",
            "*.example.com",
            "registry.example.com/acme/provider/x",
        ] {
            let error = of(&[none]).expect_err(none);
            assert!(error.contains("no login for registry.example.com, but for"), "{error}");
        }
    }

    #[test]
    fn old_spellings_of_a_host_are_read() {
        for key in [
            "https://registry.example.com",
            "https://registry.example.com/v1/",
            "registry.example.com/v2",
            "Registry.example.com:443",
        ] {
            let text = format!(r#"{{ "auths": {{ "{key}": {{ "registrytoken": "t" }} }} }}"#);
            assert_eq!(shown(&text).unwrap(), "registry t", "{key}");
        }
    }

    #[test]
    fn helpers_are_not_executed() {
        for text in [
            r#"{ "credsStore": "desktop", "auths": { "registry.example.com": {} } }"#,
            r#"{ "credHelpers": { "registry.example.com": "ecr-login" } }"#,
        ] {
            let error = shown(text).expect_err(text);
            assert!(error.contains("nothing is executed here; write the login itself"), "{error}");
        }
        let other = r#"{ "credHelpers": { "other.example.com": "x" }, "auths": { "registry.example.com": { "registrytoken": "t" } } }"#;
        assert_eq!(shown(other).unwrap(), "registry t");
    }

    #[test]
    fn a_wrong_login_file_is_told_without_the_secret() {
        let error = shown("{ \"auths\": { \"registry.example.com\": { \"password\": [\"hunter22\"] } } }").unwrap_err();
        assert!(error.contains("no Docker config") && !error.contains("hunter22"), "{error}");
    }
}
