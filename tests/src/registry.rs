//! Registries: real ones, and one that answers whatever a test wants.

mod answers;
mod artifact;
mod real;
mod signer;
mod token_service;

pub use self::answers::Answers;
pub use self::artifact::{Artifact, REPOSITORY, provider_module};
pub use self::real::{Access, RealRegistry};
pub use self::signer::Signer;
pub use self::token_service::TokenService;
pub use crate::loopback::BEHIND;
