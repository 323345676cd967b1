//! Volumes, against a real API server: where they are, by the persistentvolume-label-controller and the webhook, and those of
//! claims, by the volume-provisioner, the volume-attacher and the volume-expander.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attachments;
mod bad_input;
mod callers;
mod certificates;
mod claims;
mod cloud;
mod controller;
mod deletions;
mod expansions;
mod failures;
mod lies;
mod many;
mod migrated;
mod placed;
mod pods;
mod provisioner;
mod refusals;
mod replicas;
mod setup;
mod sidecars;
mod takeover;
mod vendor;
mod volumes;
mod webhook;
