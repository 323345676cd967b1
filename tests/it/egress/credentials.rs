//! Which secret goes where, and which one after it has changed.

use std::error::Error as _;
use std::sync::Arc;

use egress::{
    BaseUrl, CredentialKind, CredentialSettings, Credentials, Egress, EgressError, EgressSettings, Endpoint,
    WriteLimits,
};
use tests::capture::{Capture, Step};
use tests::wait;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::setup::{Folder, Lab, Outcome, Setup, any, bearer, endpoint, get};

fn with_token(base_url: &str) -> Endpoint {
    Endpoint { credential: Some("token".to_owned()), ..endpoint(base_url) }
}

async fn lab(server: &Capture, credentials: Credentials) -> Lab {
    let mut setup = Setup::new([with_token(&server.url())]);
    setup.credentials = credentials;
    setup.load().await
}

/// The tokens that reached a server, in their order.
fn tokens(server: &Capture) -> Vec<String> {
    let token = |it: &tests::capture::Request| it.header("authorization").unwrap_or("none").replace("Bearer ", "");
    server.requests().iter().map(token).collect()
}

fn egress(endpoint: Endpoint, credentials: Credentials) -> Result<Egress, EgressError> {
    let settings = EgressSettings {
        endpoints: vec![endpoint],
        credentials,
        fence: Arc::new(|| true),
        demands: any(),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    Egress::new(settings, egress::Metrics::register(&prometheus::Registry::new()).unwrap())
}

/// The error for a token file with this text.
fn unusable(text: &str) -> String {
    let folder = Folder::new();
    let file = folder.write("token", text);
    let kind = CredentialKind::Bearer { file: file.clone() };
    let error =
        Credentials::load(vec![CredentialSettings { name: "token".to_owned(), kind, limits: WriteLimits::default() }])
            .err()
            .expect(text);
    error.to_string().replace(&file.display().to_string(), "FILE")
}

#[tokio::test]
async fn adv_47_a_credential_is_bound_to_scheme_host_and_port() {
    let folder = Folder::new();
    folder.write("token.origins", "# only here\n\nhttps://api.a.com\n");
    let credentials = bearer(&folder, "secret-token");
    for base_url in ["https://api.a.com@evil.com", "http://api.a.com"] {
        BaseUrl::parse(base_url).expect_err(base_url);
    }
    for base_url in ["https://api.a.com.evil.com", "https://api.a.com:8443", "https://a.com", "https://1.2.3.4"] {
        let error = egress(with_token(base_url), credentials.clone()).err().expect(base_url).to_string();
        let file = folder.write("unused", "").with_file_name("token.origins");
        let expected = format!(
            "endpoint api: the credential token may not be sent to {base_url}: {} does not list it; correct the base \
             URL, or add the origin to the file",
            file.display()
        );
        assert_eq!(error, expected);
    }
    for base_url in ["https://API.A.COM.", "https://api.a.com:443/v2"] {
        assert!(egress(with_token(base_url), credentials.clone()).is_ok(), "{base_url}");
    }
}

#[tokio::test]
async fn a_credential_goes_to_its_endpoint_and_to_no_other() {
    let folder = Folder::new();
    let servers = [Capture::http(|_| Step::ok("")).await, Capture::http(|_| Step::ok("")).await];
    let [own, other] = &servers;
    let mut setup =
        Setup::new([with_token(&own.url()), Endpoint { name: "other".to_owned(), ..endpoint(&other.url()) }]);
    setup.credentials = bearer(&folder, "secret-token");
    let lab = setup.load().await;
    lab.body(&get(&["v2"])).await;
    lab.body(&get(&["v2"]).to("other")).await;
    assert_eq!(tokens(own), ["secret-token"]);
    assert_eq!(tokens(other), ["none"]);
}

#[tokio::test]
async fn adv_49_new_requests_have_the_new_token_and_old_ones_the_old() {
    let folder = Folder::new();
    let go = Arc::new(Notify::new());
    let word = go.clone();
    let server = Capture::http(move |request| match request.text().contains("/held") {
        true => [Step::Wait(word.clone())].into_iter().chain(Step::ok("held")).collect(),
        false => Step::ok("quick"),
    })
    .await;
    let credentials = bearer(&folder, "old-token");
    let lab = lab(&server, credentials.clone()).await;
    let (quick, held) = (get(&["v2"]), get(&["v2", "held"]));
    let mut watch = JoinSet::new();
    let rotate = async {
        wait::until("the request is in flight", async || (server.requests().len() == 1).then_some(())).await;
        folder.write("token", "new-token\n");
        watch.spawn(credentials.watch());
        wait::until("the new token is in use", async || {
            lab.body(&quick).await;
            tokens(&server).contains(&"new-token".to_owned()).then_some(())
        })
        .await;
        go.notify_one();
    };
    let (body, ()) = futures::join!(lab.body(&held), rotate);
    assert_eq!(body, "held");
    let requests = server.requests();
    let held = requests.iter().filter(|it| it.text().contains("/held")).count();
    assert_eq!(held, 1, "what was in flight was not sent again");
    let tokens = tokens(&server);
    let first_new = tokens.iter().position(|it| it == "new-token").expect("a new one");
    assert!(tokens[..first_new].iter().all(|it| it == "old-token"), "{tokens:?}");
    assert!(tokens[first_new..].iter().all(|it| it == "new-token"), "{tokens:?}");
    let old: Vec<_> = requests[..first_new].iter().map(|it| it.connection).collect();
    assert!(requests[first_new..].iter().all(|it| !old.contains(&it.connection)), "connections are not shared");
}

#[tokio::test]
async fn adv_49_a_401_leads_to_one_look_at_the_file_and_one_more_try() {
    let folder = Folder::new();
    let server = Capture::http(|request| match request.header("authorization") {
        Some("Bearer new-token") => Step::ok("welcome"),
        _ => Step::answer("401 Unauthorized", &[], ""),
    })
    .await;
    let lab = lab(&server, bearer(&folder, "old-token")).await;
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { status: 401, .. }));
    assert_eq!(tokens(&server), ["old-token"], "the same token is not tried again");
    folder.write("token", "new-token");
    assert_eq!(lab.body(&get(&["v2"])).await, "welcome");
    assert_eq!(tokens(&server), ["old-token", "old-token", "new-token"]);
    folder.write("token", "third-token");
    assert_eq!(lab.body(&get(&["v2"])).await, "welcome");
    assert_eq!(tokens(&server).len(), 4, "what works is not refreshed");
}

