//! Clouds as the suite sees them: their objects, and what can be done to them.

use conformance::protocol::{Changed, CloudObject, ForeignChange};

use crate::simulator::{Cloud, Fault, Recorded};

/// A simulated cloud that shows everything, and can be changed behind the provider's back.
pub trait Published: Cloud {
    /// All objects that a provider of load balancers can make or change.
    fn objects(&self) -> Vec<CloudObject>;

    /// Does this; `None` if this cloud cannot.
    fn change(&self, change: &ForeignChange) -> Option<Changed>;

    /// Lets lists show nothing that was made since long, or show all.
    fn lag(&self, lists_lag: bool);

    /// The answer to a request while the cloud is at work on what it is about.
    fn busy(request: &Recorded) -> Fault;

    /// The answer to a request for what the cloud cannot do.
    fn refused(request: &Recorded) -> Fault;

    /// Whether a request is the provider's, and not the host's, as one for a token is.
    fn is_the_providers(request: &Recorded) -> bool {
        let _ = request;
        true
    }

    /// Whether a request changes anything.
    fn writes(request: &Recorded) -> bool {
        !request.method.is_safe()
    }
}
