//! The gate: what a guest may reach, and what it never may.