#[tokio::test]
async fn adv_49_a_token_that_is_refused_again_is_not_tried_for_ever() {
    let folder = Folder::new();
    let server = Capture::http(|_| Step::answer("401 Unauthorized", &[], "")).await;
    let lab = lab(&server, bearer(&folder, "old-token")).await;
    folder.write("token", "new-token");
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { status: 401, .. }));
    assert_eq!(tokens(&server), ["old-token", "new-token"]);
}

#[tokio::test]
async fn a_file_that_becomes_unusable_leaves_the_old_token_in_use() {
    let folder = Folder::new();
    let server = Capture::http(|request| match request.header("authorization") {
        Some("Bearer new-token") => Step::ok("welcome"),
        _ => Step::answer("401 Unauthorized", &[], ""),
    })
    .await;
    let lab = lab(&server, bearer(&folder, "old-token")).await;
    for text in ["", "two\nlines", "control\u{1}", "origins"] {
        if text == "origins" {
            folder.write("token.origins", "not an origin");
            folder.write("token", "new-token");
        } else {
            folder.write("token", text);
        }
        assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { status: 401, .. }), "{text:?}");
    }
    assert_eq!(tokens(&server), ["old-token"; 4]);
    folder.write("token.origins", &server.url());
    assert_eq!(lab.body(&get(&["v2"])).await, "welcome");
}

