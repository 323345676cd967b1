//! Crimes against the network with names that a Node can have, for a real cluster.

use aerostat_sdk::{Address, Error, Node, http, settings};

use crate::{Answer, honest, report};

/// `None` if the node's name is no crime. What the egress answered is the error.
pub(crate) fn run(node: &Node) -> Option<Answer> {
    if let Some(address) = node.name.strip_prefix("machine-at-") {
        let address = Address::internal_ip(address.replace('-', "."));
        return Some(Ok(Some(honest(&node.name).addresses([address]))));
    }
    let machines = settings::find::<String>("machines").ok()?.unwrap_or_else(|| "v2/droplets".to_owned());
    let machines: Vec<_> = machines.split('/').collect();
    if node.name == "hides-a-failure" {
        let _ = http::get("api", [&machines[..], &["1001"]].concat()).send();
        return Some(Ok(None));
    }
    let request = match node.name.as_str() {
        "unnamed-endpoint" => http::get("metadata", ["latest", "meta-data"]),
        "forbidden-path" => http::get("api", ["v2", "account", "keys"]),
        "write-while-reading" => http::delete("api", [&machines[..], &["1001"]].concat()),
        "forbidden-operation" => operation("TerminateInstances"),
        "delete-while-reading" => operation("DeleteRoute"),
        "borrowed-signature" => {
            operation("DescribeInstances").header("authorization", "AWS4-HMAC-SHA256 of-somebody-else")
        }
        "signed-parameters" => operation("DescribeInstances").query("X-Amz-Signature", "of-somebody-else"),
        "forbidden-action" => action("DeleteInstance"),
        "action-while-reading" => action("DeleteSecurityGroup").query("SecurityGroupId", "sg-1"),
        "borrowed-key" => action("DescribeInstances").query("AccessKeyId", "of-somebody-else"),
        "borrowed-session" => action("DescribeInstances").header("x-acs-security-token", "of-somebody-else"),
        "borrowed-token" => http::get("api", machines).header("authorization", "Bearer of-somebody-else"),
        _ => return None,
    };
    Some(match request.send() {
        Ok(answer) => report(format!("answered {}", answer.status())),
        Err(Error::Denied(text)) => Err(Error::Denied(text)),
        Err(other) => report(format!("{other:?}")),
    })
}

/// A request as ECS takes it: a header names the operation.
fn action(name: &str) -> http::Request {
    http::post("api", [""; 0]).header("x-acs-action", name).query("RegionId", "cn-hangzhou")
}

/// A request as EC2 takes it: the operation is a parameter.
fn operation(name: &str) -> http::Request {
    http::post("api", [""; 0]).form([("Action", name), ("Version", "2016-11-15")])
}
