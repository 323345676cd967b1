//! Input that is wrong: every message names the object, the cause and the next step, and nodes stay as they are.

mod api_server;
mod cloud;
mod config;
mod module;
mod provider;
mod token;
