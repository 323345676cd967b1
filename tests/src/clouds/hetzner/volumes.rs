//! The project's volumes: how they come to be, are attached, grow and go.

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::simulator::{Answer, lists};

use super::action::{Action, Resource};
use super::errors::{self, Refused, parsed};
use super::listing::{self, Filter, Query};
use super::location::Location;
use super::project::{self, Change, Project, SERVER, Shared, VOLUME};
use super::selector::{self, Labels};
use super::volume::Volume;

/// The command of the action that makes a volume.
const CREATE: &str = "create_volume";
/// The smallest size and the largest, in GB.
const SIZES: std::ops::RangeInclusive<u32> = 10..=10_240;
/// The longest name.
const LONGEST_NAME: usize = 64;

/// The volumes by id. Tests change them at any time; the next answer shows it.
#[derive(Clone, Debug)]
pub struct Volumes(pub(super) Shared);

/// The body of `POST /volumes`, without what only volumes with a server or a filesystem have.
#[derive(Deserialize)]
struct Wanted {
    name: String,
    size: u32,
    location: String,
    #[serde(default)]
    labels: Labels,
}

/// The body of `POST /volumes/{id}/actions/attach`.
#[derive(Deserialize)]
struct Attachment {
    server: u64,
}

/// The body of `POST /volumes/{id}/actions/resize`.
#[derive(Deserialize)]
struct Size {
    size: u32,
}

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

    /// Copies of all as they are now, whatever lists show.
    #[must_use]
    pub fn all(&self) -> Vec<Volume> {
        self.0.now().volumes.values().cloned().collect()
    }

    /// The commands that a volume was given since it was made, each with the server that it names, also where the volume is gone.
    #[must_use]
    pub fn commands(&self, id: u64) -> Vec<(&'static str, Option<u64>)> {
        let project = self.0.now();
        let given = project.actions().filter(|it| it.changes(resource(id)) && it.command != CREATE);
        let server = |it: &Action| it.resources.iter().find(|it| it.kind == SERVER).map(|it| it.id);
        given.map(|it| (it.command, server(it))).collect()
    }

    /// `GET /volumes/{id}`.
    pub(super) fn one(&self, id: &str) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let volume = project::found(&project.volumes, id, "volume")?;
        let (id, object) = (volume.id, shown(&project, volume));
        project.read(|it| it.changes(resource(id)));
        Ok(project::one("volume", object))
    }

    /// `GET /volumes`.
    pub(super) fn page(&self, query: &Query) -> Result<Answer, Refused> {
        let filter = Filter::new(query)?;
        let project = self.0.now();
        let late_by = project.behaviour.lists_late_by;
        let shows = |volume: &&Volume| {
            lists::shows(volume.created_at, late_by)
                && filter.shows(&volume.name, &volume.labels, Some(status(&project, volume.id)))
        };
        let all = project.volumes.values().filter(shows);
        listing::page(query, "volumes", all.map(|it| shown(&project, it)).collect())
    }

    /// `POST /volumes`.
    pub(super) fn create(&self, body: &[u8]) -> Result<Answer, Refused> {
        let Wanted { name, size, location, labels } = parsed(body)?;
        let mut project = self.0.now();
        named(&project, &name, &labels)?;
        sized(size)?;
        if Location::find(&location).is_none() {
            return Err(Box::new(errors::invalid("location", "there is no such place")));
        }
        if !project.behaviour.has_room {
            let message = "there is no volume space left in the given location";
            return Err(errors::refused(412, "no_space_left_in_location", message));
        }
        let made =
            Volume { location, size, labels, created_at: SystemTime::now(), ..Volume::new(project.next_id(), &name) };
        let action = project.start(CREATE, vec![resource(made.id)], Change::MakeVolume);
        let object = made.object(status(&project, made.id));
        project.volumes.insert(made.id, made);
        Ok(Answer::created(&json!({ "volume": object, "action": action, "next_actions": [] })))
    }

    /// `DELETE /volumes/{id}`.
    pub(super) fn delete(&self, id: &str) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let volume = project::found(&project.volumes, id, "volume")?;
        let (id, protected, is_attached) = (volume.id, volume.protected, volume.server.is_some());
        if protected {
            return Err(errors::refused(403, "protected", "volume deletion is protected"));
        }
        project.free(resource(id))?;
        if is_attached {
            return Err(Box::new(errors::invalid("server", "the volume is attached to a server")));
        }
        project.volumes.remove(&id);
        Ok(Answer::no_content())
    }

    /// `POST /volumes/{id}/actions/{command}`.
    pub(super) fn act(&self, id: &str, command: &str, body: &[u8]) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let volume = project::found(&project.volumes, id, "volume")?;
        let resource = resource(volume.id);
        project.free(resource)?;
        let (command, server, change) = match command {
            "attach" => {
                let Attachment { server } = parsed(body)?;
                attachable(&project, volume, server)?;
                ("attach_volume", Some(server), Change::AttachVolume(server))
            }
            "detach" => {
                let unattached = || Box::new(errors::invalid("server", "the volume is not attached to a server"));
                let server = volume.server.ok_or_else(unattached)?;
                ("detach_volume", Some(server), Change::DetachVolume)
            }
            "resize" => {
                let Size { size } = parsed(body)?;
                sized(size)?;
                if size <= volume.size {
                    return Err(Box::new(errors::invalid("size", "it must be larger than the volume's")));
                }
                ("resize_volume", None, Change::ResizeVolume(size))
            }
            _ => return Err(Box::new(errors::not_found("command"))),
        };
        let server = server.map(|id| Resource { kind: SERVER, id });
        if server.is_some_and(|it| is_at_work(&project, it)) {
            return Err(errors::refused(423, "locked", "server is locked: an action is running"));
        }
        let about = Vec::from_iter([resource].into_iter().chain(server));
        Ok(Answer::created(&json!({ "action": project.start(command, about, change) })))
    }
}

