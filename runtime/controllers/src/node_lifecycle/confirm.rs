//! Asking the cloud about nodes that are not ready, and deleting those that it does not know any more.

use std::sync::Arc;

use crate::node_object::KubeNode;
use cloud_provider::{Error, Freshness, Instance, Result, State};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::ResourceExt;
use kube::api::{DeleteParams, Preconditions};
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::error::LONGEST_RETRY_AFTER;
use crate::events::{EventKind, reference};
use crate::freshness::{CheckBegan, NODE_DELETION, TAINT};
use crate::inventory::instance_list::InstanceList;
use crate::node_fields::provider_id;
use crate::node_lifecycle::LifecycleController;
use crate::node_lifecycle::plan::{self, DeletionPatience, ListQuality, Reason};
use crate::node_lifecycle::watchlist::{CheckOutcome, TakenNodes};
use crate::object::{self, Error as ObjectError};
use crate::warm_up;
use crate::worker::contained;

impl LifecycleController {
    /// Makes a round. A panic in it has shown nothing of any node.
    pub(super) async fn contained_round(&self, taken: TakenNodes, there: Option<Arc<InstanceList>>) {
        let nodes: Vec<_> = taken.due.iter().chain(&taken.early).cloned().collect();
        if let Err(panic) = contained(self.round(taken, there)).await {
            error!(panic, "a check of the nodes panicked");
            nodes.iter().for_each(|it| self.settle(it, CheckOutcome::Failed(None)));
        }
    }

    /// Checks nodes: with one list for all, or, where that is cheaper, each alone.
    ///
    /// `there` is a list that somebody else has asked for: it answers where nobody's time has come.
    async fn round(&self, taken: TakenNodes, there: Option<Arc<InstanceList>>) {
        let began = Instant::now();
        let by_list = self.is_list_due(&taken);
        let TakenNodes { due, early } = taken;
        if let Err(error) = self.ask(self.inventory.check()).await {
            early.iter().for_each(|it| self.settle(it, CheckOutcome::Early));
            due.iter().for_each(|it| self.refused(it, &error));
            return;
        }
        // A list that failed before answers nobody, and asking for it is no check: it comes when the cloud is asked again.
        if by_list
            && there.is_none()
            && let Some(rest) = self.inventory.lists_rest()
        {
            early.iter().for_each(|it| self.settle(it, CheckOutcome::Early));
            due.iter().for_each(|it| self.settle(it, CheckOutcome::Postponed(rest)));
            return;
        }
        let list = match (by_list, there) {
            (_, Some(there)) if due.is_empty() => Ok(Some(there)),
            (true, _) => self.list(&due, began).await.map(Some),
            (false, _) => Ok(None),
        };
        let calls = match &list {
            // Where nobody's time has come, somebody else has asked.
            Ok(Some(_)) if !due.is_empty() => self.inventory.pages(),
            Ok(_) | Err(_) => due.len(),
        };
        let list = match &list {
            Ok(list) => list.as_deref(),
            Err(error) => {
                early.iter().for_each(|it| self.settle(it, CheckOutcome::Early));
                for node in &due {
                    if self.watchlist().is_missing(node) {
                        self.record_withheld(node, &Reason::Incomplete(error.to_string()));
                    }
                    self.fail(node, error);
                }
                return;
            }
        };
        let checks = due.into_iter().map(|it| (it, true)).chain(early.into_iter().map(|it| (it, false)));
        // No bound here: a node about which the cloud is silent must not hold up those that it has spoken of.
        let check = |(node, due)| async move {
            if due { self.check(node, list, calls, began).await } else { self.check_early(node, list, calls).await }
        };
        stream::iter(checks).for_each_concurrent(None, check).await;
    }

    /// Whether a list is cheaper than questions about the nodes alone, or one of them can only be found by a list.
    fn is_list_due(&self, taken: &TakenNodes) -> bool {
        let nodes = taken.due.len() + taken.early.len();
        nodes >= self.inventory.pages().max(2)
            || taken.due.iter().any(|it| self.inventory.takes_list(it))
            || taken.due.iter().any(|it| self.watchlist().is_missing(it))
    }

