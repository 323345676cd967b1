//! Rules of Compute Engine as tables: requests one after the other, each with the status and the reason that it gets.

use crate::asked::Asked;

/// The places of a cluster, in the words of requests.
const PLACES: [(&str, &str); 3] =
    [("@R", "regions/europe-west1"), ("@B", "zones/europe-west1-b"), ("@C", "zones/europe-west1-c")];

/// An external load balancer of node-1.
const EXTERNAL: &[&str] = &[
    r#"POST global/httpHealthChecks {"name":"hc"} → 200"#,
    r#"POST @R/targetPools {"name":"lb","healthChecks":["global/httpHealthChecks/hc"],"instances":["/@B/instances/node-1"]} → 200"#,
    r#"POST @R/forwardingRules {"name":"lb","target":"@R/targetPools/lb","portRange":"80-80"} → 200"#,
];

/// An internal one of node-1.
const INTERNAL: &[&str] = &[
    r#"POST @B/instanceGroups {"name":"ig"} → 200"#,
    r#"POST @B/instanceGroups/ig/addInstances {"instances":[{"instance":"@B/instances/node-1"}]} → 200"#,
    r#"POST global/healthChecks {"name":"hc","type":"HTTP"} → 200"#,
    r#"POST @R/backendServices {"name":"bs","protocol":"TCP","loadBalancingScheme":"INTERNAL","healthChecks":["global/healthChecks/hc"],"backends":[{"group":"@B/instanceGroups/ig"}]} → 200"#,
    r#"POST @R/forwardingRules {"name":"fr","backendService":"@R/backendServices/bs","loadBalancingScheme":"INTERNAL","ports":["80"],"IPAddress":"10.132.0.50"} → 200"#,
];

/// Plays the lines of each table in turn in projects of their own.
async fn play(tables: &[&[&str]]) {
    let asked = Asked::instant().await;
    for line in tables.iter().copied().flatten() {
        let mut line = (*line).to_owned();
        for (short, long) in PLACES {
            line = line.replace(short, long);
        }
        let (request, expected) = line.rsplit_once(" → ").unwrap();
        let (status, answer) = asked.line(request).await;
        assert_eq!(status, expected, "{request}: {answer}");
    }
}

#[tokio::test]
async fn a_resource_in_use_is_not_deleted() {
    play(&[
        EXTERNAL,
        INTERNAL,
        &[
            "DELETE @R/targetPools/lb → 400 resourceInUseByAnotherResource",
            "DELETE global/httpHealthChecks/hc → 400 resourceInUseByAnotherResource",
            "DELETE @B/instanceGroups/ig → 400 resourceInUseByAnotherResource",
            "DELETE global/healthChecks/hc → 400 resourceInUseByAnotherResource",
            "DELETE @R/backendServices/bs → 400 resourceInUseByAnotherResource",
            "DELETE global/networks/default → 400 resourceInUseByAnotherResource",
            "DELETE @R/subnetworks/default → 400 resourceInUseByAnotherResource",
            "DELETE @R/forwardingRules/fr → 200",
            "DELETE @R/backendServices/bs → 200",
            "DELETE @B/instanceGroups/ig → 200",
            "DELETE global/healthChecks/hc → 200",
            "DELETE @R/forwardingRules/lb → 200",
            "DELETE @R/targetPools/lb → 200",
            "DELETE global/httpHealthChecks/hc → 200",
            "DELETE global/httpHealthChecks/hc → 404 notFound",
        ],
    ])
    .await;
}

#[tokio::test]
async fn an_instance_is_in_one_load_balanced_group() {
    let second = r#"POST @R/backendServices {"name":"two","loadBalancingScheme":"INTERNAL","healthChecks":["global/healthChecks/hc"],"backends":[{"group":"@B/instanceGroups/ig2"}]}"#;
    play(&[
        INTERNAL,
        &[
            r#"POST @B/instanceGroups {"name":"ig2"} → 200"#,
            r#"POST @B/instanceGroups/ig2/addInstances {"instances":[{"instance":"@B/instances/node-1"}]} → 200"#,
            &format!("{second} → 400 instanceInMultipleLoadBalancedIgs"),
            r#"POST @B/instanceGroups/ig2/removeInstances {"instances":[{"instance":"@B/instances/node-1"}]} → 200"#,
            &format!("{second} → 200"),
            r#"POST @B/instanceGroups/ig2/addInstances {"instances":[{"instance":"@B/instances/node-1"}]} → 400 instanceInMultipleLoadBalancedIgs"#,
            r#"POST @B/instanceGroups/ig/addInstances {"instances":[{"instance":"@B/instances/node-1"}]} → 400 memberAlreadyExists"#,
            r#"POST @B/instanceGroups/ig2/removeInstances {"instances":[{"instance":"@B/instances/node-1"}]} → 400 memberNotFound"#,
            r#"POST @B/instanceGroups/ig/addInstances {"instances":[{"instance":"@C/instances/node-2"}]} → 400 invalid"#,
        ],
    ])
    .await;
}

