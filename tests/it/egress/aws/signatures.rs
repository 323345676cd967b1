//! Static keys, through the egress, to a server over TLS that recomputes the signature.

use egress::{Body, Endpoint, GuestRequest, Method, Mode, PathPattern, Rule, SendError};

use super::cloud::{EC2, cloud, credentials, ec2, egress, pairs, request, send, signed};
use crate::setup::Folder;

fn welcome() -> Result<(u16, String), SendError> {
    Ok((200, "<ok/>".to_owned()))
}

#[tokio::test]
async fn forms_and_queries_are_signed_as_they_go_out() {
    let (folder, cloud) = (Folder::new(), cloud().await);
    let api = Endpoint { ca_file: Some(folder.write("ca.pem", cloud.ca())), ..ec2(&cloud.url()) };
    let egress = egress(vec![api], credentials(&folder));
    let version = ("Version", "2016-11-15");
    for more in [
        &[][..],
        &[("Filter.1.Name", "tag:kubernetes.io/cluster/a b"), ("Filter.1.Value.1", "ü&=+%~*'()/\u{1f600}")],
        &[("MaxResults", "1000"), ("NextToken", "a+b/c==")],
    ] {
        let all = [&[("Action", "DescribeInstances"), version][..], more].concat();
        let form = GuestRequest { body: Some(Body::Form(pairs(&all))), ..request(Method::Post) };
        assert_eq!(send(&egress, Mode::Read, form).await, welcome(), "{more:?}");
        let query = GuestRequest { query: pairs(&all), ..request(Method::Get) };
        assert_eq!(send(&egress, Mode::Read, query).await, welcome(), "{more:?}");
    }
    let many: Vec<_> = (1..=900).map(|n| (format!("InstanceId.{n}"), format!("i-{n:017x}"))).collect();
    let form = [pairs(&[("Action", "TerminateInstances"), version]), many].concat();
    let terminate = GuestRequest { body: Some(Body::Form(form)), ..request(Method::Post) };
    assert_eq!(send(&egress, Mode::Write { deletes: 1 }, terminate).await, welcome());
    assert_eq!(cloud.requests().len(), 7);
}

#[tokio::test]
async fn json_paths_and_headers_are_signed_as_they_go_out() {
    let (folder, cloud) = (Folder::new(), cloud().await);
    let all = Rule::new([Method::Post, Method::Put], [PathPattern::parse("/**").unwrap()]);
    let api = Endpoint {
        allow: vec![all],
        ca_file: Some(folder.write("ca.pem", cloud.ca())),
        ..signed(&EC2, &format!("{}/base", cloud.url()))
    };
    let egress = egress(vec![api], credentials(&folder));
    let json = GuestRequest {
        path: vec!["clusters".to_owned(), "arn:aws:eks".to_owned(), "a b%20ü_1.2~3".to_owned()],
        headers: pairs(&[
            ("content-type", "application/json"),
            ("accept", "application/json"),
            ("if-match", "\"a  b\""),
        ]),
        body: Some(Body::Bytes("{\"name\": \"ü\"}".as_bytes().to_vec())),
        ..request(Method::Put)
    };
    assert_eq!(send(&egress, Mode::Write { deletes: 0 }, json).await, welcome());
    let signed = cloud.requests()[0].header("authorization").unwrap().to_owned();
    assert!(signed.contains("SignedHeaders=accept;content-type;host;if-match;x-amz-date, "), "{signed}");
    assert!(cloud.requests()[0].header("x-amz-security-token").is_none());
}

#[tokio::test]
async fn a_server_that_knows_another_secret_refuses() {
    let (folder, cloud) = (Folder::new(), cloud().await);
    let api = Endpoint { ca_file: Some(folder.write("ca.pem", cloud.ca())), ..ec2(&cloud.url()) };
    let credentials = credentials(&folder);
    let egress = egress(vec![api], credentials.clone());
    let describe = || GuestRequest {
        query: pairs(&[("Action", "DescribeInstances"), ("Version", "2016-11-15")]),
        ..request(Method::Get)
    };
    assert_eq!(send(&egress, Mode::Read, describe()).await, welcome());
    folder.write("credentials", "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = an0ther-secret\n");
    let mut watch = tokio::task::JoinSet::new();
    watch.spawn(credentials.watch());
    tests::wait::until("the other secret is read", async || {
        matches!(send(&egress, Mode::Read, describe()).await, Ok((403, _))).then_some(())
    })
    .await;
}
