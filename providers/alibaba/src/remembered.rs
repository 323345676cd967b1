//! What calls remember behind the id of a load balancer, in its memo: `nlb-1 CreateListener:8f2c`. A load balancer that is ready has the id alone.

use std::time::Duration;

use aerostat_sdk::{Deletion, LoadBalancer, LoadBalancerStatus, PendingStatus, Progress, Result};

/// How long a deletion rests of which a part has failed.
const REST: Duration = Duration::from_secs(5);

/// The words behind an id.
pub(crate) trait MemoWords {
    /// The memo of the load balancer with this one.
    fn memo(&self, id: String) -> String;
}

/// Apart from the words, so that a module has each of them once.
impl dyn MemoWords + '_ {
    /// A status whose memo has the words, too.
    fn status(&self, status: LoadBalancerStatus) -> LoadBalancerStatus {
        let memo = status.memo.map(|it| self.memo(it));
        LoadBalancerStatus { memo, ..status }
    }

    /// The answer of a call about `desired`, with which the host keeps the words also where it is an error. `service` has the bare id.
    pub(crate) fn with_progress(
        &self,
        answer: Result<Progress>,
        desired: &LoadBalancer,
        service: &LoadBalancer,
    ) -> Result<Progress> {
        match answer {
            Ok(Progress::Pending(it)) => Ok(Progress::Pending(PendingStatus { status: self.status(it.status), ..it })),
            Ok(other) => Ok(other),
            Err(error) => {
                let status = self.status(service.status());
                if status.memo == desired.memo { Err(error) } else { Ok(Progress::failed(status, error)) }
            }
        }
    }

    /// The same of a deletion.
    pub(crate) fn with_deletion(
        &self,
        answer: Result<Deletion>,
        unwanted: &LoadBalancer,
        service: &LoadBalancer,
    ) -> Result<Deletion> {
        match answer {
            Ok(Deletion::Pending(it)) => Ok(Deletion::Pending(PendingStatus { status: self.status(it.status), ..it })),
            Ok(other) => Ok(other),
            Err(error) => {
                let status = self.status(service.status());
                if status.memo == unwanted.memo { Err(error) } else { Ok(Deletion::pending(status, REST, error.why())) }
            }
        }
    }
}
