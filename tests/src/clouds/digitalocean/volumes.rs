//! The account's volumes: how they come to be, are attached, grow and go.

mod behaviour;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

pub use self::behaviour::{ActionTime, VolumeBehaviour};

use crate::simulator::{Answer, lists};

use super::droplets::Droplets;
use super::errors;
use super::listing::{self, Listing};
use super::tags::Tags;
use super::volume::{ActionState, Volume, VolumeAction, VolumeChange};

/// The largest size, in GiB.
const LARGEST: u64 = 16_384;
/// The longest name.
const LONGEST_NAME: usize = 64;
/// The id of the first action.
const FIRST_ACTION: u64 = 36_804_636;

/// The volumes in the order of their making. Tests change them at any time; the next answer shows it.
#[derive(Debug)]
pub struct Volumes {
    state: Mutex<State>,
    droplets: Arc<Droplets>,
    tags: Arc<Tags>,
}

#[derive(Debug, Default)]
struct State {
    all: Vec<Volume>,
    actions: Vec<VolumeAction>,
    behaviour: VolumeBehaviour,
}

/// The body of `POST /v2/volumes`, without what only volumes with a filesystem have.
#[derive(Deserialize)]
struct Desired {
    name: String,
    #[serde(default)]
    description: String,
    size_gigabytes: u64,
    region: String,
    #[serde(default)]
    tags: Option<Vec<String>>,
}

/// The body of `POST /v2/volumes/{id}/actions`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum DesiredAction {
    Attach { droplet_id: u64 },
    Detach { droplet_id: u64 },
    Resize { size_gigabytes: u64 },
}

/// The answer to a request that is refused.
type Refused = Box<Answer>;

impl Volumes {
    pub(super) fn new(droplets: Arc<Droplets>, tags: Arc<Tags>) -> Volumes {
        Volumes { state: Mutex::default(), droplets, tags }
    }

    /// Changes how volumes behave from now on.
    pub fn behave(&self, change: impl FnOnce(&mut VolumeBehaviour)) {
        change(&mut self.now().behaviour);
    }

    /// Adds a volume, in the place of one with the same id.
    pub fn insert(&self, volume: Volume) {
        let mut state = self.now();
        state.all.retain(|it| it.id != volume.id);
        state.all.push(volume);
    }

    /// Takes a volume away: from now on there is none with this id.
    pub fn remove(&self, id: &str) -> Option<Volume> {
        let mut state = self.now();
        let place = state.all.iter().position(|it| it.id == id)?;
        Some(state.all.remove(place))
    }

