//! Where volumes are.

use crate::bindings::persistent_volumes::exports::aerostat::cloud::persistent_volumes::Guest;
use crate::{Result, Topology, TopologyDescription, TopologySegments, Volume};

/// The capability of a cloud that knows where its volumes are.
pub trait PersistentVolumes {
    /// About which volumes it can be asked. Asked at load. No HTTP.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for settings that cannot work.
    fn describe() -> Result<TopologyDescription>;

    /// Where a volume is. `Ok(None)`: the cloud is certain that there is no such volume. Reads only.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered; [`Error::Invalid`](crate::Error::Invalid) for a handle that is not this cloud's.
    fn get_topology(volume: &Volume) -> Result<Option<Topology>>;

    /// One answer for each volume, in the same order. Implement it where the cloud reads many in one request, and say so
    /// with [`TopologyDescription::batch_size`].
    fn get_topologies(volumes: &[Volume]) -> Vec<Result<Option<Topology>>> {
        volumes.iter().map(Self::get_topology).collect()
    }
}

impl<T: PersistentVolumes> Guest for T {
    fn describe() -> Result<TopologyDescription> {
        T::describe()
    }

    fn get_topology(volumes: Vec<Volume>) -> Vec<Result<Option<Topology>>> {
        T::get_topologies(&volumes)
    }
}

impl TopologyDescription {
    /// Volumes of these CSI drivers, which are asked about one at a time.
    pub fn of_drivers(drivers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            batch_size: 1,
            sources: Vec::new(),
            drivers: drivers.into_iter().map(Into::into).collect(),
            extra: Vec::new(),
        }
    }

    /// How many volumes one call takes.
    #[must_use]
    pub fn batch_size(mut self, volumes: u32) -> Self {
        self.batch_size = volumes;
        self
    }

    /// A field of `spec` with volumes of this cloud.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.sources.push(source.into());
        self
    }
}

impl Topology {
    /// A place in this region, and in these zones.
    pub fn new(region: Option<String>, zones: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            region,
            zones: zones.into_iter().map(Into::into).collect(),
            labels: Vec::new(),
            accessible_topologies: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// A place from where its driver can attach it: node labels, all of which have to fit.
    #[must_use]
    pub fn accessible_from(mut self, segments: impl IntoIterator<Item = (String, String)>) -> Self {
        self.accessible_topologies.push(TopologySegments { segments: segments.into_iter().collect() });
        self
    }
}
