//! Settings about load balancers.