    /// Changes a volume.
    ///
    /// # Panics
    ///
    /// Panics if there is none with this id.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut Volume)) {
        let mut state = self.now();
        change(state.find(id).unwrap_or_else(|| panic!("there is no volume {id} to change")));
    }

    /// Copies of all as they are now, whatever lists show.
    #[must_use]
    pub fn all(&self) -> Vec<Volume> {
        let all = self.now().all.clone();
        all.into_iter().map(|it| Volume { droplet: self.attached(&it), ..it }).collect()
    }

    /// Copies of all actions as they are now, in the order of their beginning.
    #[must_use]
    pub fn actions(&self) -> Vec<VolumeAction> {
        self.now().actions.clone()
    }

    /// `GET /v2/volumes/{id}`.
    pub(super) fn one(&self, id: &str) -> Answer {
        let mut state = self.now();
        let Some(volume) = state.find(id) else { return errors::not_found() };
        Answer::ok(&json!({ "volume": volume.object(self.attached(volume)) }))
    }

    /// `GET /v2/volumes`.
    pub(super) fn page(&self, query: &[(String, String)]) -> Answer {
        let listing = match Listing::new(query, &["name", "region"]) {
            Ok(listing) => listing,
            Err(message) => return errors::bad_request(message),
        };
        let is_asked = |key: &str, is: &str| listing::value(query, key).is_none_or(|it| it == is);
        let state = self.now();
        let is_shown = |volume: &&Volume| {
            is_asked("name", &volume.name)
                && is_asked("region", &volume.region)
                && lists::shows(volume.created_at, state.behaviour.lists_late_by)
        };
        let shown: Vec<_> = state.all.iter().filter(is_shown).collect();
        listing.answer("volumes", &shown, |it| it.object(self.attached(it)))
    }

    /// `POST /v2/volumes`.
    pub(super) fn create(&self, body: &[u8]) -> Answer {
        self.created(body).unwrap_or_else(|refused| *refused)
    }

    fn created(&self, body: &[u8]) -> Result<Answer, Refused> {
        let desired: Desired = parsed(body)?;
        let Desired { name, description, size_gigabytes, region, tags } = desired;
        let is_letter = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
        let begins_well = name.starts_with(|it: char| it.is_ascii_lowercase());
        if name.len() > LONGEST_NAME || !begins_well || !name.chars().all(is_letter) {
            return Err(invalid("name is invalid: lower case letters, digits and dashes, and a letter first"));
        }
        sized(size_gigabytes)?;
        let mut state = self.now();
        if state.all.iter().any(|it| it.name == name && it.region == region) {
            let message = "a volume with this name already exists in this region";
            return Err(Box::new(Answer::json(StatusCode::CONFLICT, &json!({ "id": "conflict", "message": message }))));
        }
        let used: u64 = state.all.iter().map(|it| it.size_gigabytes).sum();
        if state.behaviour.quota.is_some_and(|it| used + size_gigabytes > it) {
            let words = "failed to create volume: volume/snapshot capacity limit exceeded";
            return Err(Box::new(errors::forbidden(words)));
        }
        let tags = tags.unwrap_or_default();
        tags.iter().for_each(|it| self.tags.insert(it));
        let id = uuid::Uuid::new_v4().to_string();
        let (droplet, created_at) = (None, SystemTime::now());
        let volume = Volume { id, name, description, size_gigabytes, region, droplet, tags, created_at };
        let answer = Answer::created(&json!({ "volume": volume.object(None) }));
        state.all.push(volume);
        Ok(answer)
    }

    /// `DELETE /v2/volumes/{id}`.
    pub(super) fn delete(&self, id: &str) -> Answer {
        let mut state = self.now();
        let Some(place) = state.all.iter().position(|it| it.id == id) else { return errors::not_found() };
        let is_at_work = state.actions.iter().any(|it| it.volume == id && it.is_running());
        if is_at_work || self.attached(&state.all[place]).is_some() {
            let message = "failed to delete volume: it is attached to a Droplet";
            return Answer::json(StatusCode::CONFLICT, &json!({ "id": "conflict", "message": message }));
        }
        state.all.remove(place);
        Answer::no_content()
    }

    /// `GET /v2/volumes/{id}/actions`.
    pub(super) fn actions_on(&self, id: &str, query: &[(String, String)]) -> Answer {
        let listing = match Listing::new(query, &[]) {
            Ok(listing) => listing,
            Err(message) => return errors::bad_request(message),
        };
        let mut state = self.now();
        if state.find(id).is_none() {
            return errors::not_found();
        }
        let newest_first = state.behaviour.newest_first;
        let mut shown: Vec<_> = state.actions.iter().filter(|it| it.volume == id).collect();
        if newest_first {
            shown.reverse();
        }
        let answer = listing.answer_in(&format!("volumes/{id}/actions"), "actions", &shown, |it| it.object());
        for action in state.actions.iter_mut().filter(|it| it.volume == id) {
            action.reads += 1;
        }
        answer
    }

    /// `GET /v2/volumes/{id}/actions/{action}`.
    pub(super) fn action_on(&self, id: &str, action: &str) -> Answer {
        let mut state = self.now();
        let is_asked = |it: &&mut VolumeAction| it.volume == id && it.id.to_string() == action;
        let Some(action) = state.actions.iter_mut().find(is_asked) else { return errors::not_found() };
        action.reads += 1;
        Answer::ok(&json!({ "action": action.object() }))
    }

    /// `POST /v2/volumes/{id}/actions`.
    pub(super) fn act(&self, id: &str, body: &[u8]) -> Answer {
        self.acted(id, body).unwrap_or_else(|refused| *refused)
    }

    fn acted(&self, id: &str, body: &[u8]) -> Result<Answer, Refused> {
        let mut state = self.now();
        let volume = state.find(id).ok_or_else(|| Box::new(errors::not_found()))?.clone();
        let (attached, most) = (self.attached(&volume), state.behaviour.most_per_droplet);
        let change = match parsed::<DesiredAction>(body)? {
            DesiredAction::Attach { droplet_id } => VolumeChange::Attach(droplet_id),
            DesiredAction::Detach { droplet_id } => VolumeChange::Detach(droplet_id),
            DesiredAction::Resize { size_gigabytes } => VolumeChange::Resize(sized(size_gigabytes)?),
        };
        let droplet = match change {
            VolumeChange::Attach(it) | VolumeChange::Detach(it) => Some(it),
            VolumeChange::Resize(_) => attached,
        };
        if let Some(droplet) = droplet {
            let found = self.droplets.get(droplet).ok_or_else(|| Box::new(errors::not_found()))?;
            if found.region != volume.region {
                return Err(invalid("the volume and the Droplet are in different regions"));
            }
        }
        let is_there = |it: &VolumeAction| droplet.is_some() && it.droplet() == droplet;
        if state.actions.iter().any(|it| it.is_running() && (it.volume == id || is_there(it))) {
            return Err(invalid("Droplet already has a pending event."));
        }
        match change {
            VolumeChange::Attach(_) if attached.is_some() => return Err(invalid("This volume is already attached")),
            VolumeChange::Attach(_) => {
                let there = state.all.iter().filter(|it| it.droplet == droplet).count();
                if there >= most {
                    let words = format!("cannot attach more than {most} volumes to a single Droplet");
                    return Err(invalid(&words));
                }
            }
            VolumeChange::Detach(droplet) if attached != Some(droplet) => return Err(invalid("Attachment not found")),
            VolumeChange::Detach(_) => {}
            VolumeChange::Resize(size) if size <= volume.size_gigabytes => {
                return Err(invalid("size_gigabytes must be larger than the volume's size"));
            }
            VolumeChange::Resize(_) => {}
        }
        let action = VolumeAction {
            id: FIRST_ACTION + state.actions.len() as u64,
            volume: volume.id,
            region: volume.region,
            change,
            state: ActionState::InProgress,
            started_at: SystemTime::now(),
            reads: 0,
        };
        let answer = Answer::accepted(&json!({ "action": action.object() }));
        state.actions.push(action);
        Ok(answer)
    }

    /// Tags a volume. Returns whether there is one with this id.
    pub(super) fn tag(&self, id: &str, tag: &str) -> bool {
        let mut state = self.now();
        let Some(volume) = state.find(id) else { return false };
        if !volume.tags.iter().any(|it| it == tag) {
            volume.tags.push(tag.to_owned());
        }
        true
    }

    /// The droplet that has a volume now: one that is gone has let go of it.
    fn attached(&self, volume: &Volume) -> Option<u64> {
        volume.droplet.filter(|it| !self.droplets.present(&[*it]).is_empty())
    }

    /// The volumes as time has made them.
    fn now(&self) -> MutexGuard<'_, State> {
        // A test that panics inside `update` has failed already.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.end_actions(SystemTime::now());
        for volume in &mut state.all {
            volume.droplet = self.attached(volume);
        }
        state
    }
}

