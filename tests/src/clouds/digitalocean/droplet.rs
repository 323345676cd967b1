//! A droplet, from what a test says about it to the whole object that the service shows.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use super::region;

/// A virtual machine. What a test does not set is as it is for most droplets.
#[derive(Clone, Debug)]
pub struct Droplet {
    /// Unique in the account.
    pub id: u64,
    /// Not unique.
    pub name: String,
    /// Where it is in its life.
    pub status: Status,
    /// For example `s-2vcpu-4gb`.
    pub size_slug: String,
    /// For example `fra1`.
    pub region: String,
    /// Private IPv4 addresses, in the order in which they are listed.
    pub private_v4: Vec<Ipv4Addr>,
    /// Public IPv4 addresses.
    pub public_v4: Vec<Ipv4Addr>,
    /// IPv6 addresses: always public.
    pub public_v6: Vec<Ipv6Addr>,
    /// The private network that it lies in. Absent: the default one of its region.
    pub vpc: Option<String>,
    /// Names of tags.
    pub tags: Vec<String>,
    /// Whether it has a GPU, which keeps it out of the ordinary list.
    pub gpu: bool,
    /// Whether lists show it. One that is not listed can still be asked for by id, as when a list is behind.
    pub listed: bool,
    /// Fields that replace or join the ones above, whether or not the service would ever send them.
    pub fields: Map<String, Value>,
}

/// The service's word on a droplet's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Being created.
    New,
    /// Running.
    Active,
    /// Stopped, and still there.
    Off,
    /// Stored away.
    Archive,
}