fn resource(id: u64) -> Resource {
    Resource { kind: VOLUME, id }
}

/// A volume as the service shows it.
fn shown(project: &Project, volume: &Volume) -> Value {
    volume.object(status(project, volume.id))
}

/// It cannot be used before the action that makes it has ended well.
fn status(project: &Project, id: u64) -> &'static str {
    let mut unmade = project.actions().filter(|it| it.command == CREATE && it.status() != "success");
    if unmade.any(|it| it.changes(resource(id))) { "creating" } else { "available" }
}

/// Whether a volume is on its way to this server, or from it.
fn is_at_work(project: &Project, server: Resource) -> bool {
    let is_of_volume = |it: &[Resource]| it.first().is_some_and(|it| it.kind == VOLUME) && it.contains(&server);
    project.behaviour.locks && project.actions().any(|it| it.is_running() && is_of_volume(&it.resources))
}

/// Fails if a volume cannot come to this server.
fn attachable(project: &Project, volume: &Volume, server: u64) -> Result<(), Refused> {
    if volume.server.is_some() {
        return Err(errors::refused(422, "volume_already_attached", "volume is already attached to a server"));
    }
    let found = project.servers.get(&server).ok_or_else(|| Box::new(errors::not_found("server")))?;
    if found.location != volume.location {
        return Err(Box::new(errors::invalid("server", "the server is in another location than the volume")));
    }
    let there = project.volumes.values().filter(|it| it.server == Some(server)).count();
    if there >= project.behaviour.volumes_per_server {
        return Err(errors::refused(422, "limit_exceeded_error", "the server takes no more volumes"));
    }
    Ok(())
}

/// Checks the name and the labels of a new volume.
fn named(project: &Project, name: &str, labels: &Labels) -> Result<(), Refused> {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    let ends_well = name.starts_with(|it: char| it.is_ascii_alphanumeric()) && name.ends_with(char::is_alphanumeric);
    if name.len() > LONGEST_NAME || !ends_well || !name.chars().all(is_letter) {
        return Err(Box::new(errors::invalid("name", "letters, digits, dashes, underscores and dots, 64 at most")));
    }
    if project.volumes.values().any(|it| it.name == name) {
        return Err(errors::refused(409, "uniqueness_error", "volume name is already used"));
    }
    match labels.iter().find(|(key, value)| !selector::is_key(key) || !selector::is_value(value)) {
        Some((key, _)) => Err(Box::new(errors::invalid("labels", &format!("label {key} is invalid")))),
        None => Ok(()),
    }
}

fn sized(size: u32) -> Result<(), Refused> {
    if SIZES.contains(&size) {
        return Ok(());
    }
    Err(Box::new(errors::invalid("size", "it must be from 10 to 10240")))
}
