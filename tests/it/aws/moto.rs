//! What stands for AWS judges requests as AWS does: by their signature, and by the policy of who signed.

use serde_json::json;
use tests::moto::{AccessKey, Call, Moto, Refused};

fn instances() -> Call {
    Call::new("ec2", "describe_instances", json!({}))
}

fn balancers(service: &'static str) -> Call {
    Call::new(service, "describe_load_balancers", json!({}))
}

fn code(outcome: &Result<serde_json::Value, Refused>) -> &str {
    match outcome {
        Ok(_) => "ok",
        Err(refused) => &refused.code,
    }
}

#[tokio::test]
async fn signatures_and_policies_are_checked() {
    let moto = Moto::start().await;
    let machine = json!({ "ImageId": "ami-12c6146b", "MinCount": 1, "MaxCount": 1 });
    let made = moto.done([Call::new("ec2", "run_instances", machine)]).await;
    let id = made[0]["Instances"][0]["InstanceId"].clone();

    let key = moto.user("reader", &["ec2:DescribeInstances", "elasticloadbalancing:DescribeLoadBalancers"]).await;
    let terminate = Call::new("ec2", "terminate_instances", json!({ "InstanceIds": [&id] }));
    let allowed = moto.call(&key, [instances(), balancers("elb"), balancers("elbv2"), terminate]).await;
    assert_eq!(allowed.iter().map(code).collect::<Vec<_>>(), ["ok", "ok", "ok", "AccessDenied"], "{allowed:?}");
    assert_eq!(allowed[0].as_ref().unwrap()["Reservations"][0]["Instances"][0]["InstanceId"], id);
    let refused = allowed[3].as_ref().unwrap_err();
    assert!(refused.status == 403 && refused.message.contains("ec2:TerminateInstances"), "{refused:?}");

    let forged = AccessKey { secret: format!("{}x", key.secret), ..key.clone() };
    let unknown = AccessKey { id: "AKIAUNKNOWN".to_owned(), ..key };
    for (key, elsewhere) in [(forged, "SignatureDoesNotMatch"), (unknown, "InvalidClientTokenId")] {
        let refused = moto.call(&key, [instances(), balancers("elb"), balancers("elbv2")]).await;
        assert_eq!(refused.iter().map(code).collect::<Vec<_>>(), ["AuthFailure", elsewhere, elsewhere], "{key:?}");
    }
    let unsigned = moto.unsigned("Action=DescribeInstances&Version=2016-11-15").await;
    assert!(unsigned >= 400, "{unsigned}");
}
