//! Attacks of a hostile guest where requests are signed, at EC2 and at both kinds of load balancers: refused, and said
//! so, and nothing leaves with a signature.

use egress::{Body, CallId, Egress, Endpoint, GuestRequest, Method, Mode, SendError};
use tests::capture::Capture;

use super::cloud::{Api, EC2, ELB, ELBV2, cloud, credentials, egress, endpoint, pairs, request, send};
use crate::setup::{Folder, lead};

/// An attack is written in the words of EC2. It is tried at each of these.
const APIS: [Api; 3] = [EC2, ELB, ELBV2];
const VERSION: (&str, &str) = ("Version", EC2.version);
const OTHER_VERSION: (&str, &str) = ("Version", EC2.other_version);
const DESCRIBE: (&str, &str) = ("Action", EC2.reads);
const TERMINATE: (&str, &str) = ("Action", EC2.deletes);

/// An egress to a cloud that knows the keys, with an endpoint for each API at one host.
struct World {
    egress: Egress,
    cloud: Capture,
    _folder: Folder,
}

impl World {
    async fn new() -> Self {
        let (folder, cloud) = (Folder::new(), cloud().await);
        let ca_file = folder.write("ca.pem", cloud.ca());
        let endpoint = |it| Endpoint { ca_file: Some(ca_file.clone()), ..endpoint(it, &cloud.url()) };
        let egress = egress(APIS.iter().map(endpoint).collect(), credentials(&folder));
        Self { egress, cloud, _folder: folder }
    }

    /// Asserts that a request is refused at each API in every kind of call, with this code and a sentence that holds
    /// `part`, and that nothing has left.
    async fn refused(&self, code: &str, part: &str, make: impl Fn() -> GuestRequest) {
        for (api, mode) in APIS.iter().flat_map(|it| [(it, Mode::Read), (it, Mode::Write { deletes: 9 })]) {
            match send(&self.egress, mode, api.request(make())).await {
                Err(SendError::Denied(text)) => {
                    assert!(text.starts_with(&format!("{code}: ")) && text.contains(&api.words(part)), "{text}");
                }
                other => panic!("expected {code} at {api:?}, but {other:?}"),
            }
        }
        assert_eq!(self.cloud.connections(), 0, "nobody was dialled");
    }

    /// The same for a form.
    async fn form(&self, code: &str, part: &str, form: &[(&str, &str)]) {
        let make = || GuestRequest { body: Some(Body::Form(pairs(form))), ..request(Method::Post) };
        self.refused(code, part, make).await;
    }

    /// The same for a query.
    async fn query(&self, code: &str, part: &str, query: &[(&str, &str)]) {
        self.refused(code, part, || GuestRequest { query: pairs(query), ..request(Method::Get) }).await;
    }

    /// The same for a header beside a plain request.
    async fn header(&self, name: &str) {
        let make = || GuestRequest {
            headers: pairs(&[(name, "x")]),
            body: Some(Body::Form(pairs(&[DESCRIBE, VERSION]))),
            ..request(Method::Post)
        };
        self.refused("E-EGRESS-HEADER", &format!("{name:?}"), make).await;
    }
}

const OPERATION: &str = "E-EGRESS-OPERATION";

#[tokio::test]
async fn adv_140_an_operation_in_another_letter_case_is_refused() {
    let world = World::new().await;
    for name in ["action", "ACTION", "aCTION", "Action ", "Action[]", "$Action"] {
        world.form(OPERATION, "in the parameter Action", &[(name, "TerminateInstances"), VERSION]).await;
        world.form(OPERATION, "exactly once", &[DESCRIBE, (name, "TerminateInstances"), VERSION]).await;
        world.query(OPERATION, "exactly once", &[(name, "TerminateInstances"), DESCRIBE, VERSION]).await;
    }
    // The operation itself in another letter case is the same operation, with its effect.
    let lower = || GuestRequest { query: pairs(&[("Action", "terminateinstances"), VERSION]), ..request(Method::Get) };
    match send(&world.egress, Mode::Read, lower()).await {
        Err(SendError::Denied(text)) => {
            assert!(text.starts_with("E-EGRESS-READONLY: \"terminateinstances\" ("), "{text}");
        }
        other => panic!("{other:?}"),
    }
    world
        .form(OPERATION, "does not allow the operation \"RunInstances\"", &[("Action", "RunInstances"), VERSION])
        .await;
}

