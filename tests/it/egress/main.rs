//! The egress: what a guest may reach, and what it never may. A hostile guest sends, real sockets answer.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alibaba;
mod answers;
mod aws;
mod client_certificates;
mod credentials;
mod floods;
mod google;
mod http2;
mod keystone;
mod limits;
mod network;
mod proxy;
mod reads;
mod setup;
mod syntax;
mod writes;
