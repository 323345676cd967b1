//! AWS, for which moto stands.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod module;
mod moto;
mod whole;
