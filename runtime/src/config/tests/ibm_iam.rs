//! Sources of tokens of IBM Cloud's IAM.

use egress::{IbmIamSettings, IbmProfile, IbmTokens};

use super::*;

/// The config with these words about a source of tokens.
fn ibm(keys: &str) -> Result<IbmIamSettings, String> {
    let ibm = format!("ibmIam: {{ {keys} }}");
    let text = example().replacen("bearer: { file: /etc/aerostat/token }", &ibm, 1);
    match &CloudConfig::parse(&text)?.credentials[0].kind {
        CredentialKind::IbmIam(settings) => Ok((**settings).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_source_of_iam_tokens_is_read() {
    let key = ibm("apiKey: { file: /k }, tls: { caFile: /ca }").unwrap();
    assert!(matches!(&key.tokens, IbmTokens::ApiKey { .. }) && key.ca_file.is_some());
    assert_eq!(key.iam().map(ToString::to_string).as_deref(), Some("https://iam.cloud.ibm.com"));
    let pod =
        "computeResource: { tokenFile: /t, profile: { id: Profile-1 } }, baseUrl: https://private.iam.cloud.ibm.com";
    let pod = ibm(pod).unwrap();
    assert!(matches!(&pod.tokens, IbmTokens::ComputeResource { profile: IbmProfile::Id(_), .. }));
    assert_eq!(pod.iam().map(ToString::to_string).as_deref(), Some("https://private.iam.cloud.ibm.com"));
    for keys in
        ["{}", "{ url: 'http://127.0.0.1:8080' }", "{ profile: { name: our cluster } }", "{ profile: { crn: c } }"]
    {
        let machine = ibm(&format!("instanceIdentity: {keys}")).unwrap();
        assert!(matches!(machine.tokens, IbmTokens::InstanceIdentity { .. }) && machine.iam().is_none(), "{keys}");
    }
}

#[test]
fn bad_sources_of_iam_tokens_are_named() {
    for (keys, part) in [
        ("", "credential token: `ibmIam` says not where tokens come from; write apiKey:"),
        ("apiKey: { file: /k }, instanceIdentity: {}", "has several sources of tokens"),
        ("instanceIdentity: { url: 'http://10.0.0.1' }", "169.254.169.254"),
        ("instanceIdentity: {}, baseUrl: https://iam.cloud.ibm.com", "take `baseUrl` and `proxy` out"),
        ("instanceIdentity: { profile: {} }", "one of id, name and crn"),
        ("instanceIdentity: { profile: { id: a, name: b } }", "one of id, name and crn"),
        ("computeResource: { tokenFile: /t }", "profile"),
        ("computeResource: { tokenFile: /t, profile: { crn: c } }", "is a CRN"),
        ("computeResource: { tokenFile: /t, profile: { name: '' } }", "names no trusted profile"),
        ("apiKey: { file: /k }, baseUrl: 'http://iam.cloud.ibm.com'", "write https://"),
        ("apiKey: { key: of-somebody }", "line"),
    ] {
        let error = ibm(keys).expect_err(keys);
        assert!(error.contains(part) && !error.contains("of-somebody"), "{keys}: {error}");
    }
}
