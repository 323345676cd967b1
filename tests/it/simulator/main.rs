//! The simulated clouds, checked against their vendors' descriptions.
