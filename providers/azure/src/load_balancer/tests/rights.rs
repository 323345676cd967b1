//! Requests that a role at a resource group does not cover.

use super::*;
use crate::tests::SUBSCRIPTION;

#[test]
fn an_address_is_made_without_zones_that_nobody_may_ask_for() {
    let stage = BalancerStage::new();
    let asked = format!("GET /subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute");
    stage.cloud.borrow_mut().refusals.push((asked, 403, "AuthorizationFailed", 9));
    stage.ready(service());
    let cloud = stage.cloud.borrow();
    let publics: Vec<_> = cloud.objects.iter().filter(|(id, _)| id.contains("/publicipaddresses/")).collect();
    let [(_, public)] = &publics[..] else { panic!("{publics:#?}") };
    assert_eq!(public.get("zones"), None, "{public}");
    let told: Vec<_> = stage.host.log().into_iter().filter(|it| it.contains("setting zones")).collect();
    let [told] = &told[..] else { panic!("it is told once: {told:#?}") };
    assert!(told.contains("AuthorizationFailed"), "{told}");
}
