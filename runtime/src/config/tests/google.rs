//! Sources of tokens for Google Cloud.

use egress::{GoogleSettings, GoogleTokens};

use super::*;

/// The config with these words about a source of tokens.
fn google(keys: &str) -> Result<GoogleSettings, String> {
    let google = format!("google: {{ {keys} }}");
    let text = example().replacen("bearer: { file: /etc/aerostat/token }", &google, 1);
    match &CloudConfig::parse(&text)?.credentials[0].kind {
        CredentialKind::Google(settings) => Ok((**settings).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_source_of_google_tokens_is_read() {
    let key = google("serviceAccountKey: { file: /k }, tls: { caFile: /ca }, addresses: [10.0.0.0/8]").unwrap();
    assert!(matches!(&key.tokens, GoogleTokens::ServiceAccountKey { exchange: false, .. }));
    assert!(key.ca_file.is_some() && key.token_urls().is_empty());
    let federation = google("federation: { file: /f }, tokenOrigins: ['https://sts.example.com']").unwrap();
    let urls = ["https://sts.googleapis.com", "https://iamcredentials.googleapis.com", "https://sts.example.com"];
    assert_eq!(federation.token_urls(), urls);
    for keys in ["metadata: {}", "metadata: { url: 'http://127.0.0.1:8080' }"] {
        assert!(matches!(google(keys).unwrap().tokens, GoogleTokens::Metadata { .. }), "{keys}");
    }
}

#[test]
fn bad_sources_of_google_tokens_are_named() {
    for (keys, part) in [
        ("", "credential token: `google` says not where tokens come from; write serviceAccountKey:"),
        ("metadata: {}, federation: { file: /f }", "has several sources of tokens"),
        ("metadata: { url: 'http://10.0.0.1' }", "169.254.169.254"),
        ("federation: { file: /f }, tokenOrigins: ['http://sts.example.com']", "write https://"),
        ("federation: { file: /f }, tokenOrigins: ['https://sts.example.com/v1']", "an origin has no path"),
        ("serviceAccountKey: { key: of-somebody }", "line"),
    ] {
        let error = google(keys).expect_err(keys);
        assert!(error.contains(part) && !error.contains("of-somebody"), "{keys}: {error}");
    }
}