#[tokio::test]
async fn origins_that_shrink_stop_the_token() {
    let folder = Folder::new();
    let server = Capture::http(|_| Step::answer("401 Unauthorized", &[], "")).await;
    let lab = lab(&server, bearer(&folder, "the-token")).await;
    folder.write("token.origins", "https://api.example.com");
    match lab.send(&get(&["v2"])).await {
        Outcome::Unreachable(text) => assert!(text.contains("may no longer be sent to"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(tokens(&server), ["the-token"]);
}

#[test]
fn a_token_is_one_line_of_visible_characters() {
    let folder = Folder::new();
    for text in ["token", "token\n", "token\r\n"] {
        bearer(&folder, text);
    }
    expect_test::expect!["credential token: FILE is empty; put the token there"].assert_eq(&unusable("\n"));
    expect_test::expect!["credential token: FILE holds a character at byte 5 that is not visible ASCII; put the token there, on one line, and nothing else"]
        .assert_eq(&unusable("token\nx"));
    for text in ["", "a b", "a\tb", "a\0", "tökén", "token\n\n", " token", &"x".repeat(20_000)] {
        unusable(text);
    }
}

#[test]
fn an_unreadable_token_is_an_error_with_the_next_step() {
    let file = Folder::new().write("token", "").with_file_name("gone");
    let kind = CredentialKind::Bearer { file: file.clone() };
    let error =
        Credentials::load(vec![CredentialSettings { name: "token".to_owned(), kind, limits: WriteLimits::default() }])
            .err()
            .unwrap();
    let expected = format!(
        "credential token: cannot read {}; mount the Secret there, readable for this process, or correct `bearer.file`",
        file.display()
    );
    assert_eq!(error.to_string(), expected);
    assert!(error.source().unwrap().to_string().contains("No such file"), "{error:?}");
}

#[test]
fn an_endpoint_names_a_credential_that_exists() {
    let error = egress(with_token("https://api.example.com"), Credentials::default()).err().unwrap().to_string();
    expect_test::expect!["endpoint api names the credential token, which `credentials` does not define; add it there"]
        .assert_eq(&error);
}

/// A basic credential `token` in the files `user` and `password`.
fn basic(folder: &Folder, user: &str, password: &str) -> Credentials {
    let (user_file, password_file) = (folder.write("user", user), folder.write("password", password));
    let (name, kind) = ("token".to_owned(), CredentialKind::Basic { user_file, password_file });
    Credentials::load(vec![CredentialSettings { name, kind, limits: WriteLimits::default() }]).unwrap()
}

/// The value after `authorization: Basic` for a user and a password.
fn encoded(user: &str, password: &str) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{user}:{password}"))
}

#[tokio::test]
async fn adv_115_a_password_that_changes_is_used_after_a_401() {
    let folder = Folder::new();
    let new = format!("Basic {}", encoded("second", "new password"));
    let server = Capture::http(move |request| match request.header("authorization") {
        Some(value) if value == new => Step::ok("welcome"),
        _ => Step::answer("401 Unauthorized", &[], ""),
    })
    .await;
    let lab = lab(&server, basic(&folder, "first\n", "old password\n")).await;
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { status: 401, .. }));
    folder.write("user", "second");
    folder.write("password", "new password");
    assert_eq!(lab.body(&get(&["v2"])).await, "welcome");
    let old = format!("Basic {}", encoded("first", "old password"));
    let sent: Vec<_> = server.requests().iter().map(|it| it.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(sent, [old.clone(), old, format!("Basic {}", encoded("second", "new password"))]);
}

#[tokio::test]
async fn adv_115_answers_with_a_password_in_any_form_are_withheld() {
    let folder = Folder::new();
    let pair = encoded("operator", "open sesame");
    let forms = ["open sesame".to_owned(), pair.clone(), "open%20sesame".to_owned(), encoded("", "open sesame")];
    for form in forms {
        let echo = form.clone();
        let server = Capture::http(move |_| Step::ok(&format!("you sent {echo}"))).await;
        let lab = lab(&server, basic(&folder, "operator", "open sesame")).await;
        match lab.send(&get(&["v2"])).await {
            Outcome::Interrupted(text) => {
                assert!(text.contains("withheld") && !text.contains("sesame") && !text.contains(&pair), "{text}");
            }
            other => panic!("{form}: {other:?}"),
        }
    }
    let server =
        Capture::http(|_| Step::answer("200 OK", &[("x-echo", &encoded("operator", "open sesame"))], "")).await;
    let lab = lab(&server, basic(&folder, "operator", "open sesame")).await;
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Interrupted(_)));
}

#[test]
fn an_unreadable_password_is_an_error_with_its_key() {
    let folder = Folder::new();
    let (user_file, gone) = (folder.write("user", "operator"), folder.write("unused", "").with_file_name("gone"));
    for (user_file, password_file, key) in
        [(user_file.clone(), gone.clone(), "basic.passwordFile"), (gone.clone(), user_file, "basic.userFile")]
    {
        let kind = CredentialKind::Basic { user_file, password_file };
        let settings = CredentialSettings { name: "token".to_owned(), kind, limits: WriteLimits::default() };
        let error = Credentials::load(vec![settings]).err().unwrap().to_string();
        let expected = format!(
            "credential token: cannot read {}; mount the Secret there, readable for this process, or correct `{key}`",
            gone.display()
        );
        assert_eq!(error, expected);
    }
}
