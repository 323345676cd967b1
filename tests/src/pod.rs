//! aerostat as Pods of a cluster whose machines are real, from a release in a registry: what the test of the Pod and the demo share.
//!
//! ```text
//! static program, module, chart ─► Release ─► registry ─► containerd
//!                                     └─► Installation: helm ─► API server ─► scheduler ─► kubelets
//! ```

mod install;
mod release;
mod site;

pub use self::install::Installation;
pub use self::release::{ImageSize, Release, program};
pub use self::site::{Site, TAINTS};
