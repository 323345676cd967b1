//! Recordings of vendors' managers, each in its own format, read into one: steps with their requests, and what was left after each.

mod bodies;
mod operations;
mod proxied;
mod step;

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

pub use self::step::{VendorStep, by_name};

/// The format of a vendor's recordings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VendorFormat {
    /// A file holds a story with its steps, and a trace of each.
    OpenStack,
    /// A file is a step; a read is a line of text, a write has its body.
    Azure,
    /// As Azure's.
    Gcp,
    /// A file is a step, with whole requests and answers.
    Ibm,
    /// A file is a step; a request is an action with parameters.
    Alibaba,
}

/// The steps in a file. One that holds a whole simulated cloud (`state-….json`) has none.
///
/// # Errors
///
/// If it cannot be read, or has another format: the file and the place in it.
pub fn vendor_steps(format: VendorFormat, file: &Path) -> Result<Vec<VendorStep>> {
    let shown = || file.display().to_string();
    let value: Value = serde_json::from_str(&std::fs::read_to_string(file).with_context(shown)?).with_context(shown)?;
    let story = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if story.starts_with("state-") {
        return Ok(Vec::new());
    }
    let steps = match format {
        VendorFormat::OpenStack => proxied::steps(&story, &value),
        VendorFormat::Azure | VendorFormat::Gcp => bodies::steps(&story, &value),
        VendorFormat::Ibm => operations::steps(&story, &value, operations::request),
        VendorFormat::Alibaba => operations::steps(&story, &value, operations::action),
    };
    steps.with_context(shown)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ALL: [(VendorFormat, &str); 5] = [
        (VendorFormat::OpenStack, "openstack"),
        (VendorFormat::Azure, "azure"),
        (VendorFormat::Gcp, "gcp"),
        (VendorFormat::Ibm, "ibm"),
        (VendorFormat::Alibaba, "alibaba"),
    ];
    /// Files about clients or single answers, and no step of a manager.
    const OTHERS: [&str; 3] = ["api.json", "auth.json", "sdk.json"];

    fn read(format: VendorFormat, folder: &Path, steps: &mut Vec<VendorStep>) {
        let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                read(format, &path, steps);
            } else if name.ends_with(".json") && !OTHERS.contains(&name.as_str()) {
                steps.extend(vendor_steps(format, &path).unwrap_or_else(|error| panic!("{error:#}")));
            }
        }
    }

    /// `VENDOR_RECORDINGS` is a folder with further recordings, in folders with the names of the clouds.
    #[test]
    fn all_recordings_of_vendors_are_read() {
        #[expect(clippy::disallowed_methods, reason = "a person names recordings that are not in the repository")]
        let further = std::env::var_os("VENDOR_RECORDINGS");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
        for root in std::iter::once(own).chain(further.map(Into::into)) {
            for (format, cloud) in ALL {
                let (folder, mut steps) = (root.join(cloud), Vec::new());
                if !folder.is_dir() {
                    continue;
                }
                read(format, &folder, &mut steps);
                let requests: usize = steps.iter().map(|it| it.exchanges.len()).sum();
                println!("{cloud}: {} steps, {requests} requests", steps.len());
                assert!(steps.len() > 20, "{cloud} has {} steps", steps.len());
                assert!(requests > 0, "{cloud} has no requests");
                assert!(steps.iter().any(|it| it.state.asked.writes() > 0), "{cloud}: nothing writes");
                let services = |it: &VendorStep| it.state.seen["services"].as_object().is_some_and(|it| !it.is_empty());
                assert!(steps.iter().any(services), "{cloud}: no Service");
            }
        }
    }

    #[test]
    fn a_story_of_openstack_has_requests_and_objects() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/openstack/services/basic.json");
        let steps = vendor_steps(VendorFormat::OpenStack, &file).unwrap();
        let create = &steps[0];
        assert_eq!(
            (create.story.as_str(), create.name.as_str(), create.result.as_deref()),
            ("basic", "create", Some("ensured"))
        );
        assert_eq!((create.state.asked.reads(), create.state.asked.writes()), (29, 2));
        let first = &create.exchanges[0];
        assert_eq!(first.line(), "GET /v2.0/ports?device_id=<server node-1>");
        assert_eq!(
            create.state.seen["services"]["basic"]["finalizers"][0],
            "service.kubernetes.io/load-balancer-cleanup"
        );
        let balancer = &create.state.seen["cloud"]["loadbalancers"]["kube_service_prod_default_basic"];
        let members = &balancer["listeners"]["listener_0_kube_service_prod_default_basic"]["default_pool"]["members"];
        assert_eq!(members["node-1 10.6.0.11:30080"]["weight"], 1, "{members}");
    }

    #[test]
    fn lines_and_bodies_of_azure_and_google_are_requests() {
        let step = json!({
            "part": "external", "step": "create", "reads": 1, "writes": 1,
            "requests": [
                "GET /msi/token {\"resource\": \"https://a/\"} -> 200",
                { "ask": "PUT RG/x", "api-version": "2025-05-01", "status": 201, "body": { "set": {} } },
            ],
            "cloud": {}, "services": [{ "name": "web" }], "nodes": [], "events": [],
        });
        let steps = bodies::steps("external-create", &step).unwrap();
        let [read, write] = steps[0].exchanges.as_slice() else { panic!("{steps:?}") };
        assert_eq!((read.line().as_str(), read.status), ("GET /msi/token?resource=https://a/", Some(200)));
        assert!(!read.writes && write.writes && write.body.is_some(), "{write:?}");
        assert_eq!((steps[0].state.asked.reads(), steps[0].state.asked.writes()), (1, 1));
        assert_eq!(steps[0].state.seen["services"]["web"], json!({ "name": "web" }));
    }

    #[test]
    fn requests_and_actions_of_ibm_and_alibaba_are_requests() {
        let left = json!({ "svc/web": { "status": {} }, "node/n1": { "spec": {} } });
        let ibm = json!({
            "step": "start", "events": [], "left": left,
            "requests": [{ "method": "GET", "path": "/v1/subnets", "query": { "limit": "50" }, "status": 200, "answer": {} }],
        });
        let steps = operations::steps("01-start", &ibm, operations::request).unwrap();
        assert_eq!(steps[0].exchanges[0].line(), "GET /v1/subnets?limit=50");
        assert_eq!(steps[0].state.seen["services"]["web"], json!({ "status": {} }));
        assert_eq!(steps[0].state.seen["nodes"]["n1"], json!({ "spec": {} }));
        let alibaba = json!({
            "step": "create", "events": [], "left": {}, "cloud": {},
            "requests": [
                { "api": "slb", "version": "1", "action": "CreateLoadBalancer", "params": { "RegionId": "r" }, "in": "query", "scheme": "rpc",
                  "status": 200, "answer": {} },
                { "api": "slb", "version": "1", "action": "DescribeTags", "params": {}, "in": "form", "scheme": "acs3", "status": 200,
                  "answer": {} },
            ],
        });
        let steps = operations::steps("04-create", &alibaba, operations::action).unwrap();
        assert_eq!((steps[0].state.asked.reads(), steps[0].state.asked.writes()), (1, 1));
        assert!(steps[0].state.asked.actions.contains_key("slb CreateLoadBalancer"));
    }
}
