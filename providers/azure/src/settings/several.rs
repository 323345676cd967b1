//! Several load balancers, of which each Service gets one.
