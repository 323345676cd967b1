//! The way back: aerostat makes load balancers, and Google's own package finds them.

use std::time::Duration;

use tests::beside::{Asked, differences};
use tests::gcp_vendor::story::{EXTERNAL, GcpChange, GcpStep, INTERNAL, part};
use tests::gcp_vendor::{GcpStage, known};
use tests::manager::Who;

/// How long nothing is asked once the package has come to rest: it tries again what failed after five seconds.
const QUIET: Duration = Duration::from_secs(10);

/// Differences from what is meant to be.
pub(crate) async fn all() -> Vec<String> {
    let (mut wrong, internal) = tokio::join!(one("external", part(EXTERNAL)), one("internal", part(INTERNAL)));
    wrong.extend(internal);
    wrong
}

/// The package takes over what aerostat made for a part's Services, and writes no more than an address of each, which it reserves and lets
/// go. Then it deletes them, and nothing is left.
async fn one(name: &str, steps: Vec<GcpStep>) -> Vec<String> {
    let stage = GcpStage::new().await;
    let making: Vec<GcpStep> = steps.into_iter().filter(|it| it.change == GcpChange::Make).collect();
    let _compared_before = stage.played(&making, &known::TABLE, |_| {}).await;
    let (made, before) = (stage.served().await, stage.objects());
    let mut begun = stage.cloud.requests().len();
    stage.start_as(Who::Vendor).await;
    stage.rests(begun, QUIET).await;
    let asked = stage.asked(begun);
    println!("{name}: {} load balancers, {} reads, {} writes", made.len(), asked.reads(), asked.writes());
    let mut wrong: Vec<String> =
        asked.writes_beside(&held(&stage, &made)).iter().map(|it| format!("{} × {}", it.1, it.0)).collect();
    wrong.extend(differences(&before, &stage.objects()).iter().map(ToString::to_string));
    if stage.served().await != made {
        wrong.push("Services have other addresses".to_owned());
    }

    begun = stage.cloud.requests().len();
    stage.delete_all().await;
    stage.rests(begun, QUIET).await;
    let left = stage.objects();
    wrong.extend(left.as_object().into_iter().flatten().map(|(path, _)| format!("{path} is left")));
    if !wrong.is_empty() {
        wrong.push(stage.log_tail().await);
    }
    stage.end().await;
    wrong.into_iter().map(|it| format!("the way back, {name}: {it}")).collect()
}

/// The two writes of each Service at each start of the package.
fn held(stage: &GcpStage, services: &[(String, String)]) -> Asked {
    let addresses = stage.addresses_path();
    let of = |(name, _): &(String, String)| {
        [(format!("POST {addresses}"), true), (format!("DELETE {addresses}/LB({name})"), true)]
    };
    Asked::of(services.iter().flat_map(of))
}
