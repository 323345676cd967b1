//! The three routes that a simulator has beside its cloud's own: the words of both sides.
//!
//! | route | says or does |
//! | --- | --- |
//! | `GET /conformance/world` | [`World`]: everything that exists now, and how an operator sets the provider up |
//! | `GET /conformance/requests` | [`Asked`]: the requests since this was asked last |
//! | `POST /conformance/requests` | takes [`Orders`]: which request goes wrong, and how; in the place of earlier ones |
//! | `POST /conformance/change` | takes a [`ForeignChange`] behind the provider's back, answers [`Changed`], or 501 if this cloud cannot |
//!
//! Bodies are JSON. The routes listen on loopback alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where everything is asked that exists.
pub const WORLD: &str = "/conformance/world";
/// Where requests are asked for, and where orders are given.
pub const REQUESTS: &str = "/conformance/requests";
/// Where something is changed behind the provider's back.
pub const CHANGE: &str = "/conformance/change";

/// Everything that exists, whatever lists of the cloud show.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct World {
    /// The operator's part.
    pub setup: Setup,
    /// All objects that a provider of load balancers or of routes can make or change. No machines, and no volumes.
    pub objects: Vec<CloudObject>,
}

/// How an operator sets the provider up for this cloud.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Setup {
    /// `provider.settings`, with those that let the provider lose little time.
    pub settings: BTreeMap<String, String>,
    /// How requests prove who asks. Without it they do not.
    pub login: Option<CloudLogin>,
    /// For each endpoint its path at the simulator, `/v1/projects/p1`; for others it is that of the URL which the provider describes.
    pub paths: BTreeMap<String, String>,
    /// Annotations that every Service needs.
    pub annotations: BTreeMap<String, String>,
    /// Annotations by which an author of Services could claim what is another's.
    pub claims: Vec<ClaimingAnnotation>,
    /// The annotation that holds the id of a load balancer which Services share: one of this cluster's, or nobody's.
    pub shares: Option<String>,
    /// The annotation by which an author of Services writes tags, if the provider has one.
    pub tags: Option<TaggingAnnotation>,
    /// The keys of the CSI driver's topology, with their values where added machines are: `{"region": "fra1"}`. Without them no volumes
    /// of claims are made.
    pub volume_place: BTreeMap<String, String>,
    /// Stories that are not played, by a part of their titles, and why.
    pub unplayed: BTreeMap<String, String>,
    /// Promises that this provider need not keep, by name, and why.
    pub exceptions: BTreeMap<String, String>,
}

/// How requests prove who asks.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CloudLogin {
    /// `authorization: Bearer …`.
    Bearer {
        /// The token.
        token: String,
    },
    /// AWS's Signature Version 4.
    Sigv4 {
        /// The key's id.
        id: String,
        /// The key's secret.
        secret: String,
        /// The region.
        region: String,
        /// For each endpoint the service that its signatures are for.
        services: BTreeMap<String, String>,
    },
    /// Alibaba Cloud's signature ACS3-HMAC-SHA256.
    Acs3 {
        /// The key's id.
        id: String,
        /// The key's secret.
        secret: String,
        /// The region.
        region: String,
        /// For each endpoint the version of its API: `2014-05-26`.
        versions: BTreeMap<String, String>,
    },
    /// A token of OpenStack's Keystone, whose catalogue says where each endpoint is. Requests for tokens are the host's: they are neither
    /// told nor counted, and never go wrong.
    Keystone {
        /// The path at which the simulator has it: `/identity/v3`.
        path: String,
        /// The id of an application credential.
        id: String,
        /// The secret of that application credential.
        secret: String,
        /// The region in the catalogue.
        region: String,
        /// For each endpoint the type of its service in the catalogue; for others it is the endpoint's name.
        #[serde(default)]
        services: BTreeMap<String, String>,
    },
}

/// An annotation by which an author of Services could claim a load balancer.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimingAnnotation {
    /// Its key.
    pub annotation: String,
    /// The part of the load balancer that it holds.
    pub holds: Held,
}

/// An annotation whose value, `key=value,key=value`, becomes tags of a load balancer.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaggingAnnotation {
    /// Its key.
    pub annotation: String,
    /// Where [`CloudObject::body`] has the tags, as a JSON pointer to an object of texts: `/labels`.
    pub at: String,
}

/// The part of a load balancer that an annotation holds.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Held {
    /// [`CloudObject::id`].
    Id,
    /// [`CloudObject::name`].
    Name,
}

