//! Services for which another controller was named while they lived.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;

use crate::events::EventKind;
use crate::object::{Part, Refusal, update_latest};
use crate::service::Controller;
use crate::service::error::Error;
use crate::service::plan::{Plan, plan};
use crate::service::state::NextStep;
use crate::service::status;
use crate::worker::random;

impl Controller {
    /// Leaves a Service to the controller that was named for it: the memo goes, and nothing else is touched.
    pub(super) async fn leave(&self, key: &str, service: Arc<Service>) -> Result<NextStep, Error> {
        let uid = service.metadata.uid.clone();
        let memo = status::memo(&service).map(|it| format!(", remembered as {it:?}")).unwrap_or_default();
        let plan = |it: &Service| match plan(it, true, &self.cluster) {
            Ok(Plan::Forget) => Ok(status::forgotten(it)),
            // It is not the other controller's any more.
            Ok(Plan::Ignore | Plan::Delete(_) | Plan::Ensure(_)) | Err(_) => Err(Refusal::Plan(())),
        };
        let latest = || self.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.api(&service), Part::StatusAndMetadata);
        match update_latest(&api, service, part, plan, latest, random).await {
            Ok(Some(written)) => {
                {
                    let mut states = self.states();
                    let entry = states.of(key, &written, Instant::now());
                    entry.end_deletion();
                    entry.wrote(&written);
                }
                let message = format!(
                    "another controller serves this Service now, by its loadBalancerClass: the load balancer that it had \
                     before{memo}, is not deleted. If it still exists, delete it in the cloud"
                );
                self.record(&written, EventKind::Warning, "LoadBalancerNotDeleted", &message);
                Ok(NextStep::Done)
            }
            Ok(None) => Ok(self.forget_left(key)),
            Err(Refusal::Api(error)) if error.is_gone() => Ok(self.forget_left(key)),
            Err(Refusal::Api(error)) => Err(Error::Status(error)),
            Err(Refusal::Plan(())) => Ok(NextStep::Again),
        }
    }

    /// The Service is gone, and its load balancer was not ours to delete any more.
    fn forget_left(&self, key: &str) -> NextStep {
        self.states().forget(key);
        NextStep::Done
    }
}