#[tokio::test]
async fn adv_140_an_operation_twice_is_refused() {
    let world = World::new().await;
    world.form(OPERATION, "exactly once", &[DESCRIBE, TERMINATE, VERSION]).await;
    world.form(OPERATION, "exactly once", &[DESCRIBE, DESCRIBE, VERSION]).await;
    world.query(OPERATION, "exactly once", &[DESCRIBE, TERMINATE, VERSION]).await;
}

#[tokio::test]
async fn adv_140_an_operation_in_query_and_form_is_refused() {
    let world = World::new().await;
    for (query, form) in [(DESCRIBE, TERMINATE), (TERMINATE, DESCRIBE), (DESCRIBE, DESCRIBE)] {
        let make = || GuestRequest {
            query: pairs(&[query]),
            body: Some(Body::Form(pairs(&[form, VERSION]))),
            ..request(Method::Post)
        };
        world.refused(OPERATION, "exactly once", make).await;
    }
}

#[tokio::test]
async fn adv_140_an_operation_in_a_json_body_is_refused() {
    let world = World::new().await;
    for (content_type, body) in [
        ("application/json", "{\"Action\":\"TerminateInstances\",\"Version\":\"2016-11-15\"}"),
        ("application/x-amz-json-1.1", "{}"),
        ("application/x-www-form-urlencoded", "Action=TerminateInstances&Version=2016-11-15"),
    ] {
        let make = || GuestRequest {
            query: pairs(&[DESCRIBE, VERSION]),
            headers: pairs(&[("content-type", content_type)]),
            body: Some(Body::Bytes(body.as_bytes().to_vec())),
            ..request(Method::Post)
        };
        world.refused(OPERATION, "a body is a form", make).await;
    }
}

#[tokio::test]
async fn adv_140_a_presigned_query_is_refused() {
    let world = World::new().await;
    for name in [
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Date",
        "X-Amz-Expires",
        "X-Amz-SignedHeaders",
        "X-Amz-Signature",
        "X-Amz-Security-Token",
        "x-amz-signature",
        "AWSAccessKeyId",
        "Signature",
        "SecurityToken",
    ] {
        world.query("E-EGRESS-QUERY", "could carry a credential", &[DESCRIBE, VERSION, (name, "x")]).await;
        world.form("E-EGRESS-QUERY", "could carry a credential", &[DESCRIBE, VERSION, (name, "x")]).await;
    }
}

#[tokio::test]
async fn adv_140_headers_of_a_signature_are_refused() {
    let world = World::new().await;
    for name in [
        "Authorization",
        "X-Amz-Date",
        "X-Amz-Security-Token",
        "X-Amz-Content-Sha256",
        "X-Amz-Target",
        "X-Amz-Source-Arn",
        "Host",
        "AWSAccessKeyId",
        "Date",
    ] {
        world.header(name).await;
    }
}

#[tokio::test]
async fn adv_140_another_version_of_the_api_is_refused() {
    let world = World::new().await;
    let part = "each request carries Version=2016-11-15 exactly once";
    for version in [
        &[][..],
        &[OTHER_VERSION],
        &[VERSION, OTHER_VERSION],
        &[VERSION, VERSION],
        &[("version", "2016-11-15")],
        &[VERSION, ("VERSION", EC2.other_version)],
    ] {
        world.form(OPERATION, part, &[&[DESCRIBE][..], version].concat()).await;
        world.query(OPERATION, part, &[&[DESCRIBE][..], version].concat()).await;
    }
    let make = || GuestRequest {
        query: pairs(&[OTHER_VERSION]),
        body: Some(Body::Form(pairs(&[DESCRIBE, VERSION]))),
        ..request(Method::Post)
    };
    world.refused(OPERATION, part, make).await;
}

