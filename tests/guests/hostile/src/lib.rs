//! A guest for the tests.