impl State {
    /// Ends the actions whose time has come.
    fn end_actions(&mut self, now: SystemTime) {
        let VolumeBehaviour { action: time, actions_fail, .. } = self.behaviour;
        for action in self.actions.iter_mut().filter(|it| it.is_running()) {
            let has_ended = match time {
                ActionTime::Takes(time) => action.started_at + time <= now,
                ActionTime::Reads(count) => action.reads >= count,
                ActionTime::Stuck => false,
            };
            if !has_ended {
                continue;
            }
            let volume = self.all.iter_mut().find(|it| it.id == action.volume);
            let Some(volume) = volume.filter(|_| !actions_fail) else {
                action.state = ActionState::Errored;
                continue;
            };
            action.state = ActionState::Completed;
            match action.change {
                VolumeChange::Attach(droplet) => volume.droplet = Some(droplet),
                VolumeChange::Detach(_) => volume.droplet = None,
                VolumeChange::Resize(size) => volume.size_gigabytes = size,
            }
        }
    }

    fn find(&mut self, id: &str) -> Option<&mut Volume> {
        self.all.iter_mut().find(|it| it.id == id)
    }
}

fn sized(gigabytes: u64) -> Result<u64, Refused> {
    match gigabytes {
        1..=LARGEST => Ok(gigabytes),
        _ => Err(invalid("size_gigabytes is invalid")),
    }
}

fn parsed<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body)
        .map_err(|error| Box::new(errors::bad_request(&format!("the body cannot be read: {error}"))))
}

fn invalid(message: &str) -> Refused {
    Box::new(errors::invalid(message))
}
