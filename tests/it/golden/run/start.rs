//! Starting aerostat as a recording says.

use std::path::Path;
use std::time::Duration;

use aerostat::{Overrides, RunSettings};
use anyhow::{Result, bail};
use tests::audit_log::Request;
use tests::guests::{SCRIPTED, SCRIPTED_NETWORK};
use tests::operator::PATIENCE;
use tests::wait;
use tokio::sync::oneshot;

use super::{INSTANCES, LOAD_BALANCERS, Play, cloud};

/// Upstream deletes every node and every route at once.
const AS_UPSTREAM: [&str; 5] = [
    "--node-deletion-warm-up=0s",
    "--node-deletion-grace-period=0s",
    "--node-deletion-budget=100",
    "--route-deletion-warm-up=0s",
    "--route-deletion-budget=100",
];

/// Upstream's defaults, where ours are others: they count unless the recording has these flags.
const UPSTREAMS_DEFAULTS: [&str; 2] = ["--concurrent-node-syncs=1", "--concurrent-service-syncs=1"];

/// The pause after a failed call, in seconds, so that it is upstream's at its longest: ours is lengthened by up to a tenth.
const FIRST_PAUSE: f64 = 5.0 / 1.1;

impl Play<'_> {
    /// Starts aerostat, and waits until it works.
    pub(super) async fn start(&mut self) -> Result<()> {
        let settings = RunSettings::parse(self.arguments()?)?;
        let overrides = Overrides { client: Some(self.cluster.faulty(&self.faults)), ..Overrides::default() };
        let (shutdown, asked) = oneshot::channel::<()>();
        self.shutdown = Some(shutdown);
        self.aerostat.spawn(async move {
            // An error means that the sender is gone, which is a request to stop, too.
            let asked = async { drop(asked.await) };
            Ok(aerostat::run(settings, overrides, asked).await?)
        });
        let has = |part: &str| self.has(part);
        let services = has(LOAD_BALANCERS) && self.scenario.given.iter().any(|it| it.object["kind"] == "Service");
        let watches = [("nodes", has(INSTANCES)), ("services", services)];
        let watches: Vec<_> = watches.into_iter().filter(|(_, needed)| *needed).map(|(name, _)| name).collect();
        let mut ended = None;
        let working = wait::within(PATIENCE, async || {
            ended = self.aerostat.try_join_next();
            (ended.is_some() || self.works(&watches).unwrap_or_default()).then_some(())
        });
        match (working.await, ended) {
            (Some(()), None) => Ok(()),
            (None, None) => bail!("aerostat does not begin"),
            (_, Some(end)) => bail!("aerostat ended at once: {end:?}"),
        }
    }

    /// Whether aerostat has begun: it watches all of these, and has asked for anything at all.
    fn works(&self, watches: &[&str]) -> Result<bool> {
        let mut started = self.cluster.audit().started()?;
        started.retain(Request::is_aerostats);
        let watched = |resource: &str| started.iter().any(|it| it.verb == "watch" && it.object.resource == resource);
        Ok(!started.is_empty() && watches.iter().all(|it| watched(it)))
    }

    /// The command line. What it names is written.
    fn arguments(&self) -> Result<Vec<String>> {
        let folder = self.cluster.control_plane.folder();
        let config = folder.join("golden-cloud-config.yaml");
        let has = |part: &str| self.has(part);
        let module = match (has(INSTANCES), has(LOAD_BALANCERS)) {
            _ if self.scenario.has_routes() => SCRIPTED_NETWORK.into(),
            (false, false) => cloud::only_described(folder)?,
            _ => SCRIPTED.into(),
        };
        let annotations = cloud::annotations(self.scenario)?;
        std::fs::write(&config, cloud::config(&self.script.base_url(), &module, &annotations).to_string())?;
        let mut arguments = vec!["aerostat".to_owned()];
        // What the module can do although the recorded cloud could not. The first word about a controller counts.
        if module == Path::new(SCRIPTED) {
            let nodes = ["cloud-node-controller", "cloud-node-lifecycle-controller"];
            let nodes = nodes.iter().filter(|_| !has(INSTANCES));
            let services = ["service-lb-controller"].iter().filter(|_| !has(LOAD_BALANCERS)).chain(nodes);
            arguments.extend(services.map(|it| format!("--controllers=-{it}")));
            if !self.scenario.flags.iter().any(|flag| flag.starts_with("--controllers=")) {
                arguments.push("--controllers=*".to_owned());
            }
        }
        // The module without either has a name of its own.
        let is_named = module == Path::new(SCRIPTED) || module == Path::new(SCRIPTED_NETWORK);
        let fits = |flag: &&String| is_named || !flag.starts_with("--cloud-provider=");
        // Of several mentions of a flag the last one counts.
        arguments.extend(UPSTREAMS_DEFAULTS.map(str::to_owned));
        arguments.extend(self.scenario.flags.iter().filter(fits).cloned());
        arguments.extend(AS_UPSTREAM.map(str::to_owned));
        let pause = Duration::try_from_secs_f64(FIRST_PAUSE / self.pace)?;
        arguments.push(format!("--service-retry-base-delay={}ms", pause.as_millis()));
        arguments.push("--secure-port=0".to_owned());
        arguments.push(format!("--cloud-config={}", config.display()));
        arguments.push(format!("--kubeconfig={}", self.cluster.kubeconfig.display()));
        Ok(arguments)
    }

    /// Whether the recorded cloud had this part.
    fn has(&self, part: &str) -> bool {
        !self.scenario.cloud_without.iter().any(|it| it == part)
    }
}