/// Something in the cloud.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloudObject {
    /// As in "load balancer", the same for all of one kind.
    pub kind: String,
    /// Unique within its kind.
    pub id: String,
    /// Empty where it has none.
    #[serde(default)]
    pub name: String,
    /// Everything else that a request could change. Nothing that changes by itself.
    #[serde(default)]
    pub body: Value,
}

/// The requests since this was asked last.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// In the order of their arrival.
    pub requests: Vec<ArrivedRequest>,
    /// Whether the order [`How::DiesBefore`] or [`How::DiesAfter`] has taken effect.
    #[serde(default)]
    pub dead: bool,
    /// Requests that the vendor's cloud would not have understood, one sentence each.
    #[serde(default)]
    pub wrong: Vec<String>,
}

/// One request.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArrivedRequest {
    /// Method and path, or whatever names an operation of this cloud: "POST /v2/load_balancers".
    pub line: String,
    /// Whether it changes anything.
    pub writes: bool,
    /// The HTTP status that was answered; absent without an answer.
    pub status: Option<u16>,
}

/// The orders that hold from now on.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Orders {
    /// The request that goes wrong. Absent: none does.
    pub fail: Option<AdminFailure>,
    /// Whether lists do not show what was made since, until an order says otherwise.
    pub lists_lag: bool,
}

/// One request goes wrong.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdminFailure {
    /// Which one from now on, counted from one.
    pub nth: usize,
    /// How.
    pub how: How,
}

/// How a request goes wrong.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// The connection ends, and nothing was done.
    LostBefore,
    /// It is carried out, and the connection ends without an answer.
    LostAfter,
    /// 500, and nothing was done.
    Failed,
    /// It is carried out, and answered with 500.
    FailedAfter,
    /// Whatever the cloud answers while it is at work on the same object, and nothing was done.
    Busy,
    /// Whatever the cloud answers to what it cannot do, and nothing was done.
    Refused,
    /// As [`How::LostBefore`], also for every request after it.
    DiesBefore,
    /// As [`How::LostAfter`], and nothing after it is carried out.
    DiesAfter,
}

impl How {
    /// In words that follow "request 3".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::LostBefore => "lost before it was carried out",
            Self::LostAfter => "carried out, and its answer lost",
            Self::Failed => "answered with 500",
            Self::FailedAfter => "carried out, and answered with 500",
            Self::Busy => "answered as by a busy cloud",
            Self::Refused => "refused as what the cloud cannot do",
            Self::DiesBefore => "not sent, because the process died",
            Self::DiesAfter => "carried out, and the process died",
        }
    }
}

/// A change behind the provider's back.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ForeignChange {
    /// A machine that runs, whose node has this name; in the place of one that is called so.
    AddMachine {
        /// The node's name.
        name: String,
    },
    /// That machine is shut down, and still there.
    StopMachine {
        /// The node's name.
        name: String,
    },
    /// That machine does not exist any more.
    RemoveMachine {
        /// The node's name.
        name: String,
    },
    /// Another machine, whose node has this name, runs with the addresses that a machine had which is gone.
    AddSuccessor {
        /// The node's name.
        name: String,
        /// The name of the node of the one that is gone.
        of: String,
    },
    /// The object with this id cannot be deleted from now on, or can be again.
    Protect {
        /// [`CloudObject::id`].
        id: String,
        /// Whether it is protected.
        protected: bool,
    },
    /// A load balancer that nobody's provider has made.
    AddForeign {
        /// Its name.
        name: String,
    },
    /// A route to this destination that is nobody's here: it leads to no machine, or carries another cluster's mark. Only where the provider
    /// has routes.
    AddForeignRoute {
        /// `10.244.9.0/24`.
        destination: String,
    },
    /// A volume in the zone of a machine. Only where the provider has volumes.
    AddVolume {
        /// The name of the machine's node.
        beside: String,
    },
    /// That volume does not exist any more.
    RemoveVolume {
        /// Its handle, as [`Changed::id`] had it.
        id: String,
    },
    /// The object with this id gets a change in a part that the provider does not know, such as a label.
    Touch {
        /// [`CloudObject::id`].
        id: String,
    },
    /// So much time passes for the cloud.
    Advance {
        /// Seconds.
        seconds: u64,
    },
}

/// The product of a change.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Changed {
    /// The id of what was made; of a volume the handle that its CSI driver writes, and of a machine the node id.
    pub id: Option<String>,
}
