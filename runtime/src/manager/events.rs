//! Events on the Lease. Without leader election the log has to do.

use ::controllers::{EventKind, Recorder};
use egress::{Report, Unreached};
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::sync::{mpsc, watch};

use crate::failure::Failure;

/// Reports a quarantine of this provider, and what people should know of the egress, until it is `stopped`.
pub(super) async fn on_the_lease(
    quarantined: watch::Receiver<Option<String>>,
    provider: String,
    told: mpsc::UnboundedReceiver<Report>,
    recorder: Recorder,
    about: ObjectReference,
    stopped: impl Future<Output = ()> + Send,
) -> Result<&'static str, Failure> {
    let quarantine = quarantine(quarantined, provider, recorder.clone(), about.clone());
    tokio::select! {
        () = stopped => {}
        () = async { tokio::join!(quarantine, reports(told, recorder, about)); } => {}
    }
    Ok("the reports on the Lease")
}

/// Reports a quarantine, as long as it is polled.
async fn quarantine(
    mut quarantine: watch::Receiver<Option<String>>,
    provider: String,
    recorder: Recorder,
    about: ObjectReference,
) {
    // An error means that the provider is gone, and with it the process.
    while quarantine.changed().await.is_ok() {
        let because = quarantine.borrow_and_update().clone();
        if let Some(because) = because {
            let message = format!(
                "provider {provider} is {because}. Next step: name a sound version in provider.module of --cloud-config, by its \
                 digest: it takes the place of this one without a restart"
            );
            recorder.record(about.clone(), EventKind::Warning, "ProviderQuarantined", &message);
        }
    }
}

/// Reports what people should know of the egress: writes that are withheld, and endpoints that the provider has stopped or that
/// are not reached.
async fn reports(mut reports: mpsc::UnboundedReceiver<Report>, recorder: Recorder, about: ObjectReference) {
    while let Some(report) = reports.recv().await {
        let (reason, message) = match report {
            Report::WritesWithheld(message) => ("CloudWritesWithheld", message),
            Report::EndpointPaused(message) => ("EndpointPaused", message),
            Report::EndpointUnreachable(message) => ("EndpointUnreachable", message),
        };
        recorder.record(about.clone(), EventKind::Warning, reason, &message);
    }
    // Without endpoints there is nothing to report.
    std::future::pending::<()>().await;
}

/// The sentences about what is not reached; `None` if all is.
pub(super) fn outage(unreached: &[Unreached]) -> Option<String> {
    let sentences: Vec<_> = unreached.iter().map(|it| it.sentence.as_str()).collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}
