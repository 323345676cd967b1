//! A Service, and what the host keeps of it.

use std::time::Duration;

use cloud_provider::{
    Deletion, Error, Event, LoadBalancer, LoadBalancerStatus, LoadBalancers, Node, Owner, PendingStatus, Port,
    Progress, Protocol, Reply, Result,
};
use uuid::Uuid;

use crate::host::CLUSTER_NAME;
use crate::play::stage::wrong;
use crate::protocol::Setup;
use crate::transcript::SaidAnswer;

/// A Service of TCP port 80.
#[derive(Clone, Debug)]
pub(crate) struct PlayedService {
    pub(crate) desired: LoadBalancer,
}

/// An answer, before it is known which requests its call made.
pub(crate) struct Heard {
    pub(crate) said: SaidAnswer,
    pub(crate) events: Vec<String>,
    /// The status that the host keeps, if it lives.
    kept: Option<LoadBalancerStatus>,
    /// How long the host would wait.
    pub(crate) pause: Duration,
}

impl PlayedService {
    /// One of which nobody has heard yet.
    pub(crate) fn new(name: &str, nodes: &[Node], setup: &Setup) -> Self {
        let uid = Uuid::new_v4().to_string();
        let owner = Owner {
            cluster: CLUSTER_NAME.to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            uid: uid.clone(),
        };
        let desired = LoadBalancer {
            name: format!("a{}", uid.replace('-', "")).chars().take(32).collect(),
            owner,
            ports: vec![port(80)],
            nodes: nodes.to_vec(),
            annotations: setup.annotations.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            ..LoadBalancer::default()
        };
        Self { desired }
    }

    /// Sets an annotation.
    pub(crate) fn annotate(&mut self, key: &str, value: &str) {
        self.desired.annotations.retain(|(it, _)| it != key);
        self.desired.annotations.push((key.to_owned(), value.to_owned()));
        self.desired.annotations.sort();
    }

    /// Asks for one port and for these nodes.
    pub(crate) fn change(&mut self, nodes: &[Node]) {
        self.desired.nodes = nodes.to_vec();
        if self.desired.ports.len() == 1 {
            self.desired.ports.push(port(443));
        }
    }

    /// Asks for this port alone.
    pub(crate) fn listen(&mut self, number: u16) {
        self.desired.ports = vec![port(number)];
    }

    /// One step towards what is desired.
    pub(crate) async fn ensure(&self, load_balancers: &dyn LoadBalancers) -> Heard {
        let Reply { answer, events, .. } = load_balancers.ensure(&self.desired).await;
        let said = match &answer {
            Ok(Progress::Ready(status)) => SaidAnswer::Ready { memo: status.memo.clone(), ingress: reached(status) },
            Ok(Progress::Pending(it)) => pending(it),
            Ok(Progress::Failed(status, error)) => {
                SaidAnswer::Failed { memo: status.memo.clone(), wrong: wrong(error) }
            }
            Ok(Progress::NotManaged) => SaidAnswer::NotManaged,
            Err(error) => SaidAnswer::Error(wrong(error)),
        };
        let pause = match &answer {
            Ok(Progress::Pending(it)) => it.after,
            Ok(Progress::Failed(_, error)) | Err(error) => pause(error),
            Ok(Progress::Ready(_) | Progress::NotManaged) => Duration::ZERO,
        };
        let kept = match answer {
            Ok(Progress::Ready(status) | Progress::Failed(status, _)) => Some(status),
            Ok(Progress::Pending(it)) => Some(it.status),
            Ok(Progress::NotManaged) | Err(_) => None,
        };
        Heard { said, events: reasons(events), kept, pause }
    }

    /// One step towards its absence.
    pub(crate) async fn delete(&self, load_balancers: &dyn LoadBalancers) -> Heard {
        let unwanted = LoadBalancer { nodes: Vec::new(), ..self.desired.clone() };
        let Reply { answer, events, .. } = load_balancers.delete(&unwanted).await;
        let (said, pause) = deleted(&answer);
        let kept = match answer {
            Ok(Deletion::Pending(it)) => Some(it.status),
            Ok(Deletion::Done | Deletion::Kept(_)) | Err(_) => None,
        };
        Heard { said, events: reasons(events), kept, pause }
    }

    /// Stores what the host has to keep before it calls again.
    pub(crate) fn keep(&mut self, heard: &Heard) {
        self.desired.memo_is_new = false;
        let Some(status) = &heard.kept else { return };
        self.desired.memo_is_new = status.memo.is_some() && status.memo != self.desired.memo;
        self.desired.memo.clone_from(&status.memo);
        if matches!(heard.said, SaidAnswer::Ready { .. }) {
            self.desired.current_ingress.clone_from(&status.ingress);
        }
        for (key, value) in &status.annotations {
            self.annotate(key, value);
        }
    }

    /// The process died, and has stored nothing: who comes next does not know whether the memo was used.
    pub(crate) fn forget(&mut self) {
        self.desired.memo_is_new = false;
    }
}

fn deleted(answer: &Result<Deletion>) -> (SaidAnswer, Duration) {
    match answer {
        Ok(Deletion::Done) => (SaidAnswer::Done, Duration::ZERO),
        Ok(Deletion::Kept(why)) => (SaidAnswer::Kept(why.clone()), Duration::ZERO),
        Ok(Deletion::Pending(it)) => (pending(it), it.after),
        Err(error) => (SaidAnswer::Error(wrong(error)), pause(error)),
    }
}

fn pending(it: &PendingStatus) -> SaidAnswer {
    SaidAnswer::Pending { memo: it.status.memo.clone(), after: it.after, reason: it.reason.clone() }
}

/// How long the host waits after an error at least.
fn pause(error: &Error) -> Duration {
    match error {
        Error::RetryAfter { after, .. } | Error::Crashed { after, .. } => *after,
        Error::Invalid(_) | Error::Denied(_) | Error::Unavailable(_) => Duration::ZERO,
    }
}

fn reached(status: &LoadBalancerStatus) -> Vec<String> {
    status.ingress.iter().filter_map(|it| it.ip.clone().or_else(|| it.hostname.clone())).collect()
}

fn reasons(events: Vec<Event>) -> Vec<String> {
    events.into_iter().map(|it| it.reason).collect()
}

fn port(port: u16) -> Port {
    Port {
        name: format!("p-{port}"),
        protocol: Protocol::Tcp,
        port,
        node_port: Some(30_000 + port),
        app_protocol: None,
    }
}
