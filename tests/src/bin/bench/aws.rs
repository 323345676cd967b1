//! AWS: moto's server behind our proxy, with an instance for each node. Requests count here, and not time, which is that server's.

pub(crate) mod balancers;
pub(crate) mod nodes;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tests::aws_vendor::{Places, VendorCommand};
use tests::clouds::aws::{Options, Service, Simulator};
use tests::guests;
use tests::simulator::Recorded;
use tests::vendor::aws::{CLUSTER, credential, endpoints, instance, key, settings};

use crate::account::{Account, Config};
use crate::cloud::{LATENCY, name};
use crate::contender::{Contender, Flags, aerostat, vendor};

/// The columns of each table. The vendor's is cloud-provider-aws, which `make cloud-provider-aws` builds.
pub(crate) const CONTENDERS: [Contender; 2] = [aerostat(Flags::Default), vendor(Flags::Default)];

/// More than any row needs. By default, a group has 60 rules, and an account 50 load balancers: an operator asks for more.
const QUOTA: usize = 100_000;

/// An account with an instance for each node, each a reservation of its own, as when machines are started one by one.
pub(crate) async fn simulator(nodes: usize) -> Result<Simulator> {
    let cloud = Simulator::start(Options { latency: LATENCY, ..Options::default() }).await?;
    // What an operator has before the first machine.
    let _: Value = settings(&cloud);
    cloud.behave(&json!({ "rules_per_group": QUOTA, "load_balancers": QUOTA }));
    for number in 0..nodes {
        let id = instance(1 + number as u64);
        cloud.moto().order("machine", &json!({ "id": id, "name": name(number), "cluster": CLUSTER }));
    }
    Ok(cloud)
}

/// Whether a request changes something.
pub(crate) fn writes(request: &Recorded) -> bool {
    !request.path.contains("/Describe")
}

impl Account for Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn page(&self) -> &'static str {
        "aws/README.md"
    }

    fn arguments(&self) -> Result<Vec<String>> {
        bail!("the baseline does not know AWS")
    }

    fn vendor(&self, folder: &Path) -> Result<Command> {
        let places: Places = serde_json::from_value(self.moto().order("prepare", &json!({ "cluster": CLUSTER })))?;
        let vendor = VendorCommand::new(self, &places, &folder.join("aws.conf"), false);
        let mut command = Command::new(vendor.program);
        command.args(vendor.arguments).arg("--configure-cloud-routes=false").envs(vendor.environment);
        Ok(command)
    }

    fn config(&self, folder: &Path) -> Result<Config> {
        let file = folder.join("aws-credentials");
        std::fs::write(&file, key(self).shared_file())?;
        Ok(Config {
            provider: json!({
                "module": { "file": { "path": guests::AWS, "sha256": guests::sha256(guests::AWS) } },
                "settings": settings(self),
            }),
            endpoints: endpoints(self, &[Service::Ec2, Service::Elbv2, Service::Elb]),
            credential: credential(&file),
        })
    }
}
