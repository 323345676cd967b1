//! A cloud in memory: the vendor's API as far as a provider uses it.

use super::protocol::{Changed, CloudObject, ForeignChange, Setup};
use crate::Method;
use crate::bindings::host::aerostat::cloud::http::{Request, Response};

/// A cloud in memory. [`converge`](super::converge) plays with it natively, and [`serve`](super::serve) serves it to
/// `aerostat provider conformance`.
///
/// It answers as the vendor's cloud does, and shows more than that cloud would: everything that exists, whatever its lists show.
/// [`FakeObjects`](super::FakeObjects) and [`FakeActions`](super::FakeActions) hold what most clouds have.
pub trait FakeCloud {
    /// The path of the API's URL: "/v1". Empty where the API begins at the host.
    const BASE_PATH: &'static str = "";

    /// Carries a request out, and answers it.
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response;

    /// Load balancers (kinds that contain these words) and whatever is made beside them. No machines. What changes by itself, such
    /// as a state, is left out of their bodies.
    fn objects(&self) -> Vec<CloudObject>;

    /// Does something behind the provider's back; `None` if this cloud cannot.
    fn change(&mut self, change: &ForeignChange) -> Option<Changed>;

    /// The settings that an operator has to write, by name and value.
    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Settings that let the provider wait for little time, where time is real: `aerostat provider conformance` is set up with
    /// them, and [`converge`](super::converge), whose clock moves, is not.
    fn fast_settings(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// The operator's part beside the settings: a login, annotations.
    fn setup(&self) -> Setup {
        Setup::default()
    }

    /// The answer to a request while the cloud is at work on what it is about: 409, unless this cloud says it otherwise.
    fn busy(&self, request: &Request) -> Response {
        let _ = request;
        reply(409, r#"{ "message": "an earlier change is under way" }"#)
    }

    /// The answer to a request for what the cloud cannot do: 422, unless this cloud says it otherwise.
    fn refused(&self, request: &Request) -> Response {
        let _ = request;
        reply(422, r#"{ "message": "this cannot be had here" }"#)
    }

    /// Whether a request changes anything: unless it is a GET or a HEAD.
    fn writes(&self, request: &Request) -> bool {
        !matches!(request.method, Method::Get | Method::Head)
    }
}

/// The moment of a request.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FakeMoment {
    /// Seconds on the cloud's own clock. Each request takes a second, and a clock that nobody reads does not wait: what takes three
    /// seconds is done at the third request after it, or when a provider has waited as long.
    pub now: u64,
    /// Whether lists leave out what is made meanwhile.
    pub lists_lag: bool,
}

/// An answer without headers.
pub fn reply(status: u16, body: impl ToString) -> Response {
    Response { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}
