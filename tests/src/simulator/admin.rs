//! Routes beside the cloud's own, for whoever tries a provider against a simulator.

use http::Method;

use super::answer::Answer;

/// Routes beside the cloud's own. They are served over plain HTTP on loopback, and nowhere else.
pub trait Admin: Send + Sync + 'static {
    /// Whether a path is one of its routes.
    fn owns(&self, path: &str) -> bool;

    /// Answers a request for one of its routes.
    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> Answer;
}
