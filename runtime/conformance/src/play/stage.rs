//! The host, the simulator, and the machines that every story has.

use std::time::Duration;

use cloud_provider::{Error, Instance, Node};

use crate::admin::Admin;
use crate::error::ConformanceError;
use crate::host::{CLUSTER, HostProcess, NativeHost};
use crate::protocol::{ArrivedRequest, CloudObject, ForeignChange};
use crate::transcript::Wrong;

/// How many machines there are from the start: more than a list costs requests beside its pages.
const MACHINES: usize = 7;

/// The host, the simulator, and what both have.
pub(crate) struct Stage {
    pub(crate) host: NativeHost,
    pub(crate) admin: Admin,
    /// The names of all machines.
    pub(crate) names: Vec<String>,
    /// Requests that the vendor's cloud would not have understood, until now.
    pub(crate) wrong: Vec<String>,
    /// How long a part of a life is waited for.
    pub(crate) patience: Duration,
    /// Which simulator this is, where stories are played side by side.
    pub(crate) number: usize,
    /// The nodes of all machines, once they were asked for.
    nodes: Vec<Node>,
}

impl Stage {
    /// Adds the machines.
    pub(crate) async fn set(
        host: NativeHost,
        admin: Admin,
        patience: Duration,
        number: usize,
    ) -> Result<Self, ConformanceError> {
        let names: Vec<_> = (1..=MACHINES).map(|it| format!("web-{it}")).collect();
        for name in &names {
            let added = admin.change(&ForeignChange::AddMachine { name: name.clone() }).await?;
            added.ok_or_else(|| ConformanceError::route("POST /conformance/change", "it cannot add a machine"))?;
        }
        Ok(Self { host, admin, names, wrong: Vec::new(), patience, number, nodes: Vec::new() })
    }

    /// A new process for the cluster that everything here is about.
    pub(crate) async fn process(&self) -> Result<HostProcess, ConformanceError> {
        self.host.process(CLUSTER).await
    }

    /// The requests since the last look, and whether the process has died at one of them.
    pub(crate) async fn asked(&mut self) -> Result<(Vec<ArrivedRequest>, bool), ConformanceError> {
        let asked = self.admin.asked().await?;
        for wrong in asked.wrong {
            if !self.wrong.contains(&wrong) {
                self.wrong.push(wrong);
            }
        }
        Ok((asked.requests, asked.dead))
    }

    /// Whether the simulator wants a story with this title to be played.
    pub(crate) fn is_played(&self, title: &str) -> bool {
        !self.host.setup().unplayed.keys().any(|part| title.contains(part))
    }

    /// All objects.
    pub(crate) async fn objects(&self) -> Result<Vec<CloudObject>, ConformanceError> {
        Ok(self.admin.world().await?.objects)
    }

    /// The nodes of all machines, initialised as the host does it, once.
    pub(crate) async fn nodes(&mut self, process: &HostProcess) -> Vec<Node> {
        if self.nodes.is_empty() {
            self.nodes = self.initialised(process).await;
        }
        self.nodes.clone()
    }

    async fn initialised(&self, process: &HostProcess) -> Vec<Node> {
        let Some(instances) = &process.cloud.instances else {
            return self.names.iter().map(|it| joining(it)).collect();
        };
        let mut nodes = Vec::new();
        for name in &self.names {
            let mut answer = instances.get(&[joining(name)]).await.answer;
            match answer.pop() {
                Some(Ok(Some(instance))) => nodes.push(initialised(name, instance)),
                _ => nodes.push(joining(name)),
            }
        }
        nodes
    }
}

/// A node that has just come.
pub(crate) fn joining(name: &str) -> Node {
    Node { name: name.to_owned(), ..Node::default() }
}

/// The node of a machine.
pub(crate) fn initialised(name: &str, instance: Instance) -> Node {
    let Instance { provider_id, zone, region, addresses, extra, .. } = instance;
    Node { name: name.to_owned(), provider_id, zone, region, addresses, extra, ..Node::default() }
}

/// An error, by what happens next.
pub(crate) fn wrong(error: &Error) -> Wrong {
    let is_final = match error {
        Error::Invalid(_) | Error::Denied(_) => true,
        Error::RetryAfter { .. } | Error::Crashed { .. } | Error::Unavailable(_) => false,
    };
    Wrong { is_final, text: error.to_string() }
}
