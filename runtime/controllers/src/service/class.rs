//! Services for which another controller was named while they lived.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;

use crate::events::EventKind;
use crate::object::{ObjectPart, UpdateRefusal, update_latest};
use crate::service::error::Error;
use crate::service::plan::is_anothers;
use crate::service::state::NextStep;
use crate::service::status;
use crate::service::syncer::Syncer;
use crate::worker::random;

impl Syncer {
    /// Leaves a Service to the controller that was named for it: the memo goes, and nothing else is touched.
    pub(super) async fn leave(&self, key: &str, service: Arc<Service>) -> Result<NextStep, Error> {
        let uid = service.metadata.uid.clone();
        let memo = status::memo(&service).map(|it| format!(", remembered as {it:?}")).unwrap_or_default();
        let plan = |it: &Service| match is_anothers(it, &self.shared.cluster) {
            true => Ok(status::forgotten(it)),
            false => Err(UpdateRefusal::Plan(())),
        };
        let latest = || self.shared.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.shared.api(&service), ObjectPart::StatusAndMetadata);
        match update_latest(&api, service, part, plan, latest, random).await {
            Ok(Some(written)) => {
                self.end_deletion(key, Some(&written));
                let message = format!(
                    "another controller serves this Service now, by its loadBalancerClass: the load balancer that it had \
                     before{memo}, is not deleted. If it still exists, delete it in the cloud"
                );
                self.shared.record(&written, EventKind::Warning, "LoadBalancerNotDeleted", &message);
                Ok(NextStep::Done)
            }
            // The Service is gone, and its load balancer was not ours to delete any more.
            Ok(None) => Ok(NextStep::Forget),
            Err(UpdateRefusal::Api(error)) if error.is_gone() => Ok(NextStep::Forget),
            Err(UpdateRefusal::Api(error)) => Err(Error::Status(error)),
            // It is not the other controller's any more.
            Err(UpdateRefusal::Plan(())) => Ok(NextStep::Again),
        }
    }
}
