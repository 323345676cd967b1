//! Pulls a module from a registry, and pushes one: by the digest of its manifest, signed by a key of the operator's, from a folder if it is
//! there.
//!
//! ```text
//! Settings ─► Puller::pull ─┬─ cache ────────────────┐
//!                           └─ client ─► egress::Fetch ─┤ login, token, redirects of blobs
//!                                                       ▼
//!                     ■ manifest ─► one layer ─► ■ signature ─► Artifact { bytes }
//! ```
//!
//! People who have no settings yet ask a `Repository`: what it holds, who has signed it; and they push to it. A `Layout` is a file with
//! whole artifacts, on its way from one registry to another.
//!
//! The digest decides what is loaded, and a key who has made it. Registries, redirects, caches and tags are not believed:
//! every byte that comes is hashed, and every answer has a limit. `■` is a pure function.

#![forbid(unsafe_code)]

mod cache;
mod challenge;
mod client;
mod descriptor;
mod error;
mod image;
mod key;
mod layout;
mod login;
mod manifest;
mod mirrored;
mod puller;
mod pushed;
mod reference;
mod remote;
mod repository;
mod secret;
mod settings;
mod signature;
mod signatures;
mod token;
mod upload;

#[cfg(test)]
mod fuzz;

pub use crate::cache::Cache;
pub use crate::descriptor::{Descriptor, Platform};
pub use crate::error::PullError;
pub use crate::image::{Image, TokenService};
pub use crate::key::Keys;
pub use crate::layout::artifacts::NamedArtifact;
pub use crate::layout::{Layout, LayoutName};
pub use crate::puller::{Artifact, Puller};
pub use crate::pushed::{NewManifest, PushedInterfaces};
pub use crate::reference::Reference;
pub use crate::remote::{Remote, WrittenIn};
pub use crate::repository::{Release, Repository, Signature};
pub use crate::settings::{ModuleSettings, OutsideWorld, SignedBy};
pub use crate::signature::Claim;
