//! The host of a test: what a provider asks it, and what it remembers.

use std::cell::RefCell;
use std::rc::Rc;

use crate::Cluster;
use crate::bindings::host::aerostat::cloud::events::EventKind;
use crate::bindings::host::aerostat::cloud::http::{Body, Error as Failure, Location, Request, Response};

/// The outcome of a request: an answer, or why there is none.
pub type Outcome = Result<Response, Failure>;

/// An answer without headers.
///
/// # Errors
///
/// None: it is an [`Outcome`], so that a closure can end with it.
pub fn answer(status: u16, body: impl Into<Vec<u8>>) -> Outcome {
    Ok(Response { status, headers: Vec::new(), body: body.into() })
}

/// The host of a test.
#[derive(Clone)]
pub struct Host(pub(super) Rc<RefCell<TestState>>);

pub(super) struct TestState {
    pub(super) settings: Vec<(String, String)>,
    pub(super) cluster: Option<Cluster>,
    pub(super) answers: Rc<dyn Fn(&Request) -> Outcome>,
    pub(super) locations: Vec<(String, Location)>,
    pub(super) now: u64,
    pub(super) requests: Vec<Request>,
    pub(super) throttles: Vec<String>,
    pub(super) events: Vec<Event>,
    pub(super) log: Vec<String>,
}

/// An event that the provider asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    /// The name of the node that it is about, where there is one.
    pub about: Option<String>,
    /// Normal or Warning.
    pub kind: EventKind,
    /// UpperCamelCase.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// A host without settings, for a cluster called "kubernetes", at the beginning of 1970, that panics when it is asked to
    /// send anything.
    #[must_use]
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new(TestState {
            settings: Vec::new(),
            cluster: Some(Cluster::of("kubernetes", "c1a5e000-1111-2222-3333-444455556666")),
            answers: Rc::new(|request| panic!("nothing was expected to be sent, but {}", line(request))),
            locations: Vec::new(),
            now: 0,
            requests: Vec::new(),
            throttles: Vec::new(),
            events: Vec::new(),
            log: Vec::new(),
        })))
    }

    /// Sets a setting.
    #[must_use]
    pub fn setting(self, name: &str, value: &str) -> Self {
        self.0.borrow_mut().settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the cluster.
    #[must_use]
    pub fn cluster(self, cluster: Cluster) -> Self {
        self.0.borrow_mut().cluster = Some(cluster);
        self
    }

    /// Knows no cluster, as while the provider describes itself.
    #[must_use]
    pub fn without_cluster(self) -> Self {
        self.0.borrow_mut().cluster = None;
        self
    }

    /// Sets the clock: seconds since 1970.
    #[must_use]
    pub fn at(self, now: u64) -> Self {
        self.0.borrow_mut().now = now;
        self
    }

    /// Lets time pass.
    pub fn advance(&self, time: std::time::Duration) {
        self.0.borrow_mut().now += time.as_secs();
    }

    /// Says what every request gets.
    #[must_use]
    pub fn answers(self, answers: impl Fn(&Request) -> Outcome + 'static) -> Self {
        self.0.borrow_mut().answers = Rc::new(answers);
        self
    }

    /// Says what an absolute URL stands for. All others belong to no endpoint.
    #[must_use]
    pub fn resolves(self, url: &str, location: Location) -> Self {
        self.0.borrow_mut().locations.push((url.to_owned(), location));
        self
    }

    /// Runs `call` with this host.
    pub fn run<T>(&self, call: impl FnOnce() -> T) -> T {
        // Put back also when `call` panics: test threads are used again.
        struct Restore(Option<Host>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        call()
    }

    /// The requests that were sent, a line each: "GET api /machines?page=1".
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.0.borrow().requests.iter().map(line).collect()
    }

    /// The requests that were sent, as they are.
    #[must_use]
    pub fn sent(&self) -> Vec<Request> {
        self.0.borrow().requests.clone()
    }

    /// The bodies that were sent.
    #[must_use]
    pub fn bodies(&self) -> Vec<String> {
        let bodies = |it: &Request| it.body.as_ref().map(text);
        self.0.borrow().requests.iter().filter_map(bodies).collect()
    }

    /// The pauses of endpoints that were asked for: "api 30000 ms: the quota is used up".
    #[must_use]
    pub fn throttles(&self) -> Vec<String> {
        self.0.borrow().throttles.clone()
    }

    /// The events that were asked for.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.0.borrow().events.clone()
    }

    /// The lines that were logged: "WARN message key=value".
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.0.borrow().log.clone()
    }
}

thread_local! {
    pub(super) static CURRENT: RefCell<Option<Host>> = const { RefCell::new(None) };
}

fn text(body: &Body) -> String {
    match body {
        Body::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Body::Form(pairs) => pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&"),
    }
}

pub(super) fn line(request: &Request) -> String {
    let method = format!("{:?}", request.method).to_uppercase().replace("METHOD::", "");
    let query: Vec<_> = request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{method} {} /{}{mark}{}", request.endpoint, request.path.join("/"), query.join("&"))
}