#[tokio::test]
async fn names_and_references_are_checked() {
    let pool = |instances: usize| {
        let all = vec!["\"@B/instances/node-1\""; instances].join(",");
        format!(r#"POST @R/targetPools {{"name":"p","instances":[{all}]}}"#)
    };
    play(&[&[
        r#"POST global/httpHealthChecks {"name":"hc"} → 200"#,
        r#"POST global/httpHealthChecks {"name":"hc"} → 409 alreadyExists"#,
        r#"POST global/httpHealthChecks {"timeoutSec":1} → 400 required"#,
        r#"POST global/httpHealthChecks {"name":"x","timeoutSec":6} → 400 invalid"#,
        r#"POST @R/targetPools {"name":"p","healthChecks":["global/httpHealthChecks/none"]} → 400 invalid"#,
        r#"POST @R/targetPools {"name":"p","healthChecks":["https://evil.example/compute/v1/projects/p1/global/httpHealthChecks/hc"]} → 400 invalid"#,
        r#"POST @R/targetPools {"name":"p","healthChecks":["global/networks/default"]} → 400 invalid"#,
        &format!("{} → 400 invalid", pool(201)),
        &format!("{} → 200", pool(200)),
        "GET zones/mars-a/instances → 400 invalid",
        "GET global/firewalls/none → 404 notFound",
        r#"POST global/routes {"name":"r","network":"global/networks/default","destRange":"10.9.0.0/24"} → 400 invalid"#,
        r#"POST global/routes {"name":"r","network":"global/networks/default","destRange":"10.9.0.1/24","nextHopInstance":"@B/instances/node-1"} → 400 invalid"#,
        r#"POST global/routes {"name":"r","network":"global/networks/default","destRange":"10.9.0.0/24","nextHopInstance":"@B/instances/none"} → 400 invalid"#,
        r#"POST global/routes {"name":"r","network":"global/networks/default","destRange":"10.9.0.0/24","nextHopInstance":"@B/instances/node-1"} → 200"#,
        r#"POST global/firewalls {"name":"f","network":"global/networks/default"} → 400 invalid"#,
        r#"POST global/firewalls {"name":"f","allowed":[{"IPProtocol":"tcp"}],"sourceRanges":["10.0.0.0/33"]} → 400 invalid"#,
        r#"POST global/firewalls {"name":"f","allowed":[{"IPProtocol":"tcp"}]} → 200"#,
        r#"PATCH global/firewalls/f {"sourceRanges":["10.0.0.0/8"]} → 200"#,
        r#"PATCH global/firewalls/f {"direction":"EGRESS"} → 400 invalid"#,
    ]])
    .await;
}

#[tokio::test]
async fn an_address_serves_whom_it_fits() {
    let rule = |more: &str| {
        format!(
            r#"POST @R/forwardingRules {{"name":"second","target":"@R/targetPools/lb","portRange":"80-80",{more}}}"#
        )
    };
    play(&[
        EXTERNAL,
        &[
            &format!("{} → 400 invalid", rule(r#""IPAddress":"203.0.113.9""#)),
            &format!("{} → 400 invalid", rule(r#""IPAddress":"203.0.113.200","networkTier":"STANDARD""#)),
            r#"POST @R/addresses {"name":"lb","address":"203.0.113.11","networkTier":"STANDARD"} → 400 invalid"#,
            r#"POST @R/addresses {"name":"lb","address":"203.0.113.99"} → 400 invalid"#,
            // The address of a rule is kept when the rule goes.
            r#"POST @R/addresses {"name":"lb","address":"203.0.113.11"} → 200"#,
            r#"POST @R/addresses {"name":"again","address":"203.0.113.11"} → 400 invalid"#,
            &format!("{} → 400 invalid", rule(r#""IPAddress":"203.0.113.11""#)),
            "DELETE @R/forwardingRules/lb → 200",
            &format!("{} → 200", rule(r#""IPAddress":"203.0.113.11""#)),
            // The rule keeps it without the static address.
            "DELETE @R/addresses/lb → 200",
            r#"POST @R/addresses {"name":"in","addressType":"INTERNAL","address":"10.132.0.60"} → 200"#,
            r#"POST @R/addresses {"name":"out","addressType":"INTERNAL","address":"10.133.0.60"} → 400 invalid"#,
            r#"POST @R/addresses {"name":"machine","addressType":"INTERNAL","address":"10.132.0.2"} → 400 invalid"#,
        ],
    ])
    .await;
}

#[tokio::test]
async fn an_internal_rule_fits_its_service() {
    let rule = |more: &str| {
        format!(r#"POST @R/forwardingRules {{"name":"second","backendService":"@R/backendServices/bs",{more}}}"#)
    };
    play(&[
        INTERNAL,
        &[
            &format!("{} → 400 invalid", rule(r#""loadBalancingScheme":"INTERNAL","ports":["1","2","3","4","5","6"]"#)),
            &format!("{} → 400 invalid", rule(r#""loadBalancingScheme":"INTERNAL","IPProtocol":"UDP","ports":["1"]"#)),
            &format!("{} → 400 invalid", rule(r#""ports":["1"]"#)),
            &format!("{} → 400 invalid", rule(r#""loadBalancingScheme":"INTERNAL","IPAddress":"10.132.0.50","ports":["1"]"#)),
            &format!("{} → 200", rule(r#""loadBalancingScheme":"INTERNAL","allPorts":true"#)),
            r#"PATCH @R/forwardingRules/second {"allowGlobalAccess":true} → 200"#,
            r#"PATCH @R/forwardingRules/second {"allPorts":false} → 400 invalid"#,
            r#"PATCH @R/backendServices/bs {"sessionAffinity":"CLIENT_IP"} → 412 conditionNotMet"#,
            r#"PUT @R/backendServices/bs {"name":"bs","fingerprint":"AAAA"} → 412 conditionNotMet"#,
            r#"POST @R/forwardingRules/second/setLabels {"labels":{"a":"b"},"labelFingerprint":"AAAA"} → 412 conditionNotMet"#,
        ],
    ])
    .await;
}

#[tokio::test]
async fn a_fingerprint_is_good_for_one_change() {
    let asked = Asked::instant().await;
    for line in INTERNAL {
        let line = PLACES.iter().fold((*line).to_owned(), |line, (short, long)| line.replace(short, long));
        asked.done(line.rsplit_once(" → ").unwrap().0).await;
    }
    let path = "regions/europe-west1/backendServices/bs";
    let mut whole = asked.done(&format!("GET {path}")).await;
    whole["sessionAffinity"] = "CLIENT_IP".into();
    asked.done(&format!("PUT {path} {whole}")).await;
    let after = asked.done(&format!("GET {path}")).await;
    assert_eq!((&after["sessionAffinity"], &after["id"]), (&"CLIENT_IP".into(), &whole["id"]));
    assert_ne!(after["fingerprint"], whole["fingerprint"]);
    assert_eq!(asked.line(&format!("PUT {path} {whole}")).await.0, "412 conditionNotMet");
}

#[tokio::test]
async fn a_disk_is_at_one_instance_and_grows() {
    play(&[&[
        r#"POST @B/disks {"name":"d","sizeGb":"10"} → 200"#,
        r#"POST @B/instances/node-1/attachDisk {"source":"@B/disks/none"} → 400 invalid"#,
        r#"POST @C/instances/node-2/attachDisk {"source":"@B/disks/d"} → 400 invalid"#,
        r#"POST @B/instances/node-1/attachDisk {"source":"projects/p1/@B/disks/d","deviceName":"d"} → 200"#,
        r#"POST @B/instances/node-1/attachDisk {"source":"@B/disks/d"} → 400 resourceInUseByAnotherResource"#,
        "DELETE @B/disks/d → 400 resourceInUseByAnotherResource",
        r#"POST @B/disks/d/resize {"sizeGb":"10"} → 400 invalid"#,
        r#"POST @B/disks/d/resize {"sizeGb":"12"} → 200"#,
        "POST @B/instances/node-1/detachDisk?deviceName=other → 400 invalid",
        "POST @B/instances/node-1/detachDisk?deviceName=d → 200",
        "DELETE @B/disks/d → 200",
    ]])
    .await;
}
