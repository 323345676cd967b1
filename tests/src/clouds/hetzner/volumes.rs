//! The project's volumes.

use crate::simulator::Answer;

use super::errors::Refused;
use super::listing::{self, Filter, Query};
use super::project::{self, Shared};
use super::volume::Volume;

/// The volumes by id. Tests change them at any time; the next answer shows it.
#[derive(Clone, Debug)]
pub struct Volumes(pub(super) Shared);

impl Volumes {
    /// Adds a volume, in the place of one with the same id.
    pub fn insert(&self, volume: Volume) {
        self.0.now().volumes.insert(volume.id, volume);
    }

    /// An id that no volume has.
    #[must_use]
    pub fn free_id(&self) -> u64 {
        self.0.now().volumes.keys().max().map_or(1, |it| it + 1)
    }

    /// Takes a volume away: from now on there is none with this id.
    pub fn remove(&self, id: u64) -> Option<Volume> {
        self.0.now().volumes.remove(&id)
    }

    /// `GET /volumes/{id}`.
    pub(super) fn one(&self, id: &str) -> Result<Answer, Refused> {
        let project = self.0.now();
        Ok(project::one("volume", project::found(&project.volumes, id, "volume")?.object()))
    }

    /// `GET /volumes`.
    pub(super) fn page(&self, query: &Query) -> Result<Answer, Refused> {
        let filter = Filter::new(query)?;
        let project = self.0.now();
        let all = project.volumes.values().filter(|it| filter.shows(&it.name, &it.labels, Some("available")));
        listing::page(query, "volumes", all.map(Volume::object).collect())
    }
}
