//! One call about several Services: what they ask for alike is read once and written once, and what each has of its own is a list of its
//! kind.

use std::cell::RefCell;

use aerostat_sdk::{Error, LoadBalancer, Result, SortedMap};
use serde_json::Value;

use super::names::GceNames;
use crate::api::objects::{self, GceObject};
use crate::api::operations::OperationState;
use crate::api::writes::{GceWrite, WriteAnswer};
use crate::machine::MachinePlace;
use crate::settings::ProjectSettings;

/// Answers by what was asked.
type RoundAnswers<K, V> = RefCell<SortedMap<K, Result<V>>>;

/// The requests of one call.
#[derive(Default)]
pub(super) struct GceRound {
    /// The names of its load balancers.
    balancers: Vec<String>,
    objects: RoundAnswers<GceObject, Option<Value>>,
    /// Those that lists have shown, or lacked.
    listed: RoundAnswers<GceObject, Option<Value>>,
    members: RoundAnswers<GceObject, Option<Vec<MachinePlace>>>,
    zones: RoundAnswers<String, Vec<String>>,
    operations: RoundAnswers<String, OperationState>,
    writes: RoundAnswers<String, WriteAnswer>,
}

impl GceRound {
    /// That of a call about these.
    pub(super) fn of<'a>(services: impl Iterator<Item = &'a LoadBalancer>) -> Self {
        Self { balancers: services.map(|it| it.name.clone()).collect(), ..Self::default() }
    }

    /// Whether it is about one load balancer.
    pub(super) fn is_of_one(&self) -> bool {
        self.balancers.len() < 2
    }

    /// An object, read by itself: what is not there is not there.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(super) fn find(&self, settings: &ProjectSettings, object: &GceObject) -> Result<Option<Value>> {
        once(&self.objects, object.clone(), || objects::find(settings, object))
    }

    /// An object, read together with those that the others have in its place. Its making is refused if the list lacks what is there.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(super) fn find_listed(&self, settings: &ProjectSettings, object: &GceObject) -> Result<Option<Value>> {
        let own = self.balancers.iter().find_map(|it| object.name.split_once(&**it));
        let Some((before, after)) = own.filter(|_| !self.is_of_one()) else { return self.find(settings, object) };
        if !self.listed.borrow().contains_key(object) {
            let names: Vec<String> = self.balancers.iter().map(|it| format!("{before}{it}{after}")).collect();
            let shown = objects::named(settings, object.kind, &names);
            let of = |name: &String| shown.clone().map(|all| all.into_iter().find(|it| it["name"] == **name));
            let each = names.iter().map(|it| (GceObject::new(object.kind, &**it), of(it)));
            self.listed.borrow_mut().extend(each);
        }
        match self.listed.borrow().get(object) {
            // A credential that may not list may read.
            None | Some(Err(Error::Denied(_))) => self.find(settings, object),
            Some(shown) => shown.clone(),
        }
    }

    /// The instances in a group; `None` if there is no such group.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(super) fn members(&self, settings: &ProjectSettings, group: &GceObject) -> Result<Option<Vec<MachinePlace>>> {
        once(&self.members, group.clone(), || objects::members(settings, group))
    }

    /// The cluster's instance groups, of all zones that have one.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(super) fn groups(&self, names: &GceNames) -> Result<Vec<GceObject>> {
        let name = names.group();
        let zones = once(&self.zones, name.clone(), || objects::zones_with_group(&name))?;
        Ok(zones.iter().map(|it| GceObject::group(it, &name)).collect())
    }

    /// State of an operation; `read` asks.
    ///
    /// # Errors
    ///
    /// Whatever the API answered, and the error that it ended with.
    pub(super) fn operation(
        &self,
        name: &str,
        read: impl FnOnce() -> Result<OperationState>,
    ) -> Result<OperationState> {
        once(&self.operations, name.to_owned(), read)
    }

    /// Sends a write, unless it is the same as another one of this call: then that one's answer is its.
    ///
    /// # Errors
    ///
    /// Whatever else the API answered, and the error that the operation ended with.
    pub(super) fn send(&self, settings: &ProjectSettings, write: &GceWrite, making: &str) -> Result<WriteAnswer> {
        once(&self.writes, write.revision(settings), || write.send(settings, making))
    }
}

/// The answer that is known, or that of `ask`.
fn once<K: Ord, V: Clone>(known: &RoundAnswers<K, V>, key: K, ask: impl FnOnce() -> Result<V>) -> Result<V> {
    if let Some(answer) = known.borrow().get(&key) {
        return answer.clone();
    }
    let answer = ask();
    known.borrow_mut().insert(key, answer.clone());
    answer
}
