//! The simulator of AWS judges requests by signature and policy as AWS does, and is as strict and as slow.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::aws::{CLUSTER, Options, Simulator};
use tests::moto::{AccessKey, Call, Moto, Refused};
use tests::vendor::aws::instance;

fn instances() -> Call {
    Call::new("ec2", "describe_instances", json!({}))
}

fn balancers(service: &'static str) -> Call {
    Call::new(service, "describe_load_balancers", json!({}))
}

fn code(outcome: &Result<Value, Refused>) -> &str {
    match outcome {
        Ok(_) => "ok",
        Err(refused) => &refused.code,
    }
}

fn codes(outcomes: &[Result<Value, Refused>]) -> Vec<&str> {
    outcomes.iter().map(code).collect()
}

#[tokio::test]
async fn signatures_and_policies_are_checked() {
    let moto = Moto::start().await;
    let id = instance(1);
    moto.order("machine", &json!({ "id": id, "name": "worker-1" }));
    let key = moto.user("reader", &["ec2:DescribeInstances", "elasticloadbalancing:DescribeLoadBalancers"]);
    let terminate = Call::new("ec2", "terminate_instances", json!({ "InstanceIds": [&id] }));
    let allowed = moto.call(&key, [instances(), balancers("elb"), balancers("elbv2"), terminate]).await;
    assert_eq!(codes(&allowed), ["ok", "ok", "ok", "AccessDenied"], "{allowed:?}");
    assert_eq!(allowed[0].as_ref().unwrap()["Reservations"][0]["Instances"][0]["InstanceId"], id);
    let refused = allowed[3].as_ref().unwrap_err();
    assert!(refused.status == 403 && refused.message.contains("ec2:TerminateInstances"), "{refused:?}");

    let forged = AccessKey { secret: format!("{}x", key.secret), ..key.clone() };
    let unknown = AccessKey { id: "AKIAUNKNOWN".to_owned(), ..key };
    for (key, elsewhere) in [(forged, "SignatureDoesNotMatch"), (unknown, "InvalidClientTokenId")] {
        let refused = moto.call(&key, [instances(), balancers("elb"), balancers("elbv2")]).await;
        assert_eq!(codes(&refused), ["AuthFailure", elsewhere, elsewhere], "{key:?}");
    }
}

