//! Security groups: those that load balancers have, and those of nodes, which let load balancers in.
//!
//! Rules are added before others are revoked, so that what is let in now and later is let in all the time.

pub(crate) mod nodes;
pub(crate) mod own;
mod rules;

pub(crate) use self::rules::{IngressRule, Peers, RuleProtocol};

#[cfg(test)]
mod tests;