#[tokio::test]
async fn adv_140_two_apis_of_one_host_are_not_confused() {
    let world = World::new().await;
    let delete = |api: &Api, version: &str| GuestRequest {
        endpoint: api.name.to_owned(),
        body: Some(Body::Form(pairs(&[("Action", "DeleteLoadBalancer"), ("Version", version)]))),
        ..request(Method::Post)
    };
    let may = Mode::Write { deletes: 1 };
    for (api, other) in [(ELB, ELBV2), (ELBV2, ELB)] {
        match send(&world.egress, may, delete(&api, other.version)).await {
            Err(SendError::Denied(text)) => assert!(text.contains(&format!("Version={}", api.version)), "{text}"),
            refused => panic!("{refused:?}"),
        }
        assert_eq!(world.cloud.connections(), 0);
    }
    // The cloud judges what each is signed for.
    for api in [ELB, ELBV2] {
        assert_eq!(send(&world.egress, may, delete(&api, api.version)).await, Ok((200, "<ok/>".to_owned())));
    }
}

#[tokio::test]
async fn adv_140_another_region_is_no_endpoint() {
    let world = World::new().await;
    for name in [
        "ec2.us-east-1",
        "elb.us-east-1",
        "https://ec2.us-east-1.amazonaws.com",
        "https://elasticloadbalancing.us-east-1.amazonaws.com",
        "elasticloadbalancing",
        "EC2",
        "ELBv2",
        "ec2 ",
    ] {
        let make =
            || GuestRequest { endpoint: name.to_owned(), query: pairs(&[DESCRIBE, VERSION]), ..request(Method::Get) };
        world.refused("E-EGRESS-ENDPOINT", "there is no endpoint", make).await;
    }
    for path in ["ec2.us-east-1.amazonaws.com", "latest", "v1"] {
        let make =
            || GuestRequest { path: vec![path.to_owned()], query: pairs(&[DESCRIBE, VERSION]), ..request(Method::Get) };
        world.refused("E-EGRESS-PATH", "does not allow", make).await;
    }
}

/// The answers of each API if the name of its host leads to `address`, and a server that waits there, which no request
/// may reach.
async fn led_to(name: &str, address: &str) -> (Vec<Result<(u16, String), SendError>>, Capture) {
    let (folder, cloud) = (Folder::new(), cloud().await);
    lead(address, cloud.address());
    let ca_file = folder.write("ca.pem", cloud.ca());
    let endpoint = |it| Endpoint { ca_file: Some(ca_file.clone()), ..endpoint(it, &format!("https://{name}")) };
    let settings = egress::EgressSettings {
        endpoints: APIS.iter().map(endpoint).collect(),
        credentials: credentials(&folder),
        fence: std::sync::Arc::new(|| true),
        demands: crate::setup::any(),
        reports: std::sync::Arc::new(|_| ()),
        route: crate::setup::route,
    };
    let metrics = egress::Metrics::register(&prometheus::Registry::new()).unwrap();
    let names = crate::setup::Names::new(name, &[&[address]]);
    let egress = Egress::with_resolver(settings, metrics, names).unwrap();
    (describe(&egress).await, cloud)
}

/// The answers of each API to a request that reads.
async fn describe(egress: &Egress) -> Vec<Result<(u16, String), SendError>> {
    let request = || GuestRequest { query: pairs(&[DESCRIBE, VERSION]), ..request(Method::Get) };
    let mut answers = Vec::new();
    for api in APIS {
        answers.push(send(egress, Mode::Read, api.request(request())).await);
    }
    answers
}

const KEY_SERVICES: [&str; 5] = ["169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"];

