//! Sources of tokens of Microsoft Entra.

use egress::{EntraLogin, EntraProof, EntraSettings, ManagedIdentity};

use super::*;

const CLIENT: &str = "tenant: contoso.onmicrosoft.com, clientId: 88888888-0000-0000-0000-000000000002";

/// The config with these words about a source of tokens.
fn entra(keys: &str) -> Result<EntraSettings, String> {
    let entra = format!("entra: {{ {keys} }}");
    let text = example().replacen("bearer: { file: /etc/aerostat/token }", &entra, 1);
    match &CloudConfig::parse(&text)?.credentials[0].kind {
        CredentialKind::Entra(settings) => Ok((**settings).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_proof_of_entra_is_read() {
    let secret = entra(&format!("{CLIENT}, clientSecret: {{ file: /s }}, auxiliary: network")).unwrap();
    let EntraLogin::Client { client, proof } = &secret.login else { panic!("another login") };
    assert_eq!(client.authority.to_string(), "https://login.microsoftonline.com");
    assert_eq!(secret.scope.as_str(), "https://management.azure.com/.default");
    assert!(matches!(proof, EntraProof::Secret { .. }) && secret.auxiliary.as_deref() == Some("network"));
    let china = entra(&format!("{CLIENT}, cloud: AzureChinaCloud, clientCertificate: {{ file: /c, sendChain: true }}"));
    let china = china.unwrap();
    assert_eq!(china.authority().map(ToString::to_string).as_deref(), Some("https://login.chinacloudapi.cn"));
    assert_eq!(china.scope.as_str(), "https://management.chinacloudapi.cn/.default");
    let own = "federatedToken: { file: /t }, authority: https://adfs.example.com/adfs, scope: https://arm.example.com/.default";
    let own = entra(&format!("{CLIENT}, {own}")).unwrap();
    assert_eq!(own.authority().map(ToString::to_string).as_deref(), Some("https://adfs.example.com/adfs"));
    assert_eq!(own.scope.as_str(), "https://arm.example.com/.default");
    for (keys, expected) in [
        ("managedIdentity: {}", 0),
        ("managedIdentity: { clientId: a }", 1),
        ("managedIdentity: { resourceId: /subscriptions/s, url: 'http://127.0.0.1:8080' }", 2),
    ] {
        let EntraLogin::ManagedIdentity { identity, .. } = entra(keys).unwrap().login else { panic!("another login") };
        let found = match identity {
            ManagedIdentity::System => 0,
            ManagedIdentity::ClientId(_) => 1,
            ManagedIdentity::ResourceId(_) => 2,
        };
        assert_eq!(found, expected, "{keys}");
    }
}

#[test]
fn bad_proofs_of_entra_are_named() {
    for (keys, part) in [
        ("", "credential token: `entra` has no proof of who asks; write clientSecret:"),
        ("clientSecret: { file: /s }, managedIdentity: {}", "has several proofs"),
        ("clientSecret: { file: /s }", "`entra.tenant` is missing"),
        ("tenant: t, federatedToken: { file: /t }", "`entra.clientId` is missing"),
        ("tenant: a/b, clientId: c, clientSecret: { file: /s }", "is no tenant"),
        ("tenant: common, clientId: c, clientSecret: { file: /s }", "stands for many tenants"),
        ("tenant: t, managedIdentity: {}", "`entra.tenant` is not for `managedIdentity`"),
        ("managedIdentity: { clientId: a, resourceId: b }", "two ids"),
        ("managedIdentity: { url: 'http://10.0.0.1' }", "169.254.169.254"),
        ("managedIdentity: { environment: true, url: 'http://127.0.0.1' }", "`url` and `environment`"),
        ("cloud: AzureGermanCloud, managedIdentity: {}", "is no cloud of Azure"),
        ("tenant: t, clientId: c, clientSecret: { secret: of-somebody }", "line"),
    ] {
        let error = entra(keys).expect_err(keys);
        assert!(error.contains(part) && !error.contains("of-somebody"), "{keys}: {error}");
    }
}
