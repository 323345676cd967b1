//! Entra and managed identities, as tables: who gets a token, who is refused in which words, and which tokens are good.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::Method;
use serde_json::{Value, json};
use tests::clouds::azure::{CLIENT, FEDERATED, IDENTITY, IDENTITY_HEADER, SECRET, TENANT, id};

use crate::asked::Asked;

const SCOPE: &str = "https://management.azure.com/.default";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The answer of the token endpoint: its status and body.
async fn exchanged(asked: &Asked, tenant: &str, form: &[(&str, &str)]) -> (u16, Value) {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let url = format!("{}/{tenant}/oauth2/v2.0/token", asked.cloud.base_url());
    let client = asked.cloud.client(&["http/1.1"]);
    let request = client.post(url).header("content-type", "application/x-www-form-urlencoded").body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}

fn told((status, body): &(u16, Value)) -> String {
    let number = body["error_description"].as_str().map(|it| it.split(':').next().unwrap().to_owned());
    format!("{status} {}", number.unwrap_or_else(|| body["token_type"].as_str().unwrap_or_default().to_owned()))
}

/// A token that is not signed by anybody.
fn projected(issuer: &str, subject: &str, end: u64) -> String {
    let encoded = |it: &Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
    let claims = json!({ "iss": issuer, "sub": subject, "aud": "api://AzureADTokenExchange", "exp": end });
    format!("{}.{}.AA", encoded(&json!({ "alg": "RS256" })), encoded(&claims))
}

