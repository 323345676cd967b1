//! Objects of Octavia, as far as they are compared.

use serde_json::Value;

use openstack_api::fields::{FromFields, ids, items, number, text, texts, word};

/// A load balancer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OctaviaBalancer {
    pub(crate) id: String,
    pub(crate) name: String,
    /// "ACTIVE", "ERROR", "PENDING_UPDATE" and the like.
    pub(crate) provisioning_status: String,
    pub(crate) vip_address: Option<String>,
    pub(crate) vip_port_id: Option<String>,
    pub(crate) vip_subnet_id: Option<String>,
    pub(crate) additional_vips: Vec<SecondVip>,
    pub(crate) flavor_id: Option<String>,
    pub(crate) availability_zone: Option<String>,
    /// `None` where this version of Octavia has no tags.
    pub(crate) tags: Option<Vec<String>>,
}

/// One more address of a load balancer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SecondVip {
    pub(crate) ip_address: Option<String>,
}

/// A listener.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OctaviaListener {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) protocol: String,
    pub(crate) protocol_port: u16,
    pub(crate) provisioning_status: String,
    pub(crate) connection_limit: Option<i64>,
    pub(crate) default_pool_id: Option<String>,
    pub(crate) default_tls_container_ref: Option<String>,
    pub(crate) insert_headers: serde_json::Map<String, Value>,
    /// `None` where this version of Octavia, or the driver, has no times.
    pub(crate) timeout_client_data: Option<u32>,
    pub(crate) timeout_member_connect: Option<u32>,
    pub(crate) timeout_member_data: Option<u32>,
    pub(crate) timeout_tcp_inspect: Option<u32>,
    /// `None` where this version of Octavia, or the driver, cannot limit clients.
    pub(crate) allowed_cidrs: Option<Vec<String>>,
    pub(crate) tags: Vec<String>,
    pub(crate) loadbalancers: Vec<String>,
}

/// A pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OctaviaPool {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) protocol: String,
    pub(crate) provisioning_status: String,
    pub(crate) lb_algorithm: String,
    /// How clients stay with their member: "SOURCE_IP" and the like.
    pub(crate) session_persistence: Option<String>,
    pub(crate) healthmonitor_id: Option<String>,
    pub(crate) listeners: Vec<String>,
    pub(crate) members: Vec<String>,
    pub(crate) loadbalancers: Vec<String>,
}

/// A monitor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OctaviaMonitor {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) delay: Option<u32>,
    pub(crate) timeout: Option<u32>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) max_retries_down: Option<u32>,
}

/// A member of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OctaviaMember {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) protocol_port: u16,
    pub(crate) weight: Option<u32>,
    pub(crate) subnet_id: Option<String>,
    pub(crate) monitor_port: Option<u16>,
}

impl OctaviaBalancer {
    /// Its tags; none where this version of Octavia has none.
    pub(crate) fn tags(&self) -> &[String] {
        self.tags.as_deref().unwrap_or_default()
    }

    /// For a person: its id, and its name.
    pub(crate) fn title(&self) -> String {
        format!("load balancer {} ({})", self.id, self.name)
    }

    /// Whether it takes a change.
    pub(crate) fn is_active(&self) -> bool {
        self.provisioning_status == "ACTIVE"
    }

    /// Whether it has ended in an error.
    pub(crate) fn is_in_error(&self) -> bool {
        self.provisioning_status == "ERROR"
    }

    /// Whether it is being deleted, or was.
    pub(crate) fn is_going(&self) -> bool {
        matches!(&*self.provisioning_status, "PENDING_DELETE" | "DELETED")
    }
}

impl OctaviaListener {
    /// Whether it belongs to a load balancer, as a list of all shows it.
    pub(crate) fn is_of(&self, balancer: &str) -> bool {
        self.loadbalancers.iter().any(|it| it == balancer)
    }
}

impl OctaviaPool {
    /// Whether it belongs to a load balancer, as a list of all shows it.
    pub(crate) fn is_of(&self, balancer: &str) -> bool {
        self.loadbalancers.iter().any(|it| it == balancer)
    }
}

impl FromFields for OctaviaBalancer {
    fn from_fields(shown: &Value) -> Option<Self> {
        let vip = |it: &Value| SecondVip { ip_address: word(it, "ip_address") };
        Some(Self {
            id: word(shown, "id")?,
            name: text(shown, "name"),
            provisioning_status: text(shown, "provisioning_status"),
            vip_address: word(shown, "vip_address"),
            vip_port_id: word(shown, "vip_port_id"),
            vip_subnet_id: word(shown, "vip_subnet_id"),
            additional_vips: items(shown, "additional_vips").iter().map(vip).collect(),
            flavor_id: word(shown, "flavor_id"),
            availability_zone: word(shown, "availability_zone"),
            tags: texts(shown, "tags"),
        })
    }
}

impl FromFields for OctaviaListener {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            id: word(shown, "id")?,
            name: text(shown, "name"),
            protocol: word(shown, "protocol")?,
            protocol_port: number(shown, "protocol_port")?,
            provisioning_status: text(shown, "provisioning_status"),
            connection_limit: number(shown, "connection_limit"),
            default_pool_id: word(shown, "default_pool_id"),
            default_tls_container_ref: word(shown, "default_tls_container_ref"),
            insert_headers: shown["insert_headers"].as_object().cloned().unwrap_or_default(),
            timeout_client_data: number(shown, "timeout_client_data"),
            timeout_member_connect: number(shown, "timeout_member_connect"),
            timeout_member_data: number(shown, "timeout_member_data"),
            timeout_tcp_inspect: number(shown, "timeout_tcp_inspect"),
            allowed_cidrs: texts(shown, "allowed_cidrs"),
            tags: texts(shown, "tags").unwrap_or_default(),
            loadbalancers: ids(shown, "loadbalancers"),
        })
    }
}

impl FromFields for OctaviaPool {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            id: word(shown, "id")?,
            name: text(shown, "name"),
            protocol: word(shown, "protocol")?,
            provisioning_status: text(shown, "provisioning_status"),
            lb_algorithm: text(shown, "lb_algorithm"),
            session_persistence: word(&shown["session_persistence"], "type"),
            healthmonitor_id: word(shown, "healthmonitor_id"),
            listeners: ids(shown, "listeners"),
            members: ids(shown, "members"),
            loadbalancers: ids(shown, "loadbalancers"),
        })
    }
}

impl FromFields for OctaviaMonitor {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            id: word(shown, "id")?,
            name: text(shown, "name"),
            kind: text(shown, "type"),
            delay: number(shown, "delay"),
            timeout: number(shown, "timeout"),
            max_retries: number(shown, "max_retries"),
            max_retries_down: number(shown, "max_retries_down"),
        })
    }
}

impl FromFields for OctaviaMember {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            id: text(shown, "id"),
            name: text(shown, "name"),
            address: word(shown, "address")?,
            protocol_port: number(shown, "protocol_port")?,
            weight: number(shown, "weight"),
            subnet_id: word(shown, "subnet_id"),
            monitor_port: number(shown, "monitor_port"),
        })
    }
}
