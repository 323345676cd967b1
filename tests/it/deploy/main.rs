//! The manifests of `deploy/` against a real API server.
