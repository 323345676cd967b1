//! Services for which another controller was named while they lived.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;

use crate::events::EventKind;
use crate::object::UpdateRefusal;
use crate::service::error::Error;
use crate::service::plan::is_anothers;
use crate::service::state::{NextStep, ServiceState};
use crate::service::status;
use crate::service::syncer::Syncer;

impl Syncer {
    /// Leaves a Service to the controller that was named for it: the memo goes, and nothing else is touched.
    pub(super) async fn leave(&self, key: &str, service: Arc<Service>) -> Result<NextStep, Error> {
        let memo = status::memo(&service).map(|it| format!(", remembered as {it:?}")).unwrap_or_default();
        let plan = |(): &mut (), it: &Service| match is_anothers(it, &self.shared.cluster) {
            true => Ok(status::forgotten(it)),
            false => Err(UpdateRefusal::Plan(())),
        };
        let then = |(): &mut (), state: &mut ServiceState, written: &Result<Option<Arc<Service>>, _>| {
            if let Ok(Some(written)) = written {
                state.end_deletion(Some(written));
            }
        };
        match self.update(key, service, &mut (), plan, then).await.0 {
            Ok(Some(written)) => {
                let message = format!(
                    "another controller serves this Service now, by its loadBalancerClass: the load balancer that it had \
                     before{memo}, is not deleted. If it still exists, delete it in the cloud"
                );
                self.shared.record(&written, EventKind::Warning, "LoadBalancerNotDeleted", &message);
                Ok(NextStep::Done)
            }
            // The Service is gone, and its load balancer was not ours to delete any more.
            Ok(None) => Ok(NextStep::Forget),
            Err(UpdateRefusal::Api(error)) => Err(Error::Status(error)),
            // It is not the other controller's any more.
            Err(UpdateRefusal::Plan(())) => Ok(NextStep::Again),
        }
    }
}
