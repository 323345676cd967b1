//! `deploy/`: what an operator applies is accepted, fits the binary, and is enough for it.

mod config;
mod enough;
mod install;
mod manifests;
mod pod;
mod setup;