/// Sends a form that nobody has signed.
async fn send(cloud: &Simulator, form: &str) -> u16 {
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let request = cloud.client(&["http/1.1"]).post(cloud.base_url()).header(kind.0, kind.1);
    request.body(form.to_owned()).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_request_that_aws_does_not_describe_fails_the_test() {
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let wrong = [
        ("Action=DescribeInstances&Version=2016-11-15&Filters.1.Name=vpc-id", "Filters.1.Name"),
        ("Action=DescribeInstances&Version=2016-11-15&Filter.member.1.Name=vpc-id", "Filter.member.1.Name"),
        ("Action=DescribeLoadBalancers&Version=2015-12-01&Names.1=a", "Names.1"),
        ("Action=DescribeLoadBalancers&Version=2015-12-01&PageSize=500", "PageSize"),
        ("Action=CreateLoadBalancer&Version=2015-12-01&Name=a&Type=classic", "Type"),
        ("Action=CreateLoadBalancer&Version=2015-12-01&Type=network", "Name"),
        ("Action=DescribeLoadBalancers&Version=2012-06-01&Names.member.1=a", "Names.member.1"),
        ("Action=CreateRoute&Version=2016-11-15&RouteTableId=a&RouteTableId=b", "twice"),
        ("Action=DestroyEverything&Version=2016-11-15", "DestroyEverything"),
    ];
    for (form, part) in wrong {
        assert!(send(&cloud, form).await >= 400, "{form}");
        let found = cloud.take_violations();
        assert!(found.iter().any(|it| it.contains(part)), "{form}: {found:?}");
    }
    // What a fault keeps from being carried out is checked, too.
    cloud.inject(tests::simulator::Fault::status("POST", "/ec2/**", 503));
    assert_eq!(send(&cloud, "Action=DescribeVpcs&Version=2016-11-15&Vpc=a").await, 503);
    assert!(cloud.take_violations()[0].contains("Vpc"));
    assert_eq!(send(&cloud, "Action=DescribeVpcs&Version=2016-11-15").await, 503);
    assert_eq!(cloud.take_violations(), [""; 0]);
}

/// The name of a load balancer, its subnets, and more of its settings.
fn balancer(name: &str, places: &Value, more: &Value) -> Call {
    let subnets: Vec<_> = (0..2).map(|it| json!({ "SubnetId": places["subnets"][it] })).collect();
    let mut call = json!({ "Name": name, "Type": "network", "SubnetMappings": subnets });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Call::new("elbv2", "create_load_balancer", call)
}

async fn ok(cloud: &Simulator, call: Call) -> Value {
    cloud.moto().done([call]).await.remove(0)
}

async fn refused(cloud: &Simulator, call: Call) -> String {
    let moto = cloud.moto();
    code(&moto.call(moto.administrator(), [call]).await[0]).to_owned()
}

#[tokio::test]
async fn load_balancers_take_time_and_hold_what_they_use() {
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let places = cloud.moto().order("prepare", &json!({ "cluster": CLUSTER }));
    for number in 1..=2 {
        cloud.moto().order("machine", &json!({ "id": instance(number), "name": "worker" }));
    }
    cloud.behave(&json!({ "provisioning": 60, "interfaces": 60, "groups_in_use": 60 }));
    let group = json!({ "GroupName": "g", "Description": "g", "VpcId": places["vpc"] });
    let group = ok(&cloud, Call::new("ec2", "create_security_group", group)).await["GroupId"].clone();
    let made = ok(&cloud, balancer("a", &places, &json!({ "SecurityGroups": [group] }))).await;
    let arn = made["LoadBalancers"][0]["LoadBalancerArn"].clone();
    // The same again is the same, and with other settings it is refused.
    let again = ok(&cloud, balancer("a", &places, &json!({ "SecurityGroups": [group] }))).await;
    assert_eq!(again["LoadBalancers"][0]["LoadBalancerArn"], arn);
    assert_eq!(
        refused(&cloud, balancer("a", &places, &json!({ "Scheme": "internal" }))).await,
        "DuplicateLoadBalancerName"
    );
    let state = async || ok(&cloud, balancers("elbv2")).await["LoadBalancers"][0]["State"]["Code"].clone();
    assert_eq!(state().await, "provisioning");
    cloud.advance(Duration::from_secs(61));
    assert_eq!(state().await, "active");

    let target = |port: u16| json!({ "Name": "t", "Protocol": "TCP", "Port": port, "VpcId": places["vpc"] });
    let made = ok(&cloud, Call::new("elbv2", "create_target_group", target(30_080))).await;
    let targets = made["TargetGroups"][0]["TargetGroupArn"].clone();
    ok(&cloud, Call::new("elbv2", "create_target_group", target(30_080))).await;
    let twin = Call::new("elbv2", "create_target_group", target(30_081));
    assert_eq!(refused(&cloud, twin).await, "DuplicateTargetGroupName");
    let machines = |action, numbers: &[u64]| {
        let machines: Vec<_> = numbers.iter().map(|it| json!({ "Id": instance(*it) })).collect();
        Call::new("elbv2", action, json!({ "TargetGroupArn": targets, "Targets": machines }))
    };
    ok(&cloud, machines("register_targets", &[1, 2])).await;
    assert_eq!(refused(&cloud, machines("register_targets", &[3])).await, "InvalidTarget");
    ok(&cloud, machines("deregister_targets", &[2])).await;
    assert_eq!(cloud.state().targets[0].draining, [instance(2)]);
    cloud.advance(Duration::from_secs(301));
    assert_eq!(cloud.state().targets[0].draining, [""; 0]);

    let listener = |port: u16| {
        let forward = json!([{ "Type": "forward", "TargetGroupArn": targets }]);
        let listener = json!({ "LoadBalancerArn": arn, "Protocol": "TCP", "Port": port, "DefaultActions": forward });
        Call::new("elbv2", "create_listener", listener)
    };
    ok(&cloud, listener(80)).await;
    let delete_targets = || Call::new("elbv2", "delete_target_group", json!({ "TargetGroupArn": targets }));
    let delete_group = || Call::new("ec2", "delete_security_group", json!({ "GroupId": group }));
    assert_eq!(refused(&cloud, delete_targets()).await, "ResourceInUse");
    assert_eq!(refused(&cloud, delete_group()).await, "DependencyViolation");
    ok(&cloud, Call::new("elbv2", "delete_load_balancer", json!({ "LoadBalancerArn": arn }))).await;
    assert_eq!(refused(&cloud, delete_targets()).await, "ResourceInUse");
    assert_eq!(refused(&cloud, delete_group()).await, "DependencyViolation");
    cloud.advance(Duration::from_secs(61));
    ok(&cloud, delete_targets()).await;
    ok(&cloud, delete_group()).await;
}

#[tokio::test]
async fn a_group_of_rules_is_taken_as_a_whole_or_not_at_all() {
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let places = cloud.moto().order("prepare", &json!({ "cluster": CLUSTER }));
    let allow = |ports: &[u16]| {
        let range = json!([{ "CidrIp": "0.0.0.0/0", "Description": format!("{ports:?}") }]);
        let rules =
            ports.iter().map(|it| json!({ "IpProtocol": "tcp", "FromPort": it, "ToPort": it, "IpRanges": range }));
        let rules: Vec<_> = rules.collect();
        let call = json!({ "GroupId": places["group"], "IpPermissions": rules });
        Call::new("ec2", "authorize_security_group_ingress", call)
    };
    let rules = || cloud.state().security.into_iter().find(|it| it.name == "default").unwrap().rules.len();
    let before = rules();
    ok(&cloud, allow(&[80])).await;
    assert_eq!(refused(&cloud, allow(&[81, 80])).await, "InvalidPermission.Duplicate");
    assert_eq!(rules(), before + 1);
    // A description does not tell rules apart.
    let all = |peer: Value| json!({ "GroupId": places["group"], "IpPermissions": [{ "IpProtocol": "-1", "UserIdGroupPairs": [peer] }] });
    let described = all(json!({ "GroupId": places["group"], "Description": "nodes" }));
    ok(&cloud, Call::new("ec2", "authorize_security_group_ingress", described)).await;
    let plain = all(json!({ "GroupId": places["group"] }));
    ok(&cloud, Call::new("ec2", "revoke_security_group_ingress", plain)).await;
    assert_eq!(rules(), before + 1);
    cloud.behave(&json!({ "rules_per_group": before + 2 }));
    assert_eq!(refused(&cloud, allow(&[82, 83])).await, "RulesPerSecurityGroupLimitExceeded");
    assert_eq!(rules(), before + 1);
    let again = json!({ "GroupName": "default", "Description": "d", "VpcId": places["vpc"] });
    assert_eq!(refused(&cloud, Call::new("ec2", "create_security_group", again)).await, "InvalidGroup.Duplicate");
}