    /// All machines as they are now; if all of the nodes' machines are there, as they were two periods ago at most.
    async fn list(&self, nodes: &[Arc<KubeNode>], began: Instant) -> Result<Arc<InstanceList>> {
        let recently = began.checked_sub(TAINT.age(self.options.monitor_period)).unwrap_or(began);
        let list = self.ask(self.inventory.list(Freshness::since(recently))).await?;
        let lacks = |it: &Arc<KubeNode>| matches!(self.inventory.listed(it, &list), Ok(None));
        let list = if nodes.iter().any(lacks) {
            self.ask(self.inventory.list(NODE_DELETION.since(CheckBegan(began)))).await?
        } else {
            list
        };
        let mut listed = self.listed.lock();
        *listed = list.began.max(*listed);
        drop(listed);
        Ok(list)
    }

    /// Checks a node whose time has come.
    async fn check(&self, node: Arc<KubeNode>, list: Option<&InstanceList>, calls: usize, began: Instant) {
        // Somebody else may have asked about this node after the list had begun.
        let list = list.filter(|it| self.inventory.is_newest(&node, it));
        match list.map_or(Ok(None), |it| self.inventory.listed(&node, it)) {
            Ok(Some(instance)) => return self.present(node, &instance, calls).await,
            Ok(None) => {}
            Err(error) => return self.fail(&node, &error),
        }
        let answer = {
            let _turn = self.questions.acquire().await;
            self.ask(self.inventory.asked(&node, list)).await
        };
        match answer {
            Ok(Some(instance)) => {
                let zone = self.nodes.zone(&node);
                let complete = list.is_some_and(|it| it.gap(zone.as_deref()).is_none());
                // A machine that was made just now may be missing from lists for a while.
                if complete && plan::young(&node, self.patience()).is_none() {
                    self.record_withheld(&node, &Reason::Contradiction);
                }
                self.present(node, &instance, calls).await;
            }
            Ok(None) => self.absent(node, list, began).await,
            Err(error) => self.fail(&node, &error),
        }
    }

    /// Checks a node whose time has not come, because a list has been read anyway.
    async fn check_early(&self, node: Arc<KubeNode>, list: Option<&InstanceList>, calls: usize) {
        let list = list.filter(|it| self.inventory.is_newest(&node, it));
        match list.map(|it| self.inventory.listed(&node, it)) {
            Some(Ok(Some(instance))) => self.present(node, &instance, calls).await,
            Some(Ok(None) | Err(_)) | None => self.settle(&node, CheckOutcome::Early),
        }
    }

    /// The machine exists: the node stays, with or without the taint.
    async fn present(&self, node: Arc<KubeNode>, instance: &Instance, calls: usize) {
        let state = instance.state;
        let marked = plan::is_tainted(&node) == (state == State::Stopped)
            || self.mark(node.clone(), state, |it| !plan::is_ready(it)).await;
        self.settle(&node, if marked { CheckOutcome::Present { calls } } else { CheckOutcome::Failed(None) });
    }

    /// The machine was found neither by a list, if there was one, nor by a question about it alone after that, in a check
    /// that began at `began`.
    async fn absent(&self, node: Arc<KubeNode>, list: Option<&InstanceList>, began: Instant) {
        let enough = self.watchlist().miss(&node);
        let current = self.nodes.get(&node.name_any()).filter(|current| {
            current.metadata.uid == node.metadata.uid
                && current.metadata.deletion_timestamp.is_none()
                && provider_id(current) == provider_id(&node)
                && plan::ready_since(current) == plan::ready_since(&node)
                && !plan::is_ready(current)
        });
        let (Some(list), Some(current), true) = (list, current, enough) else {
            return self.settle(&node, CheckOutcome::Absent);
        };
        if let Err(error) = self.ask(self.inventory.check()).await {
            return self.refused(&node, &error);
        }
        let (account, familiar) = (self.inventory.account(), self.inventory.is_familiar(list));
        let zone = self.nodes.zone(&current);
        let incomplete = list.gap(zone.as_deref());
        let checked = CheckBegan(began);
        let quality = ListQuality { began: list.began, checked, incomplete, familiar, account: account.as_ref() };
        if let Some(reason) = plan::objection(&current, quality, self.patience()) {
            return self.withhold(&node, &reason);
        }
        match self.ask(self.inventory.twin(&current)).await {
            Ok(None) => {}
            Ok(Some(other)) => return self.withhold(&node, &Reason::Twin(other)),
            Err(error) => return self.fail(&node, &error),
        }
        if *self.ending.borrow() {
            return;
        }
        self.delete(&current).await;
    }