#[tokio::test]
async fn adv_141_a_name_does_not_lead_to_where_keys_come_from() {
    for address in KEY_SERVICES {
        let (answers, server) = led_to("cloud.eu-west-1.example.com", address).await;
        for (api, answer) in APIS.iter().zip(answers) {
            match answer {
                Err(SendError::Denied(text)) => {
                    assert!(text.starts_with("E-EGRESS-IP: ") && text.contains("no config can allow it"), "{text}");
                }
                other => panic!("{api:?} at {address}: {other:?}"),
            }
        }
        assert_eq!(server.connections(), 0, "nobody at {address} was dialled");
    }
}

#[tokio::test]
async fn adv_141_an_address_where_keys_come_from_is_no_endpoint() {
    let folder = Folder::new();
    for (address, api) in KEY_SERVICES.iter().flat_map(|address| APIS.map(|api| (address, api))) {
        let host = if address.contains(':') { format!("[{address}]") } else { (*address).to_owned() };
        assert!(egress::BaseUrl::parse(&format!("http://{host}/latest")).is_err(), "{host}");
        let settings = egress::EgressSettings {
            endpoints: vec![endpoint(&api, &format!("https://{host}"))],
            credentials: credentials(&folder),
            fence: std::sync::Arc::new(|| true),
            demands: crate::setup::any(),
            reports: std::sync::Arc::new(|_| ()),
            route: |it| it,
        };
        let metrics = egress::Metrics::register(&prometheus::Registry::new()).unwrap();
        let error = Egress::new(settings, metrics).err().expect("it is refused").to_string();
        assert!(error.contains(api.name) && error.contains("give the cloud's own address"), "{error}");
    }
    let world = World::new().await;
    for name in ["169.254.169.254", "instance metadata of credential aws", "sts of credential aws", "aws"] {
        let make = || GuestRequest { endpoint: name.to_owned(), ..request(Method::Get) };
        world.refused("E-EGRESS-ENDPOINT", "there is no endpoint", make).await;
    }
}

#[tokio::test]
async fn adv_141_a_redirect_to_where_keys_come_from_is_an_answer() {
    let folder = Folder::new();
    let metadata = cloud().await;
    lead("169.254.169.254", metadata.address());
    let cloud = Capture::https(&["127.0.0.1"], |_| {
        let to = "http://169.254.169.254/latest/meta-data/iam/security-credentials/";
        tests::capture::Step::answer("307 Temporary Redirect", &[("location", to)], "")
    })
    .await;
    let ca_file = folder.write("ca.pem", cloud.ca());
    let endpoint = |it| Endpoint { ca_file: Some(ca_file.clone()), ..endpoint(it, &cloud.url()) };
    let egress = egress(APIS.iter().map(endpoint).collect(), credentials(&folder));
    assert_eq!(describe(&egress).await, APIS.map(|_| Ok((307, String::new()))));
    assert_eq!((cloud.requests().len(), metadata.connections()), (APIS.len(), 0));
}

#[tokio::test]
async fn adv_140_ten_thousand_signatures_are_limited() {
    let world = World::new().await;
    let call = CallId { provider: "test".into(), function: "list", id: 1 };
    // Whichever endpoint they are for, one call has one budget.
    let mut call = world.egress.open(call, Mode::Read);
    let (mut answered, mut denied) = (0, 0);
    for (n, api) in (0..10_000).zip(APIS.iter().cycle()) {
        let form = pairs(&[DESCRIBE, VERSION, ("NextToken", &n.to_string())]);
        let next = GuestRequest { body: Some(Body::Form(form)), ..request(Method::Post) };
        match call.send(api.request(next)).await {
            Ok(answer) => answered += u32::from(answer.status == 200),
            Err(SendError::Denied(text)) => {
                assert!(text.starts_with("E-EGRESS-BUDGET: one call may make 100 requests"), "{text}");
                denied += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answered, denied, world.cloud.requests().len()), (100, 9_900, 100));
}