#[tokio::test]
async fn tokens_are_given_to_who_proves_itself() {
    let asked = Asked::instant().await;
    let (issuer, subject) = FEDERATED;
    let (good, late) = (projected(issuer, subject, 4_102_444_800), projected(issuer, subject, 1_000));
    let foreign = projected(issuer, "system:serviceaccount:default:thief", 4_102_444_800);
    let grant = ("grant_type", "client_credentials");
    for (tenant, form, expected) in [
        (TENANT, vec![("client_secret", SECRET)], "200 Bearer"),
        (TENANT, vec![("client_secret", "wrong")], "401 AADSTS7000215"),
        (TENANT, vec![("client_secret", SECRET), ("client_id", "other")], "400 AADSTS700016"),
        (TENANT, vec![("client_secret", SECRET), ("scope", "https://graph.microsoft.com/.default")], "400 AADSTS70011"),
        (TENANT, vec![("client_secret", SECRET), ("grant_type", "password")], "400 AADSTS70003"),
        (TENANT, vec![("client_secret", SECRET), ("scope", "")], "400 AADSTS900144"),
        ("other", vec![("client_secret", SECRET)], "400 AADSTS90002"),
        (TENANT, vec![], "401 AADSTS7000218"),
        (TENANT, vec![("client_assertion_type", ASSERTION), ("client_assertion", good.as_str())], "200 Bearer"),
        (TENANT, vec![("client_assertion_type", ASSERTION), ("client_assertion", late.as_str())], "401 AADSTS700024"),
        (TENANT, vec![("client_assertion_type", ASSERTION), ("client_assertion", foreign.as_str())], "401 AADSTS70021"),
        (TENANT, vec![("client_assertion_type", ASSERTION), ("client_assertion", "text")], "401 AADSTS50027"),
        (TENANT, vec![("client_assertion_type", "other"), ("client_assertion", good.as_str())], "400 AADSTS7000214"),
    ] {
        let usual = [("client_id", CLIENT), grant, ("scope", SCOPE)];
        let usual = usual.into_iter().filter(|(name, _)| !form.iter().any(|(it, _)| it == name));
        let whole: Vec<_> = usual.chain(form.iter().copied()).collect();
        let answer = exchanged(&asked, tenant, &whole).await;
        assert_eq!(told(&answer), expected, "{tenant} {form:?}: {}", answer.1);
    }
    asked.cloud.identity().set_secret(CLIENT, SECRET, true);
    let answer =
        exchanged(&asked, TENANT, &[("client_id", CLIENT), grant, ("scope", SCOPE), ("client_secret", SECRET)]).await;
    assert_eq!(told(&answer), "401 AADSTS7000222");
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn managed_identities_are_the_machines() {
    let asked = Asked::instant().await;
    let imds = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com";
    let msi = "/msi/token?api-version=2019-08-01&resource=https://management.azure.com";
    let metadata = [("metadata", "true"), ("authorization", "")];
    let header = [("x-identity-header", IDENTITY_HEADER), ("authorization", "")];
    let nothing = [("authorization", "")];
    for (path, headers, status) in [
        (imds.to_owned(), metadata.as_slice(), 200),
        (imds.to_owned(), nothing.as_slice(), 400),
        (format!("{imds}&client_id={CLIENT}"), &metadata, 200),
        (format!("{imds}&client_id=other"), &metadata, 400),
        (format!("{imds}&msi_res_id={IDENTITY}"), &metadata, 200),
        (imds.replace("&resource=https://management.azure.com", ""), &metadata, 400),
        (msi.to_owned(), &header, 200),
        (msi.to_owned(), &nothing, 401),
    ] {
        let told = asked.send(&Method::GET, &path, headers, None).await;
        assert_eq!(told.status, status, "{path}: {}", told.body);
        if status == 200 {
            let bearer = format!("Bearer {}", told.body["access_token"].as_str().unwrap());
            let list = id("Microsoft.Network/loadBalancers?api-version=2025-05-01");
            assert_eq!(asked.send(&Method::GET, &list, &[("authorization", &bearer)], None).await.status, 200);
        }
    }
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn tokens_end_and_are_challenged() {
    let asked = Asked::instant().await;
    let list = id("Microsoft.Network/loadBalancers?api-version=2025-05-01");
    let form =
        [("client_id", CLIENT), ("grant_type", "client_credentials"), ("scope", SCOPE), ("client_secret", SECRET)];
    let token = async |claims: &str| {
        let form: Vec<_> =
            form.into_iter().chain([("claims", claims)].into_iter().filter(|_| !claims.is_empty())).collect();
        format!("Bearer {}", exchanged(&asked, TENANT, &form).await.1["access_token"].as_str().unwrap())
    };
    let tried = async |bearer: &str| asked.send(&Method::GET, &list, &[("authorization", bearer)], None).await;
    let first = token("").await;
    assert_eq!(tried("").await.short(), "401 AuthenticationFailed");
    assert_eq!(tried("Bearer other").await.short(), "401 InvalidAuthenticationToken");
    assert_eq!(tried(&first).await.status, 200);

    let claims = r#"{"access_token":{"nbf":{"essential":true,"value":"1700000000"}}}"#;
    asked.cloud.identity().demand_claims(Some(claims));
    let refused = tried(&first).await;
    let challenge = refused.header("www-authenticate");
    let told = challenge.split("claims=\"").nth(1).and_then(|it| it.strip_suffix('"')).unwrap();
    assert_eq!(BASE64_STANDARD.decode(told).unwrap(), claims.as_bytes(), "{challenge}");
    assert_eq!(tried(&token(claims).await).await.status, 200);
    asked.cloud.identity().demand_claims(None);

    asked.cloud.identity().expire_all();
    assert_eq!(tried(&first).await.short(), "401 ExpiredAuthenticationToken");
    asked.cloud.identity().set_lifetime(Duration::ZERO);
    assert_eq!(tried(&token("").await).await.short(), "401 ExpiredAuthenticationToken");
    asked.cloud.identity().set_lifetime(Duration::from_secs(60));
    assert_eq!(asked.cloud.identity().tokens(), 0);

    // A second tenant's token goes beside the first.
    asked.cloud.identity().demand_auxiliary(true);
    let own = token("").await;
    assert_eq!(tried(&own).await.short(), "403 LinkedAuthorizationFailed");
    let other = exchanged(&asked, tests::clouds::azure::OTHER_TENANT, &form).await.1["access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    for (auxiliary, status) in [(format!("Bearer {other}"), 200), (own.clone(), 401)] {
        let headers = [("authorization", own.as_str()), ("x-ms-authorization-auxiliary", auxiliary.as_str())];
        assert_eq!(asked.send(&Method::GET, &list, &headers, None).await.status, status, "{auxiliary}");
    }
    asked.cloud.assert_valid();
}
