//! Services while Nova or Octavia stand still.

use std::time::Instant;

use serde_json::json;

use crate::setup::{Site, play, port};

/// Cases: openstack 43, openstack 49
#[test]
fn openstack_043_a_creation_that_hangs_holds_up_no_other() {
    play(async |cloud| {
        let site = Site::new(cloud, "hang").await;
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        site.create("quick", json!([port(80)]), &json!({})).await;
        site.address("quick", "").await;
        let balancer = site.active("quick").await;

        cloud.stop_compute();
        site.create("slow", json!([port(80)]), &json!({})).await;
        site.eventually("PENDING_CREATE", async || {
            let all = site.balancers("slow").await;
            all.first().filter(|it| it["provisioning_status"] == "PENDING_CREATE").map(|_| ())
        })
        .await;
        let begun = Instant::now();
        site.change("quick", &json!({ "spec": { "loadBalancerSourceRanges": ["192.0.2.0/24"] } })).await;
        site.eventually("source ranges of another", async || {
            let listeners = site.parts(&balancer, "listeners").await;
            (listeners[0]["allowed_cidrs"] == json!(["192.0.2.0/24"])).then_some(())
        })
        .await;
        eprintln!("    figure: another is served {:.1} s after one hangs", begun.elapsed().as_secs_f64());
        assert_eq!(site.balancers("slow").await[0]["provisioning_status"], "PENDING_CREATE");
        cloud.resume_compute();
        site.address("slow", "").await;

        cloud.stop_worker();
        site.change("slow", &json!({ "spec": { "loadBalancerSourceRanges": ["192.0.2.0/24"] } })).await;
        site.eventually("PENDING_UPDATE", async || {
            let all = site.balancers("slow").await;
            all.first().filter(|it| it["provisioning_status"] == "PENDING_UPDATE").map(|_| ())
        })
        .await;
        site.services().delete("slow", &kube::api::DeleteParams::default()).await.unwrap();
        cloud.resume_worker();
        site.eventually("the Service goes", async || {
            site.services().get_opt("slow").await.unwrap().is_none().then_some(())
        })
        .await;
        assert!(site.floating("slow").await.is_empty());
        site.delete("quick").await;
        process.stop().await;
    });
}
