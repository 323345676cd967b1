//! The file of workload identity federation: which token is changed into one of Google's, where, and for whom.
//!
//! The file: "Configure Workload Identity Federation" of the IAM documentation, and AIP-4117.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::universe;

/// The longest word of the file that is kept.
const WORD_BYTES: usize = 2 << 10;
/// The longest and the usual time for which a token of a service account is asked for, in seconds.
const LIFETIME: (u64, u64) = (43_200, 3_600);

/// What the file says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Federation {
    pub(super) audience: String,
    pub(super) subject_token_type: String,
    pub(super) token_url: String,
    /// The domain of its universe, if it is not Google's own.
    pub(super) universe: Option<String>,
    pub(super) subject: SubjectToken,
    /// The service account whose token is asked for with the first one.
    pub(super) impersonation: Option<Impersonation>,
}

/// Where the token of the other identity provider is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SubjectToken {
    pub(super) file: PathBuf,
    /// The member that has it, in a file of JSON.
    pub(super) field: Option<String>,
}

/// A service account whose token is asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Impersonation {
    pub(super) url: String,
    pub(super) seconds: u64,
}

#[derive(Deserialize)]
struct FederationFile {
    #[serde(rename = "type")]
    kind: String,
    audience: Option<String>,
    subject_token_type: Option<String>,
    token_url: Option<String>,
    universe_domain: Option<String>,
    credential_source: Option<Map<String, Value>>,
    service_account_impersonation_url: Option<String>,
    service_account_impersonation: Option<Lifetime>,
    workforce_pool_user_project: Option<Value>,
    client_id: Option<Value>,
    client_secret: Option<Value>,
}

#[derive(Deserialize)]
struct Lifetime {
    token_lifetime_seconds: Option<u64>,
}

/// Reads the file. The error continues the sentence that begins with the file.
pub(super) fn read(bytes: &[u8]) -> Result<Federation, String> {
    let file: FederationFile = serde_json::from_slice(bytes)
        .map_err(|_| "is no file of workload identity federation: it is not the JSON that Google writes".to_owned())?;
    if file.kind != "external_account" {
        let kind = cloud_provider::printable(&file.kind, 40);
        return Err(format!("is of type {kind:?}, not external_account; write it where that type belongs"));
    }
    for (key, value) in [
        ("workforce_pool_user_project", &file.workforce_pool_user_project),
        ("client_id", &file.client_id),
        ("client_secret", &file.client_secret),
    ] {
        if value.is_some() {
            return Err(format!("has {key}, which is for people; make a file for a workload"));
        }
    }
    let word = |key: &str, text: Option<String>| {
        let is_word =
            |it: &String| !it.is_empty() && it.len() <= WORD_BYTES && it.bytes().all(|it| it.is_ascii_graphic());
        text.filter(is_word).ok_or_else(|| format!("has no usable {key}; make another file"))
    };
    let url = file.service_account_impersonation_url;
    let lifetime = file.service_account_impersonation.and_then(|it| it.token_lifetime_seconds);
    let seconds = lifetime.unwrap_or(LIFETIME.1);
    if !(600..=LIFETIME.0).contains(&seconds) {
        return Err(format!("asks for tokens of {seconds} seconds; write 600 to {}", LIFETIME.0));
    }
    Ok(Federation {
        audience: word("audience", file.audience)?,
        subject_token_type: word("subject_token_type", file.subject_token_type)?,
        token_url: word("token_url", file.token_url)?,
        universe: universe::other(file.universe_domain)?,
        subject: subject(&file.credential_source.unwrap_or_default())?,
        impersonation: url
            .map(|url| {
                Ok::<_, String>(Impersonation { url: word("service_account_impersonation_url", Some(url))?, seconds })
            })
            .transpose()?,
    })
}

/// Where the other token is. Of all sources that Google knows only a file needs no program, no further request and no further secret.
fn subject(source: &Map<String, Value>) -> Result<SubjectToken, String> {
    for (key, name) in [
        ("url", "a URL"),
        ("executable", "a program"),
        ("environment_id", "AWS's metadata"),
        ("certificate", "a certificate"),
    ] {
        if source.contains_key(key) {
            return Err(format!(
                "takes its token from {name} (credential_source.{key}), which is not supported; mount a projected token of the service \
                 account and write credential_source.file"
            ));
        }
    }
    let Some(file) = source.get("file").and_then(Value::as_str).filter(|it| it.starts_with('/')) else {
        return Err("has no credential_source.file that begins with /; write where the token is mounted".to_owned());
    };
    let format = source.get("format").and_then(Value::as_object);
    let word = |key: &str| format.and_then(|it| it.get(key)).and_then(Value::as_str);
    let field = match (word("type"), word("subject_token_field_name")) {
        (None | Some("text"), _) => None,
        (Some("json"), Some(field)) => Some(field.to_owned()),
        _ => {
            return Err(
                "has a credential_source.format that is neither text nor json with subject_token_field_name".to_owned()
            );
        }
    };
    Ok(SubjectToken { file: file.into(), field })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file() -> Value {
        json!({
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": "https://sts.googleapis.com/v1/token",
            "credential_source": { "file": "/var/run/secrets/token" },
        })
    }

    fn refused(change: impl FnOnce(&mut Value)) -> String {
        let mut file = file();
        change(&mut file);
        read(file.to_string().as_bytes()).expect_err(&file.to_string())
    }

    #[test]
    fn a_file_with_a_token_in_text_or_json_is_read() {
        let read_file = |it: &Value| read(it.to_string().as_bytes()).unwrap();
        let plain = read_file(&file());
        assert_eq!(plain.subject, SubjectToken { file: "/var/run/secrets/token".into(), field: None });
        assert_eq!(plain.impersonation, None);
        let mut whole = file();
        whole["credential_source"]["format"] = json!({ "type": "json", "subject_token_field_name": "access_token" });
        whole["service_account_impersonation_url"] =
            "https://iamcredentials.googleapis.com/v1/x:generateAccessToken".into();
        whole["service_account_impersonation"] = json!({ "token_lifetime_seconds": 900 });
        let whole = read_file(&whole);
        assert_eq!(whole.subject.field.as_deref(), Some("access_token"));
        assert_eq!(whole.impersonation.map(|it| it.seconds), Some(900));
    }

    #[test]
    fn bad_files_of_federation_are_refused_by_name() {
        for (key, value) in [
            ("url", json!("http://169.254.169.254/token")),
            ("executable", json!({ "command": "/bin/token" })),
            ("environment_id", json!("aws1")),
            ("certificate", json!({})),
        ] {
            let because = refused(|it| it["credential_source"][key] = value);
            assert!(because.contains(&format!("credential_source.{key}")) && because.contains("write"), "{because}");
        }
        for key in ["workforce_pool_user_project", "client_id", "client_secret"] {
            let because = refused(|it| it[key] = "a-secret".into());
            assert!(because.contains(key) && !because.contains("a-secret"), "{because}");
        }
        for key in ["audience", "subject_token_type", "token_url"] {
            assert!(refused(|it| it[key] = "a b".into()).contains(key));
        }
        assert!(refused(|it| it["type"] = "service_account".into()).contains("not external_account"));
        assert!(refused(|it| it["credential_source"] = json!({ "file": "token" })).contains("begins with /"));
        assert!(refused(|it| it["credential_source"]["format"] = json!({ "type": "xml" })).contains("format"));
        assert!(
            refused(|it| it["service_account_impersonation"] = json!({ "token_lifetime_seconds": 1 })).contains("600")
        );
        assert!(read(b"").is_err() && read(&b"[".repeat(10_000)).is_err());
    }
}
