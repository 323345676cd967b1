//! The gate: what a guest may reach, and what it never may. A hostile guest sends, real sockets answer.

mod answers;
mod audit;
mod credentials;
mod limits;
mod network;
mod reads;
mod setup;
mod syntax;
mod writes;
