//! The environment that is simulated, and how it behaves.

use crate::simulator::Taking;

/// The path of the environment.
pub const BASE: &str = "/v2-beta/projects/1a5";
/// The access key.
pub const ACCESS_KEY: &str = "DE1A9F0C2B7E44D5A6B1";
/// The secret key.
pub const SECRET_KEY: &str = "tCbhXnV6pYw3mKq8sZr5uJ2dLf7gHa9eQx4iRo1N";

/// The state of a simulator at the start.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// How long a change takes.
    pub taking: Taking,
    /// Whether requests need the keys.
    pub asks_for_keys: bool,
}
