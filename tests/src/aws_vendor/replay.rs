//! Making in AWS what a recording shows: by calls of the official SDK, as an operator of the account makes it.

use serde_json::{Map, Value, json};

use crate::moto::Call;

/// Names of attributes of Classic Load Balancers: in a recording, and in the SDK.
const ATTRIBUTES: [(&str, &str); 10] = [
    ("access_log", "AccessLog"),
    ("connection_draining", "ConnectionDraining"),
    ("connection_settings", "ConnectionSettings"),
    ("cross_zone_load_balancing", "CrossZoneLoadBalancing"),
    ("emitinterval", "EmitInterval"),
    ("enabled", "Enabled"),
    ("idletimeout", "IdleTimeout"),
    ("s3bucketname", "S3BucketName"),
    ("s3bucketprefix", "S3BucketPrefix"),
    ("timeout", "Timeout"),
];

/// The calls that make what a recording shows in `cloud`, with its names in the place of ids. Each round names what the one before has
/// made.
pub(super) fn rounds(cloud: &Value) -> [Vec<Call>; 3] {
    let [network, targets, classic, security] =
        ["network", "targets", "classic", "security"].map(|it| each(&cloud[it]));
    let groups = security.iter().filter(|it| it["name"].as_str().is_some_and(|it| it.starts_with("k8s-"))).map(group);
    let rules = security.iter().flat_map(|group| texts(&group["rules"]).map(|it| rule(&group["id"], it)));
    let made = network
        .iter()
        .map(balancer)
        .chain(targets.iter().map(target_group))
        .chain(classic.iter().map(classic_balancer));
    let settled = network.iter().flat_map(listeners).chain(targets.iter().flat_map(members));
    let settled = settled.chain(classic.iter().flat_map(classic_settings));
    [groups.collect(), made.chain(rules).collect(), settled.collect()]
}

