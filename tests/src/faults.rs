//! Answers of the API server that a test sets.