impl Droplet {
    /// A running droplet in `fra1` with one private and one public IPv4 address, both made from its id.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Droplet {
        let [.., high, middle, low] = id.to_be_bytes();
        Droplet {
            id,
            name: name.to_owned(),
            status: Status::Active,
            size_slug: "s-2vcpu-4gb".to_owned(),
            region: "fra1".to_owned(),
            private_v4: vec![Ipv4Addr::new(10, high, middle, low)],
            // Of the range set aside for benchmarks.
            public_v4: vec![Ipv4Addr::new(198, 18 + high % 2, middle, low)],
            public_v6: Vec::new(),
            vpc: None,
            tags: Vec::new(),
            gpu: false,
            listed: true,
            fields: Map::new(),
        }
    }

    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: Status) -> Droplet {
        self.status = status;
        self
    }

    /// Sets the size, for example `s-4vcpu-8gb`.
    #[must_use]
    pub fn size(mut self, slug: &str) -> Droplet {
        slug.clone_into(&mut self.size_slug);
        self
    }

    /// Sets the region, for example `nyc3`.
    #[must_use]
    pub fn region(mut self, slug: &str) -> Droplet {
        slug.clone_into(&mut self.region);
        self
    }

    /// Sets the private IPv4 addresses; none is allowed.
    #[must_use]
    pub fn private_v4(mut self, addresses: impl IntoIterator<Item = Ipv4Addr>) -> Droplet {
        self.private_v4 = addresses.into_iter().collect();
        self
    }

    /// Sets the public IPv4 addresses; none is allowed.
    #[must_use]
    pub fn public_v4(mut self, addresses: impl IntoIterator<Item = Ipv4Addr>) -> Droplet {
        self.public_v4 = addresses.into_iter().collect();
        self
    }

    /// Sets the public IPv6 addresses.
    #[must_use]
    pub fn public_v6(mut self, addresses: impl IntoIterator<Item = Ipv6Addr>) -> Droplet {
        self.public_v6 = addresses.into_iter().collect();
        self
    }

    /// Puts it into a private network other than the default one of its region.
    #[must_use]
    pub fn vpc(mut self, id: &str) -> Droplet {
        self.vpc = Some(id.to_owned());
        self
    }

    /// Adds a tag.
    #[must_use]
    pub fn tag(mut self, name: &str) -> Droplet {
        self.tags.push(name.to_owned());
        self
    }

    /// Makes it a machine with a GPU, which only `type=gpus` lists.
    #[must_use]
    pub fn gpu(mut self) -> Droplet {
        "gpu-h100x1-80gb".clone_into(&mut self.size_slug);
        self.gpu = true;
        self
    }

    /// Keeps it out of every list.
    #[must_use]
    pub fn unlisted(mut self) -> Droplet {
        self.listed = false;
        self
    }

    /// Sets a field of the object as it is shown, which may be one that the description does not know.
    #[must_use]
    pub fn field(mut self, name: &str, value: Value) -> Droplet {
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// The private network that it lies in.
    pub(super) fn vpc_uuid(&self) -> &str {
        self.vpc.as_deref().unwrap_or_else(|| region::default_vpc(&self.region))
    }

    /// The object as the service shows it.
    pub(super) fn object(&self) -> Value {
        let (vcpus, memory, disk) = self.shape();
        let mut object = json!({
            "id": self.id,
            "name": self.name,
            "memory": memory,
            "vcpus": vcpus,
            "disk": disk,
            "disk_info": disk_info(disk),
            "locked": false,
            "status": match self.status {
                Status::New => "new",
                Status::Active => "active",
                Status::Off => "off",
                Status::Archive => "archive",
            },
            "kernel": null,
            "created_at": "2026-08-20T09:30:12Z",
            "features": ["droplet_agent", "private_networking"],
            "backup_ids": [],
            "next_backup_window": null,
            "snapshot_ids": [],
            "image": {
                "id": 194_905_137,
                "name": "24.04 (LTS) x64",
                "distribution": "Ubuntu",
                "slug": "ubuntu-24-04-x64",
                "public": true,
                "regions": ["ams3", "fra1", "nyc3", "sfo3"],
                "created_at": "2026-07-02T16:05:44Z",
                "min_disk_size": 7,
                "type": "base",
                "size_gigabytes": 0.68,
                "description": "Ubuntu 24.04 (LTS) x64",
                "tags": [],
                "status": "available",
            },
            "volume_ids": [],
            "size": {
                "slug": self.size_slug,
                "memory": memory,
                "vcpus": vcpus,
                "disk": disk,
                "transfer": 4.0,
                "price_monthly": 24.0,
                "price_hourly": 0.03571,
                "regions": [self.region],
                "available": true,
                "description": if self.gpu { "H100 GPU - 1X" } else { "Basic" },
                "disk_info": disk_info(disk),
            },
            "size_slug": self.size_slug,
            "networks": self.networks(),
            "region": region::object(&self.region),
            "tags": self.tags,
            "vpc_uuid": self.vpc_uuid(),
        });
        if self.gpu {
            let gpu = json!({ "count": 1, "vram": { "amount": 80, "unit": "gib" }, "model": "nvidia_h100" });
            object["size"]["gpu_info"] = gpu.clone();
            object["gpu_info"] = gpu;
        }
        for (name, value) in &self.fields {
            object[name] = value.clone();
        }
        object
    }

    /// Virtual CPUs, memory in MiB, disk in GiB, as the slug names them or as a small droplet has them.
    fn shape(&self) -> (u64, u64, u64) {
        let number = |part: Option<&str>, unit: &str| part.and_then(|it| it.strip_suffix(unit)?.parse::<u64>().ok());
        let mut parts = self.size_slug.split('-').skip(1);
        let vcpus = number(parts.next(), "vcpu").unwrap_or(2);
        let memory = number(parts.next(), "gb").unwrap_or(4);
        (vcpus, memory * 1024, memory * 20)
    }

    fn networks(&self) -> Value {
        let v4 = |address: &Ipv4Addr, kind: &str, mask: &str| {
            let [a, b, c, _] = address.octets();
            let gateway = Ipv4Addr::new(a, b, c, 1);
            json!({ "ip_address": address, "netmask": mask, "gateway": gateway, "type": kind })
        };
        let private = self.private_v4.iter().map(|it| v4(it, "private", "255.255.0.0"));
        let public = self.public_v4.iter().map(|it| v4(it, "public", "255.255.240.0"));
        let v6 = self.public_v6.iter().map(|address| {
            let [a, b, c, d, ..] = address.segments();
            let gateway = Ipv6Addr::new(a, b, c, d, 0, 0, 0, 1);
            json!({ "ip_address": address, "netmask": 64, "gateway": gateway, "type": "public" })
        });
        // The service lists the public address first; a client must not count on a place.
        json!({ "v4": public.chain(private).collect::<Vec<_>>(), "v6": v6.collect::<Vec<_>>() })
    }
}

fn disk_info(gibibytes: u64) -> Value {
    json!([{ "type": "local", "size": { "amount": gibibytes, "unit": "gib" } }])
}