fn each(named: &Value) -> Vec<&Value> {
    named.as_object().into_iter().flatten().map(|it| it.1).collect()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn tags(object: &Value) -> Value {
    pairs(&object["tags"], |_| true)
}

/// `[{ "Key": …, "Value": … }]` of those with such a key.
fn pairs(fields: &Value, is_meant: impl Fn(&str) -> bool) -> Value {
    let fields = fields.as_object().into_iter().flatten().filter(|it| is_meant(it.0) && it.1 != "");
    fields.map(|(key, value)| json!({ "Key": key, "Value": value })).collect()
}

fn number(text: &Value) -> Option<u64> {
    text.as_str().and_then(|it| it.parse().ok())
}

fn group(group: &&Value) -> Call {
    let tags = json!([{ "ResourceType": "security-group", "Tags": tags(group) }]);
    let group = json!({ "GroupName": group["name"], "Description": group["text"], "VpcId": "<vpc>", "TagSpecifications": tags });
    Call::new("ec2", "create_security_group", group)
}

/// From `tcp 80-80 from 0.0.0.0/0: text`.
fn rule(group: &Value, rule: &str) -> Call {
    let (what, whence) = rule.split_once(" from ").unwrap_or_default();
    let (protocol, ports) = what.split_once(' ').unwrap_or_default();
    let (peer, description) = whence.split_once(": ").unwrap_or_default();
    let (list, id) = if peer.starts_with('<') { ("UserIdGroupPairs", "GroupId") } else { ("IpRanges", "CidrIp") };
    let mut one = json!({ id: peer });
    if !description.is_empty() {
        one["Description"] = json!(description);
    }
    let mut rule = json!({ "IpProtocol": protocol, list: [one] });
    let ports: Vec<u16> = ports.split('-').filter_map(|it| it.parse().ok()).collect();
    if let [from, to] = ports[..] {
        (rule["FromPort"], rule["ToPort"]) = (json!(from), json!(to));
    }
    Call::new("ec2", "authorize_security_group_ingress", json!({ "GroupId": group, "IpPermissions": [rule] }))
}

fn balancer(it: &&Value) -> Call {
    let balancer = json!({
        "Name": it["name"],
        "Type": it["type"],
        "Scheme": it["scheme"],
        "IpAddressType": it["addresses"],
        "SubnetMappings": it["mappings"],
        "SecurityGroups": it["groups"],
        "Tags": tags(it),
    });
    Call::new("elbv2", "create_load_balancer", balancer)
}

fn target_group(it: &&Value) -> Call {
    let check = &it["check"];
    let mut group = json!({
        "Name": it["name"],
        "Protocol": it["protocol"],
        "Port": it["port"],
        "VpcId": "<vpc>",
        "TargetType": it["type"],
        "HealthCheckProtocol": check["health_check_protocol"],
        "HealthCheckPort": check["health_check_port"],
        "HealthCheckIntervalSeconds": number(&check["health_check_interval_seconds"]),
        "HealthCheckTimeoutSeconds": number(&check["health_check_timeout_seconds"]),
        "HealthyThresholdCount": number(&check["healthy_threshold_count"]),
        "UnhealthyThresholdCount": number(&check["unhealthy_threshold_count"]),
        "Tags": tags(it),
    });
    if check["health_check_path"] != "None" {
        group["HealthCheckPath"] = check["health_check_path"].clone();
    }
    Call::new("elbv2", "create_target_group", group)
}

/// The listeners of a Network Load Balancer, and its attributes.
fn listeners(balancer: &&Value) -> Vec<Call> {
    let arn = &balancer["id"];
    let listener = |recorded: &Value| {
        let mut listener = json!({
            "LoadBalancerArn": arn,
            "Protocol": recorded["protocol"],
            "Port": recorded["port"],
            "DefaultActions": [{ "Type": "forward", "TargetGroupArn": recorded["forwards"][0] }],
            "Tags": tags(recorded),
        });
        if recorded["certificate"].is_string() {
            listener["Certificates"] = json!([{ "CertificateArn": recorded["certificate"] }]);
            listener["SslPolicy"] = recorded["policy"].clone();
        }
        Call::new("elbv2", "create_listener", listener)
    };
    let attributes = json!({ "LoadBalancerArn": arn, "Attributes": pairs(&balancer["attributes"], |_| true) });
    let mut calls: Vec<_> = each(&balancer["listeners"]).into_iter().map(listener).collect();
    calls.push(Call::new("elbv2", "modify_load_balancer_attributes", attributes));
    calls
}

/// The machines of a target group, and those of its attributes that Services ask for.
fn members(group: &&Value) -> Vec<Call> {
    let machines: Vec<_> = texts(&group["machines"]).map(|it| json!({ "Id": it })).collect();
    let asked = |key: &str| key.starts_with("preserve_client_ip.") || key.starts_with("proxy_protocol_v2.");
    let attributes = json!({ "TargetGroupArn": group["id"], "Attributes": pairs(&group["attributes"], asked) });
    vec![
        Call::new("elbv2", "register_targets", json!({ "TargetGroupArn": group["id"], "Targets": machines })),
        Call::new("elbv2", "modify_target_group_attributes", attributes),
    ]
}

fn classic_balancer(it: &&Value) -> Call {
    let listener = |text: &str| {
        let listener: Value = serde_json::from_str(text).expect("a listener is a list");
        let mut made = json!({
            "Protocol": listener[0],
            "LoadBalancerPort": listener[1],
            "InstanceProtocol": listener[2],
            "InstancePort": listener[3],
        });
        let certificate = &it["frontends"][listener[1].to_string()]["certificate"];
        if certificate.is_string() {
            made["SSLCertificateId"] = certificate.clone();
        }
        made
    };
    let mut balancer = json!({
        "LoadBalancerName": it["name"],
        "Listeners": texts(&it["listeners"]).map(listener).collect::<Vec<_>>(),
        "Subnets": it["subnets"],
        "SecurityGroups": it["groups"],
        "Tags": tags(it),
    });
    if it["scheme"] == "internal" {
        balancer["Scheme"] = json!("internal");
    }
    Call::new("elb", "create_load_balancer", balancer)
}

fn classic_settings(it: &&Value) -> Vec<Call> {
    let name = &it["name"];
    let call = |operation, more: Value| {
        let mut parameters = json!({ "LoadBalancerName": name });
        for (key, value) in more.as_object().into_iter().flatten() {
            parameters[key] = value.clone();
        }
        Call::new("elb", operation, parameters)
    };
    let probe = &it["probe"];
    let check = json!({
        "Target": probe["target"],
        "Interval": probe["interval"],
        "Timeout": probe["timeout"],
        "HealthyThreshold": probe["healthy_threshold"],
        "UnhealthyThreshold": probe["unhealthy_threshold"],
    });
    let machines: Vec<_> = texts(&it["machines"]).map(|it| json!({ "InstanceId": it })).collect();
    let mut calls = vec![
        call("configure_health_check", json!({ "HealthCheck": check })),
        call("register_instances_with_load_balancer", json!({ "Instances": machines })),
        call("modify_load_balancer_attributes", json!({ "LoadBalancerAttributes": renamed(&it["attributes"]) })),
    ];
    for policy in texts(&it["policies"]) {
        let attributes = json!([{ "AttributeName": "ProxyProtocol", "AttributeValue": "true" }]);
        let kind = "ProxyProtocolPolicyType";
        let policy = json!({ "PolicyName": policy, "PolicyTypeName": kind, "PolicyAttributes": attributes });
        calls.push(call("create_load_balancer_policy", policy));
    }
    for (port, policies) in it["backends"].as_object().into_iter().flatten() {
        let port = port.parse::<u16>().ok();
        let set = json!({ "InstancePort": port, "PolicyNames": policies });
        calls.push(call("set_load_balancer_policies_for_backend_server", set));
    }
    calls
}

/// With the SDK's names.
fn renamed(attributes: &Value) -> Value {
    let Some(fields) = attributes.as_object() else { return attributes.clone() };
    let name =
        |key: &String| ATTRIBUTES.iter().find(|it| it.0 == key).map_or_else(|| key.clone(), |it| it.1.to_owned());
    fields.iter().map(|(key, value)| (name(key), renamed(value))).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_what_its_line_says() {
        let call = rule(&json!("<group a>"), "tcp 80-81 from 10.0.0.0/8: text");
        let range = json!([{ "CidrIp": "10.0.0.0/8", "Description": "text" }]);
        let rule_ = json!([{ "IpProtocol": "tcp", "FromPort": 80, "ToPort": 81, "IpRanges": range }]);
        assert_eq!(call.parameters, json!({ "GroupId": "<group a>", "IpPermissions": rule_ }));
        let call = rule(&json!("<group a>"), "-1 *-* from <group b>: ");
        let rule_ = json!([{ "IpProtocol": "-1", "UserIdGroupPairs": [{ "GroupId": "<group b>" }] }]);
        assert_eq!(call.parameters, json!({ "GroupId": "<group a>", "IpPermissions": rule_ }));
    }

    #[test]
    fn attributes_get_their_names() {
        let recorded = json!({ "access_log": { "enabled": true, "s3bucketname": "logs" } });
        assert_eq!(renamed(&recorded), json!({ "AccessLog": { "Enabled": true, "S3BucketName": "logs" } }));
    }
}
