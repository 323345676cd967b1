//! Annotations of a Service: source ranges in the annotation of old, and keys that nobody knows.

use serde_json::{Value, json};
use tests::control_plane::cluster;

use crate::cloud::{Cloud, SIZE, SOURCE_RANGES};
use crate::controller::{Controller, addressed, called, create, events, one, patch, resize, service, settled, told};

/// A patch of one annotation.
fn annotated(key: &str, value: &str) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

#[tokio::test]
async fn source_ranges_of_the_annotation_reach_the_provider() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    let mut limited = service("s1");
    limited.metadata.annotations = Some([(SOURCE_RANGES.to_owned(), " 192.168.0.0/16 , 10.0.0.0/8".to_owned())].into());
    create(&cluster, &limited).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    patch(&cluster, "s1", annotated(SOURCE_RANGES, "10.0.0.0/9")).await;
    called(&cloud, "s1", 2).await;
    patch(&cluster, "s1", json!({ "spec": { "loadBalancerSourceRanges": ["172.16.0.0/12"] } })).await;
    called(&cloud, "s1", 3).await;
    let ranges: Vec<_> = cloud.about("s1").into_iter().map(|it| it.desired.source_ranges).collect();
    let expected = [vec!["10.0.0.0/8", "192.168.0.0/16"], vec!["10.0.0.0/9"], vec!["172.16.0.0/12"]];
    assert_eq!(ranges, expected, "spec.loadBalancerSourceRanges counts first");
}

#[tokio::test]
async fn nonsense_in_the_annotation_of_source_ranges_is_told() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    // The API server looks at the annotation when it changes, and only where the spec has no ranges.
    let mut limited = service("s1");
    limited.metadata.annotations = Some([(SOURCE_RANGES.to_owned(), "10.0.0.0/8,nonsense".to_owned())].into());
    limited.spec.as_mut().unwrap().load_balancer_source_ranges = Some(vec!["10.0.0.0/8".to_owned()]);
    create(&cluster, &limited).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    patch(&cluster, "s1", json!({ "spec": { "loadBalancerSourceRanges": null } })).await;
    let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let failed = events.iter().find(|it| it.contains(" SyncLoadBalancerFailed: ")).unwrap();
    assert!(failed.contains(SOURCE_RANGES) && failed.contains("\"nonsense\""), "{failed}");
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1, "the cloud is not asked");
}

#[tokio::test]
async fn an_annotation_that_nobody_knows_is_told_once() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    let mut misspelt = service("s1");
    misspelt.metadata.annotations = Some([("example.com/sise".to_owned(), "2".to_owned())].into());
    create(&cluster, &misspelt).await;
    let first = told(&cluster, "s1", "UnknownAnnotation", 1).await;
    let warning = first.iter().find(|it| it.contains("UnknownAnnotation")).unwrap();
    assert!(warning.starts_with("Warning ") && warning.contains("\"example.com/sise\""), "{warning}");
    assert!(warning.contains(&format!("did you mean {SIZE:?}")), "{warning}");
    for size in ["2", "3"] {
        resize(&cluster, "s1", size).await;
    }
    patch(&cluster, "s1", json!({ "metadata": { "labels": { "any": "label" } } })).await;
    settled(&cluster).await;
    let unknown = |events: &[String]| events.iter().filter(|it| it.contains("UnknownAnnotation")).count();
    assert_eq!(unknown(&events(&cluster, "s1")), 1, "one for each set of keys");

    // It is told also where nothing else has to be done.
    patch(&cluster, "s1", annotated("example.com/idd", "2")).await;
    let second = told(&cluster, "s1", "UnknownAnnotation", 2).await;
    assert!(second.last().unwrap().contains("example.com/idd"), "{second:#?}");
}
