//! An example.