    /// Deletes a node, unless too many were deleted lately.
    async fn delete(&self, node: &KubeNode) {
        let counts = !plan::is_approved(node);
        let budget = &self.options.budget;
        if counts && let Err(deletions) = self.deletions.take(budget, self.nodes_with_provider_id(), Instant::now()) {
            return self.withhold(node, &Reason::Budget { deletions, window: budget.window });
        }
        if counts && !self.deletions.are_stored().await {
            self.deletions.put_back();
            warn!(
                node = node.name_any(),
                "the node is not deleted yet: its deletion could not be counted on the Lease"
            );
            return self.settle(node, CheckOutcome::Failed(None));
        }
        let (name, about) = (node.name_any(), about(node));
        let message = format!("Deleting node {name} because it does not exist in the cloud provider");
        self.recorder.record(about.clone(), EventKind::Normal, "DeletingNode", &message);
        // Not another node that has got the name since, and not this one if anything was said of it since.
        let preconditions = Preconditions { uid: node.uid(), resource_version: node.resource_version() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match object::answer(self.api.delete(&name, &params)).await {
            // It stays taken until the watch tells that it is gone: the cloud is not asked about it again.
            Ok(_) => info!(node = name, provider_id = provider_id(node), "the node is deleted: its machine is gone"),
            Err(error) if error.is_gone() => info!(node = name, "the node is gone already"),
            Err(error) => {
                if counts && matches!(error, ObjectError::Refused(_)) {
                    self.deletions.put_back();
                }
                let message = format!("Failed deleting node {name}: {error}");
                warn!("{message}");
                self.recorder.record(about, EventKind::Warning, "DeletingNodeFailed", &message);
                self.settle(node, CheckOutcome::Absent);
            }
        }
    }

    /// The account behind the credential is another one, or is not known.
    fn refused(&self, node: &KubeNode, error: &Error) {
        match error {
            Error::Denied(why) => self.withhold(node, &Reason::Account(why.clone())),
            Error::Invalid(_) | Error::RetryAfter { .. } | Error::Crashed { .. } | Error::Unavailable(_) => {
                self.fail(node, error);
            }
        }
    }

    fn withhold(&self, node: &KubeNode, reason: &Reason) {
        self.record_withheld(node, reason);
        self.settle(node, CheckOutcome::Withheld(reason.ends_in()));
    }

    /// Records why a node stays, unless an event said so lately.
    fn record_withheld(&self, node: &KubeNode, reason: &Reason) {
        if self.watchlist().is_new(node, reason, Instant::now()) {
            let message = reason.message(&node.name_any());
            warn!(reason = reason.label(), "{message}");
            self.metrics.withheld(reason.label()).inc();
            self.recorder.record(about(node), EventKind::Warning, "NodeDeletionWithheld", &message);
        }
    }

    fn fail(&self, node: &KubeNode, error: &Error) {
        let name = node.name_any();
        warn!(node = name, "error checking if node {name} exists: {error}; it is tried again with growing pauses");
        let after = match error {
            Error::RetryAfter { after, .. } | Error::Crashed { after, .. } => Some((*after).min(LONGEST_RETRY_AFTER)),
            Error::Invalid(_) | Error::Denied(_) | Error::Unavailable(_) => None,
        };
        self.settle(node, CheckOutcome::Failed(after));
    }

    fn settle(&self, node: &KubeNode, outcome: CheckOutcome) {
        self.watchlist().settle(node, outcome, Instant::now());
    }

    /// The answer to a question, unless the controller is to end. A provider that panics has not answered.
    async fn ask<T>(&self, question: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            answer = contained(question) => {
                answer.unwrap_or_else(|panic| Err(Error::Unavailable(format!("the provider panicked: {panic}"))))
            }
            () = self.ending() => Err(Error::Unavailable("this process is about to end".to_owned())),
        }
    }

    fn patience(&self) -> DeletionPatience {
        let decided = Instant::now();
        let warm_ends = warm_up::ends(self.began, self.inventory.replaced(), self.options.warm_up);
        DeletionPatience {
            warm_up: warm_ends.saturating_duration_since(decided),
            grace: self.options.grace,
            now: Timestamp::now(),
            decided,
        }
    }

    fn nodes_with_provider_id(&self) -> usize {
        let ours = |it: &&Arc<KubeNode>| self.inventory.covers(it) && provider_id(it).is_some();
        self.nodes.all().iter().filter(ours).count()
    }
}

/// The reference by which events name a node: without its version, as upstream does here.
fn about(node: &KubeNode) -> ObjectReference {
    ObjectReference { resource_version: None, ..reference(node) }
}
