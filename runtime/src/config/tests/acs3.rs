//! Signatures for Alibaba Cloud.

use egress::{Acs3Keys, Acs3Settings, Signing};

use super::*;

/// The config with these words about a source of keys.
fn acs3(keys: &str) -> Result<Acs3Settings, String> {
    let acs3 = format!("acs3: {{ {keys} }}");
    let text = example().replacen("bearer: { file: /etc/aerostat/token }", &acs3, 1);
    match &CloudConfig::parse(&text)?.credentials[0].kind {
        CredentialKind::Acs3(settings) => Ok((**settings).clone()),
        other => panic!("{other:?}"),
    }
}

const OIDC: &str =
    "oidc: { roleArn: 'acs:ram::1:role/ccm', providerArn: 'acs:ram::1:oidc-provider/ack', tokenFile: /t }";

#[test]
fn each_source_of_keys_for_alibaba_cloud_is_read() {
    let key = acs3("region: cn-hangzhou, accessKey: { idFile: /i, secretFile: /s }").unwrap();
    assert!(matches!(&key.keys, Acs3Keys::Files { token_file: None, expiration_file: None, .. }));
    assert!(key.sts_url().is_none(), "nobody is asked");
    let session = "accessKey: { idFile: /i, secretFile: /s, tokenFile: /t, expirationFile: /e }";
    let taken =
        acs3(&format!("region: cn-hangzhou, {session}, assumeRole: {{ roleArn: 'acs:ram::1:role/b', externalId: x }}"));
    let taken = taken.unwrap();
    assert!(matches!(&taken.keys, Acs3Keys::Files { token_file: Some(_), expiration_file: Some(_), .. }));
    assert_eq!(taken.sts_url().as_deref(), Some("https://sts.cn-hangzhou.aliyuncs.com"));
    let oidc =
        acs3(&format!("region: cn-hangzhou, {OIDC}, sts: {{ baseUrl: 'https://sts-vpc.cn-hangzhou.aliyuncs.com' }}"));
    assert_eq!(oidc.unwrap().sts_url().as_deref(), Some("https://sts-vpc.cn-hangzhou.aliyuncs.com"));
    for url in ["", "url: 'http://100.100.100.200'", "url: 'http://127.0.0.1:8080'"] {
        let keys = acs3(&format!("region: cn-hangzhou, instanceMetadata: {{ {url} }}")).expect(url).keys;
        assert!(matches!(keys, Acs3Keys::InstanceMetadata { .. }), "{url}");
    }
}

#[test]
fn bad_sources_of_keys_for_alibaba_cloud_are_named() {
    for (keys, part) in [
        ("region: cn-hangzhou", "credential token: `acs3` says not where its keys come from; write accessKey:"),
        (&format!("region: cn-hangzhou, instanceMetadata: {{}}, {OIDC}"), "has several sources of keys"),
        ("region: cn-hangzhou, accessKey: { idFile: /i, secretFile: /s, expirationFile: /e }", "no `tokenFile`"),
        ("region: cn-hangzhou, accessKey: { idFile: /i }", "secretFile"),
        ("region: CN, instanceMetadata: {}", "is no region"),
        ("instanceMetadata: {}", "region"),
        ("region: cn-hangzhou, instanceMetadata: { url: 'http://10.0.0.1' }", "100.100.100.200"),
        ("region: cn-hangzhou, oidc: { roleArn: ccm, providerArn: ack, tokenFile: /t }", "is no role"),
        ("region: cn-hangzhou, accessKey: { id: of-somebody }", "line"),
    ] {
        let error = acs3(keys).expect_err(keys);
        assert!(error.contains(part) && !error.contains("of-somebody"), "{keys}: {error}");
    }
}

#[test]
fn signatures_say_for_what_they_are_in_one_form() {
    let signing = |words: &str| {
        let text = example().replacen("{ region: eu-central-1, service: ec2 }", words, 1);
        CloudConfig::parse(&text).map(|it| it.endpoints[2].signing.clone())
    };
    assert!(
        matches!(signing("{ version: 2014-05-26 }"), Ok(Some(Signing::Acs3 { version })) if version.as_str() == "2014-05-26")
    );
    for (words, part) in [
        (
            "{ version: 2014-05-26, region: cn-hangzhou }",
            "endpoint ec2: `signing` says not for what; write { region: …",
        ),
        ("{ region: cn-hangzhou }", "{ version: … } for one with acs3"),
        ("{}", "`signing` says not for what"),
        ("{ version: latest }", "is no version of an API; write its day, as in 2014-05-26"),
    ] {
        let error = signing(words).expect_err(words);
        assert!(error.contains(part), "{words}: {error}");
    }
}
