//! The contract, as this program was built with it.

use anyhow::Result;
use wit_parser::{PackageId, Resolve};

/// The package's files in one: only the first has to name it.
const FILES: [(&str, &str); 12] = [
    ("host.wit", include_str!("../../../wit/host.wit")),
    ("http.wit", include_str!("../../../wit/http.wit")),
    ("instances.wit", include_str!("../../../wit/instances.wit")),
    ("load-balancer-batches.wit", include_str!("../../../wit/load-balancer-batches.wit")),
    ("load-balancer-inventory.wit", include_str!("../../../wit/load-balancer-inventory.wit")),
    ("load-balancers.wit", include_str!("../../../wit/load-balancers.wit")),
    ("persistent-volumes.wit", include_str!("../../../wit/persistent-volumes.wit")),
    ("provider.wit", include_str!("../../../wit/provider.wit")),
    ("routes.wit", include_str!("../../../wit/routes.wit")),
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("volumes.wit", include_str!("../../../wit/volumes.wit")),
    ("worlds.wit", include_str!("../../../wit/worlds.wit")),
];

/// Reads the contract.
///
/// # Errors
///
/// If a file of `wit/` cannot be read as WIT.
pub(crate) fn resolve() -> Result<(Resolve, PackageId)> {
    let mut resolve = Resolve::default();
    let mut sources = wit_parser::SourceMap::default();
    for (name, text) in FILES {
        sources.push_str(name, text);
    }
    let group = sources.parse().map_err(|(_, error)| error)?;
    let package = resolve.push_group(group)?;
    Ok((resolve, package))
}
