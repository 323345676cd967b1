//! One account: a server of moto.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::moto::{Moto, Said};
use crate::simulator::{Answer, Authorization, Cloud, Limits, Quota, Recorded};

use super::errors::{self, Service};
use super::state::State;

/// EC2's published limits of actions that read a page ("Request throttling for the Amazon EC2 API", non-mutating actions): 100 at once, 20
/// more in a second. It is for each action; here it is for all together.
pub const LIMITS: Limits = Limits::Bucket { size: 100, refill: Duration::from_millis(50) };

/// The header with the faults that the server's checks have found.
const WRONG: &str = "x-counterpart-wrong";
/// The header with the time by AWS's clock.
const DATE_THERE: &str = "x-counterpart-date";
/// Asks for the checks alone.
const ONLY_CHECK: &str = "x-counterpart-only-check";

/// An account. Without a server it refuses everything.
pub struct Account {
    moto: Option<Moto>,
}

impl Account {
    pub(super) fn new(moto: Moto) -> Self {
        Self { moto: Some(moto) }
    }

    pub(super) fn closed() -> Self {
        Self { moto: None }
    }

    /// The moto behind it.
    ///
    /// # Panics
    ///
    /// Panics if there is nothing.
    #[must_use]
    pub fn moto(&self) -> &Moto {
        self.moto.as_ref().expect("the test has asked for this account")
    }

    /// Everything as it is, whatever lists show.
    ///
    /// # Panics
    ///
    /// Panics if the server's state is of another form.
    #[must_use]
    pub fn state(&self) -> State {
        serde_json::from_value(self.moto().order("state", &json!({}))).expect("the state has the form of the tests'")
    }

    fn pass(&self, request: &Recorded, only_check: bool) -> Answer {
        let service = Service::of(request).unwrap_or(Service::Ec2);
        let Some(moto) = &self.moto else { return errors::for_status(service, StatusCode::UNAUTHORIZED) };
        let mut headers = request.headers.clone();
        for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        if let Authorization::Judged(value) = &request.authorization
            && let Ok(value) = HeaderValue::from_str(value)
            && !value.is_empty()
        {
            headers.insert(AUTHORIZATION, value);
        }
        if only_check {
            headers.insert(ONLY_CHECK, HeaderValue::from_static("yes"));
        }
        match moto.pass(request.method.clone(), &request.target, headers, request.body.clone()) {
            Ok(said) => answer(said),
            Err(error) => {
                let mut answer = errors::for_status(service, StatusCode::SERVICE_UNAVAILABLE);
                answer.wrong.push(format!("moto does not answer: {error:#}"));
                answer
            }
        }
    }
}

fn answer(said: Said) -> Answer {
    let Said { status, mut headers, body } = said;
    let mut wrong: Vec<String> = match headers.remove(WRONG) {
        None => Vec::new(),
        Some(value) => serde_json::from_slice(value.as_bytes()).unwrap_or_else(|_| vec![format!("{value:?}")]),
    };
    if let Some(date) = headers.remove(DATE_THERE) {
        headers.insert(DATE, date);
    }
    if status.is_server_error() {
        wrong.push(format!("moto failed: {}", String::from_utf8_lossy(&body[body.len().saturating_sub(600)..])));
    }
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    Answer { status, headers, body, wrong }
}

impl Cloud for Account {
    const NAME: &'static str = "AWS";
    const HOSTS: &'static [&'static str] =
        &["ec2.us-east-1.amazonaws.com", "elasticloadbalancing.us-east-1.amazonaws.com", "sts.us-east-1.amazonaws.com"];
    const LIMITS: Limits = LIMITS;
    /// Its hosts speak nothing newer.
    const PROTOCOLS: &'static [&'static str] = &["http/1.1"];
    const JUDGES: bool = true;

    fn place(request: &mut Recorded) {
        let form: Vec<(String, String)> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        let value = |name: &str| form.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
        let (Some(action), Some(version)) = (value("Action"), value("Version")) else { return };
        let Some(service) = Service::of_version(&version) else { return };
        request.path = format!("/{}/{action}", service.name());
        request.query.extend(form.into_iter().filter(|(name, _)| name != "Action" && name != "Version"));
    }

    fn act(&self, request: &Recorded) -> Answer {
        self.pass(request, false)
    }

    fn withhold(&self, request: &Recorded) -> Answer {
        let Answer { wrong, .. } = self.pass(request, true);
        Answer { wrong, ..Answer::no_content() }
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(Service::Ec2, status)
    }

    fn error_to(request: &Recorded, status: StatusCode) -> Answer {
        errors::for_status(Service::of(request).unwrap_or(Service::Ec2), status)
    }

    fn empty_list(request: &Recorded) -> Answer {
        let action = request.path.rsplit('/').next().unwrap_or_default();
        let result = match Service::of(request) {
            Some(Service::Ec2) | None => String::new(),
            Some(Service::Elbv2 | Service::Elb | Service::Sts) => format!("<{action}Result/>"),
        };
        errors::xml(StatusCode::OK, format!("<{action}Response>{result}</{action}Response>"))
    }

    fn show_quota(_: &mut Answer, _: &Quota) {
        // AWS does not say how many requests are left.
    }
}
