//! Requests to AWS: signed for a server that recomputes the signature, and attacks that get none.

mod attacks;
mod cloud;
mod contents;
mod signatures;
