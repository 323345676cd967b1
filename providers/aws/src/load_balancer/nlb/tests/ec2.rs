//! Networks in memory: subnets, route tables, and security groups with their rules.

use aerostat_sdk::{SortedMap, SortedSet};

use aerostat_sdk::testing::{Body, Outcome, Request, answer};

use crate::tests::{filter, refused, value};

/// Networks.
pub(in super::super) struct Ec2 {
    /// Id, zone, IPv4 and IPv6 network, and tags.
    pub(in super::super) subnets: Vec<(&'static str, &'static str, &'static str, &'static str, &'static str)>,
    /// The subnets without a route to the internet.
    pub(in super::super) private: Vec<&'static str>,
    pub(in super::super) groups: Vec<Group>,
}

/// A security group.
#[derive(Clone, Debug)]
pub(in super::super) struct Group {
    pub(in super::super) id: String,
    pub(in super::super) name: String,
    pub(in super::super) tags: SortedMap<String, String>,
    /// "tcp 80-80 0.0.0.0/0 description".
    pub(in super::super) rules: SortedSet<String>,
    pub(in super::super) is_in_use: bool,
}

/// The security group of the nodes in tests.
pub(in super::super) const NODES: &str = "sg-nodes";

impl Default for Ec2 {
    fn default() -> Self {
        let nodes = Group {
            id: NODES.to_owned(),
            name: "nodes".to_owned(),
            tags: [("kubernetes.io/cluster/prod".to_owned(), "owned".to_owned())].into(),
            rules: SortedSet::new(),
            is_in_use: true,
        };
        Self {
            subnets: vec![
                ("subnet-a", "us-east-1a", "10.0.1.0/24", "2001:db8:1::/64", ""),
                ("subnet-b", "us-east-1b", "10.0.2.0/24", "2001:db8:2::/64", ""),
                ("subnet-c", "us-east-1c", "10.0.3.0/24", "2001:db8:3::/64", ""),
            ],
            private: Vec::new(),
            groups: vec![nodes],
        }
    }
}

impl Ec2 {
    pub(super) fn answer(&mut self, action: &str, it: &Request) -> Outcome {
        let id = value(it, "GroupId").unwrap_or_default().to_owned();
        let body = match action {
            "DescribeSubnets" => self.describe_subnets(it),
            "DescribeRouteTables" => self.describe_route_tables(),
            "DescribeSecurityGroups" => self.describe_groups(it),
            "CreateSecurityGroup" => {
                let name = value(it, "GroupName").unwrap_or_default().to_owned();
                if self.groups.iter().any(|it| it.name == name) {
                    return refused(400, "InvalidGroup.Duplicate");
                }
                let tag = |number: usize, field| value(it, &format!("TagSpecification.1.Tag.{number}.{field}"));
                let tags = (1..).map_while(|it| Some((tag(it, "Key")?.to_owned(), tag(it, "Value")?.to_owned())));
                let id = format!("sg-{}", self.groups.len());
                let (tags, rules) = (tags.collect(), SortedSet::new());
                self.groups.push(Group { id: id.clone(), name, tags, rules, is_in_use: false });
                format!("<groupId>{id}</groupId>")
            }
            "DeleteSecurityGroup" => {
                if self.groups.iter().any(|it| it.id == id && it.is_in_use) {
                    return refused(400, "DependencyViolation");
                }
                self.groups.retain(|it| it.id != id);
                String::new()
            }
            "AuthorizeSecurityGroupIngress" | "RevokeSecurityGroupIngress" => {
                let Some(group) = self.groups.iter_mut().find(|it| it.id == id) else {
                    return refused(400, "InvalidGroup.NotFound");
                };
                for rule in rules(it) {
                    let is_new = match action {
                        "AuthorizeSecurityGroupIngress" => group.rules.insert(rule.clone()),
                        _ => group.rules.remove(&rule),
                    };
                    assert!(is_new, "{action} {rule}");
                }
                String::new()
            }
            other => panic!("{other}"),
        };
        answer(200, format!("<R>{body}</R>"))
    }

