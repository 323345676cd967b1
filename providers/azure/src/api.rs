//! Azure Resource Manager: its requests, its answers, and where its errors differ from those of other clouds. Compute and network
//! are two endpoints with one URL, each with its version.

mod endpoint;
pub(crate) mod errors;
pub(crate) mod fields;
pub(crate) mod lists;
mod names;
pub(crate) mod operations;
pub(crate) mod writes;

pub(crate) use self::endpoint::{AzureApi, VERSION};

use aerostat_sdk::Effect;

/// The effect of a write to an object that many share, and that stays: its members may go.
pub(crate) const SHARED: Effect = Effect::Detach;
