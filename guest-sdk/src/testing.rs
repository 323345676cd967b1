//! A stand-in for the host, so that a provider's mapping can be tested natively. Not there on wasm.
//!
//! ```
//! use aerostat_sdk::{http, testing::{Host, answer}};
//!
//! let host = Host::new().answers(|request| answer(200, r#"{ "id": "m-1" }"#));
//! let found: Option<serde_json::Value> = host.run(|| http::get("api", ["machines", "m-1"]).find()).unwrap();
//! assert!(found.is_some());
//! assert_eq!(host.requests(), ["GET api /machines/m-1"]);
//! ```
//!
//! Beyond single answers there is a cloud in memory, [`FakeCloud`]: with ids that it gives ([`FakeObjects`]), actions that take
//! their time ([`FakeActions`]), and a clock that moves. [`converge`] lets each request of a load balancer's life go wrong in each
//! way, [`converge_volumes`] those of a volume's, and [`serve`] serves the same cloud to `aerostat provider conformance`.

mod converge;
mod converge_volumes;
mod fake_cloud;
mod fake_objects;
mod host;
pub(crate) mod imports;
mod lint;
pub mod protocol;
mod served_cloud;
mod simulated_cloud;
mod trouble;

pub use self::converge::converge;
pub use self::converge_volumes::converge_volumes;
pub use self::fake_cloud::{FakeCloud, FakeMoment, reply};
pub use self::fake_objects::{FakeActions, FakeObject, FakeObjects};
pub use self::host::{Event, Host, Outcome, answer};
pub use self::lint::warnings;
pub use self::served_cloud::{ServedCloud, serve};
pub use self::simulated_cloud::{SharedCloud, SimulatedCloud};
pub use crate::Method;
pub use crate::bindings::host::aerostat::cloud::events::EventKind;
pub use crate::bindings::host::aerostat::cloud::http::{Body, Error as Failure, Location, Request, Response};
