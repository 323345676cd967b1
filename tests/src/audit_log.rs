//! Who wrote what to the API server, from its audit log.
