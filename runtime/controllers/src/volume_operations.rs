//! Operations on volumes, timed as CSI's sidecars time their calls of a driver: `csi_sidecar_operations_seconds`.
//!
//! A sidecar waits within one call until the cloud is done. Here an operation is several calls of the provider, each of which says that it is pending,
//! done or refused: its time is that from the first of them to the one that is not pending.

mod begun;
mod codes;
mod method;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{CloudVolumes, Error as CloudError, Reply};
use parking_lot::Mutex;
use tokio::time::Instant;

use self::begun::BegunOperations;
pub(crate) use self::codes::CsiAnswer;
pub(crate) use self::method::CsiMethod;
use crate::metrics::VolumeMetrics;

/// How often it is said for how long the cloud has been at work.
const TICK: Duration = Duration::from_secs(10);

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VolumeOperation<'a> {
    pub(crate) method: CsiMethod,
    /// The object that it is about, by a name that no other one has meanwhile.
    pub(crate) object: &'a str,
    /// Whether claim or volume are of an in-tree plugin, which the driver serves.
    pub(crate) is_migrated: bool,
}

/// The operations of one controller.
pub(crate) struct VolumeOperations {
    cloud: Arc<dyn CloudVolumes>,
    metrics: VolumeMetrics,
    methods: &'static [CsiMethod],
    begun: Mutex<BegunOperations>,
}

impl VolumeOperations {
    /// Those of a controller that makes these calls, which no other one makes.
    pub(crate) fn new(cloud: Arc<dyn CloudVolumes>, metrics: VolumeMetrics, methods: &'static [CsiMethod]) -> Self {
        Self { cloud, metrics, methods, begun: Mutex::default() }
    }

    /// The answer of one call of an operation, which may be its last.
    pub(crate) async fn timed<T: CsiAnswer>(
        &self,
        operation: VolumeOperation<'_>,
        call: impl Future<Output = Reply<Result<T, CloudError>>>,
    ) -> Reply<Result<T, CloudError>> {
        let VolumeOperation { method, object, is_migrated } = operation;
        let since = self.begun.lock().begin(method, object, Instant::now());
        let reply = call.await;
        if let Some(code) = codes::code(&reply.answer) {
            self.begun.lock().end(method, object);
            let described = self.cloud.description();
            self.metrics.operation(&described.driver, method.name(), code, is_migrated, since.elapsed());
        }
        reply
    }

    /// Operations that were begun about an object are not continued.
    pub(crate) fn forget(&self, object: &str) {
        let mut begun = self.begun.lock();
        self.methods.iter().for_each(|it| begun.end(*it, object));
    }

    /// Says from time to time for how long the cloud has been at work on what it has been at work on longest.
    pub(crate) async fn follow(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            let now = Instant::now();
            let mut begun = self.begun.lock();
            begun.tidy(now);
            for method in self.methods {
                self.metrics.longest_pending(method.name(), begun.longest(*method, now));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::{PendingVolume, VolumeDetachment};
    use prometheus::Registry;
    use scripted_cloud::ScriptedCloud;

    use super::*;

    fn operations(registry: &Registry) -> VolumeOperations {
        let script = ScriptedCloud::default();
        let described = cloud_provider::VolumeDescription { driver: "d".to_owned(), ..Default::default() };
        script.describes_claimed_volumes(described);
        VolumeOperations::new(
            Arc::new(script),
            VolumeMetrics::register(registry).unwrap(),
            &[CsiMethod::Attach, CsiMethod::Detach],
        )
    }

    /// The series of a family: labels in their order, and how many were observed for how many seconds.
    fn observed(registry: &Registry) -> Vec<(String, u64, f64)> {
        let family = registry.gather().into_iter().find(|it| it.name() == "csi_sidecar_operations_seconds");
        let series = |metric: &prometheus::proto::Metric| {
            let labels: Vec<_> = metric.get_label().iter().map(|it| format!("{}={}", it.name(), it.value())).collect();
            let histogram = metric.get_histogram();
            (labels.join(","), histogram.get_sample_count(), histogram.get_sample_sum().round())
        };
        family.iter().flat_map(|it| it.get_metric().iter().map(series)).collect()
    }

    /// Cases: csi 77
    #[tokio::test(start_paused = true)]
    async fn an_operation_lasts_from_its_first_call_to_its_end() {
        let registry = Registry::new();
        let all = operations(&registry);
        let one = VolumeOperation { method: CsiMethod::Detach, object: "a", is_migrated: false };
        let pending = VolumeDetachment::Pending(PendingVolume {
            memo: None,
            after: Duration::from_secs(2),
            reason: "busy".to_owned(),
        });
        let call = |it: VolumeDetachment| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Reply::from(Ok(it))
        };
        all.timed(one, call(pending)).await;
        assert_eq!(observed(&registry), [], "it goes on");
        tokio::time::sleep(Duration::from_secs(2)).await;
        all.timed(one, call(VolumeDetachment::Done)).await;
        let labels =
            "driver_name=d,grpc_status_code=OK,method_name=/csi.v1.Controller/ControllerUnpublishVolume,migrated=false";
        assert_eq!(observed(&registry), [(labels.to_owned(), 1, 4.0)]);
        all.timed(VolumeOperation { is_migrated: true, ..one }, call(VolumeDetachment::Done)).await;
        let migrated = labels.replace("migrated=false", "migrated=true");
        assert_eq!(observed(&registry), [(labels.to_owned(), 1, 4.0), (migrated, 1, 1.0)], "another one");
    }
}
