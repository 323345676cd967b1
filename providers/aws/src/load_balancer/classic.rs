//! Classic Load Balancers.

use aerostat_sdk::{Deletion, Error, Progress, Result};

use super::Call;

/// Takes one step towards the desired state.
pub(super) fn ensure(_: &Call<'_>) -> Result<Progress> {
    Err(Error::unavailable("Classic Load Balancers are not in yet"))
}

/// Takes one step towards its absence.
pub(super) fn delete(_: &Call<'_>) -> Result<Deletion> {
    Err(Error::unavailable("Classic Load Balancers are not in yet"))
}
