//! What tests have to know of a cloud to hold for any: the same bodies run over each of them.

mod description;
pub mod digitalocean;
pub mod hetzner;

pub use self::description::{Behaviour, Built, Creation, Left, LeftBehind, Vendor};
pub use self::digitalocean::DigitalOcean;
pub use self::hetzner::Hetzner;
