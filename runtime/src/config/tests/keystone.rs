//! Logins at Keystone, and endpoints that its catalogue names.

use egress::{ApplicationCredentialName, EndpointPlace, KeystoneLogin, KeystoneSettings};

use super::*;

const USER: &str = "user: { name: aerostat, domain: { name: Default } }";

/// The config with these words about a login.
fn login(keys: &str) -> Result<KeystoneSettings, String> {
    let keystone = format!("keystone: {{ {keys} }}");
    let text = example().replacen("bearer: { file: /etc/aerostat/token }", &keystone, 1);
    match &CloudConfig::parse(&text)?.credentials[0].kind {
        CredentialKind::Keystone(settings) => Ok((**settings).clone()),
        other => panic!("{other:?}"),
    }
}

/// The config with these words about where the endpoint is.
fn place(keys: &str) -> Result<EndpointPlace, String> {
    let text = example().replacen("baseUrl: https://api.digitalocean.com", keys, 1);
    assert_ne!(text, example());
    Ok(CloudConfig::parse(&text)?.endpoints[0].place.clone())
}

#[test]
fn each_login_is_read() {
    let url = "baseUrl: https://keystone.example:5000";
    let settings = login(&format!(
        "{url}, password: {{ {USER}, passwordFile: /p }}, project: {{ id: p1 }}, addresses: [10.0.0.0/8], tls: {{ certFile: /c, \
         keyFile: /k }}"
    ))
    .unwrap();
    assert!(matches!(settings.login, KeystoneLogin::Password { .. }));
    assert!(settings.client_certificate.is_some() && settings.ca_file.is_none());
    let credential = login(&format!("{url}, applicationCredential: {{ idFile: /i, secretFile: /s }}")).unwrap();
    let by_file = |login: &KeystoneLogin| {
        matches!(login, KeystoneLogin::ApplicationCredential { name: ApplicationCredentialName::IdFile(_), .. })
    };
    assert!(by_file(&credential.login));
    for keys in [
        "applicationCredential: { id: c1, secretFile: /s }".to_owned(),
        format!("applicationCredential: {{ name: c, {USER}, secretFile: /s }}"),
        format!("trust: {{ id: t1, {USER}, passwordFile: /p }}"),
        "token: { file: /t }".to_owned(),
        "token: { file: /t }, project: { name: p, domain: { id: default } }".to_owned(),
    ] {
        assert!(login(&format!("{url}, {keys}")).is_ok(), "{keys}");
    }
    let http = "baseUrl: http://keystone.example, token: { file: /t }";
    assert!(login(http).unwrap_err().contains("insecure: true"));
    assert!(login(&format!("{http}, insecure: true")).is_ok());
}

#[test]
fn bad_logins_are_named() {
    let url = "baseUrl: https://keystone.example:5000";
    for (keys, part) in [
        ("".to_owned(), "`keystone` names no login"),
        (format!(", token: {{ file: /t }}, trust: {{ id: t, {USER}, passwordFile: /p }}"), "has several logins"),
        (format!(", password: {{ {USER}, passwordFile: /p }}"), "`keystone.project` is missing"),
        (format!(", trust: {{ id: t, {USER}, passwordFile: /p }}, project: {{ id: p }}"), "its own project"),
        (", password: { user: { name: a }, passwordFile: /p }".to_owned(), "`keystone.password.user` is nobody"),
        (", password: { user: { name: a, domain: {} }, passwordFile: /p }".to_owned(), "domain` has an id and a name"),
        (
            ", applicationCredential: { name: a, secretFile: /s }".to_owned(),
            "`keystone.applicationCredential` is not one",
        ),
        (", token: { file: /t }, tls: { certFile: /c }".to_owned(), "both certFile and keyFile"),
        (", token: { file: /t }, password: s3cret".to_owned(), "line"),
    ] {
        let error = login(&format!("{url}{keys}")).expect_err(&keys);
        assert!(error.contains(part) && !error.contains("s3cret"), "{keys}: {error}");
    }
}

#[test]
fn a_catalogue_stands_in_the_place_of_a_base_url() {
    let found = place(
        "catalog: { type: compute, region: RegionOne, path: /v2.1 }\n    origins: ['https://nova.example:8774', { url: 'http://10.0.0.5:8774', insecure: true }]",
    );
    let EndpointPlace::Catalog(place_of_nova) = found.unwrap() else { panic!("it is one of a catalogue") };
    assert_eq!((place_of_nova.interface.as_str(), place_of_nova.origins.len()), ("public", 2));
    for (keys, part) in [
        ("catalog: { type: compute }\n    baseUrl: https://a.example", "both baseUrl and catalog"),
        (
            "baseUrl: https://a.example\n    origins: ['https://a.example']",
            "`origins` is for an endpoint with `catalog`",
        ),
        ("headers: []", "it says not where it is"),
        ("catalog: { type: compute }\n    origins: ['http://a.example']", "{ url: http://…, insecure: true }"),
        ("catalog: { type: compute }\n    origins: [{ url: 'http://a.example' }]", "write https://"),
        ("catalog: { type: compute, path: v2.1 }\n    origins: []", "is no path"),
    ] {
        let error = place(keys).expect_err(keys);
        assert!(error.contains(part), "{keys}: {error}");
    }
}