    fn describe_subnets(&self, it: &Request) -> String {
        let ids = filter(it, "subnet-id");
        let found = self.subnets.iter().filter(|(id, ..)| ids.is_empty() || ids.contains(id));
        let item = |(id, zone, ipv4, ipv6, tags): &(&str, &str, &str, &str, &str)| {
            let tag = |tag: &str| {
                let (key, value) = tag.split_once('=').unwrap_or((tag, ""));
                format!("<item><key>{key}</key><value>{value}</value></item>")
            };
            let tags: String = tags.split(',').filter(|it| !it.is_empty()).map(tag).collect();
            let ipv6 = match ipv6.is_empty() {
                true => String::new(),
                false => format!("<item><ipv6CidrBlock>{ipv6}</ipv6CidrBlock></item>"),
            };
            format!(
                "<item><subnetId>{id}</subnetId><availabilityZone>{zone}</availabilityZone><cidrBlock>{ipv4}</cidrBlock>\
                 <ipv6CidrBlockAssociationSet>{ipv6}</ipv6CidrBlockAssociationSet><tagSet>{tags}</tagSet></item>"
            )
        };
        format!("<subnetSet>{}</subnetSet>", found.map(item).collect::<String>())
    }

    /// The main table leads to the internet; private subnets have one of their own.
    fn describe_route_tables(&self) -> String {
        let of = |it: &&str| format!("<item><main>false</main><subnetId>{it}</subnetId></item>");
        let private: String = self.private.iter().map(of).collect();
        format!(
            "<routeTableSet><item><routeSet><item><gatewayId>igw-1</gatewayId></item></routeSet>\
             <associationSet><item><main>true</main></item></associationSet></item>\
             <item><routeSet><item><gatewayId>local</gatewayId></item></routeSet>\
             <associationSet>{private}</associationSet></item></routeTableSet>"
        )
    }

    fn describe_groups(&self, it: &Request) -> String {
        let (names, ids, keys) = (filter(it, "group-name"), filter(it, "group-id"), filter(it, "tag-key"));
        let ports = filter(it, "ip-permission.from-port");
        let is_asked = |group: &&Group| {
            (names.is_empty() || names.contains(&&*group.name))
                && (ids.is_empty() || ids.contains(&&*group.id))
                && (keys.is_empty() || keys.iter().any(|key| group.tags.contains_key(*key)))
                && (ports.is_empty()
                    || group.rules.iter().any(|rule| ports.iter().any(|it| rule.contains(&format!(" {it}-")))))
        };
        let found: String = self.groups.iter().filter(is_asked).map(Group::xml).collect();
        format!("<securityGroupInfo>{found}</securityGroupInfo>")
    }
}

/// The rules of a request, a line each.
fn rules(it: &Request) -> Vec<String> {
    let Some(Body::Form(form)) = &it.body else { panic!("{it:?}") };
    let mut rules = Vec::new();
    for (key, peer) in form.iter().filter(|(key, _)| key.contains(".CidrIp") || key.ends_with(".GroupId")) {
        let parts: Vec<_> = key.split('.').collect();
        let of = |field: &str| value(it, &format!("IpPermissions.{}.{field}", parts[1])).unwrap_or("-");
        let description = value(it, &format!("{}.Description", parts[..4].join("."))).unwrap_or("");
        rules.push(format!("{} {}-{} {peer} {description}", of("IpProtocol"), of("FromPort"), of("ToPort")));
    }
    rules
}

impl Group {
    fn xml(&self) -> String {
        let tag = |(key, value): (&String, &String)| format!("<item><key>{key}</key><value>{value}</value></item>");
        let rule = |rule: &String| {
            let parts: Vec<_> = rule.splitn(4, ' ').collect();
            let (from, to) = parts[1].split_once('-').unwrap();
            let (list, field) =
                if parts[2].contains(':') { ("ipv6Ranges", "cidrIpv6") } else { ("ipRanges", "cidrIp") };
            format!(
                "<item><ipProtocol>{}</ipProtocol><fromPort>{from}</fromPort><toPort>{to}</toPort><{list}><item>\
                 <{field}>{}</{field}><description>{}</description></item></{list}></item>",
                parts[0], parts[2], parts[3]
            )
        };
        let (id, name) = (&self.id, &self.name);
        let tags: String = self.tags.iter().map(tag).collect();
        let rules: String = self.rules.iter().map(rule).collect();
        format!(
            "<item><groupId>{id}</groupId><groupName>{name}</groupName><ipPermissions>{rules}</ipPermissions>\
             <tagSet>{tags}</tagSet></item>"
        )
    }
}
