//! A cloud that remembers what it is told: security groups, and Classic Load Balancers.

mod shown;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use aerostat_sdk::testing::{Body, Failure, Host, Outcome, Request, answer};
use aerostat_sdk::{SortedMap, SortedSet};

use self::shown::{attributes, balancer, group, members, text};
use crate::api::ec2::security_groups::{IpPermission, Peer, RuleKey, SecurityGroup};
use crate::api::elb::model::{
    ClassicAttributes, ClassicHealthCheck, ClassicListener, ClassicLoadBalancer, ClassicProtocol, LiveListener,
};
use crate::tests::{action, filter, refused, settings, value};

/// The things that there are.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) groups: SortedMap<String, SecurityGroup>,
    pub(super) balancers: SortedMap<String, Balancer>,
    /// The groups of each instance.
    pub(super) instances: SortedMap<String, Vec<String>>,
    /// The most rules of a group.
    pub(super) most_rules: Option<usize>,
    /// Groups that network interfaces of load balancers still have.
    pub(super) held: SortedSet<String>,
    made: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Balancer {
    pub(super) it: ClassicLoadBalancer,
    pub(super) attributes: ClassicAttributes,
    pub(super) tags: SortedMap<String, String>,
}

/// The cloud, and which of its answers get lost.
#[derive(Clone, Default)]
pub(super) struct Cloud {
    pub(super) state: Rc<RefCell<State>>,
    requests: Rc<Cell<usize>>,
    /// The number of the request whose answer is lost.
    pub(super) lost: Rc<Cell<Option<usize>>>,
}

impl Cloud {
    /// With nodes' group sg-nodes, and two instances in it.
    pub(super) fn new() -> Self {
        let cloud = Self::default();
        let tags = [("kubernetes.io/cluster/prod".to_owned(), "owned".to_owned())].into();
        let mut state = cloud.state.borrow_mut();
        let nodes =
            SecurityGroup { id: "sg-nodes".to_owned(), name: "nodes".to_owned(), tags, ..SecurityGroup::default() };
        state.groups.insert(nodes.id.clone(), nodes);
        state.instances = ["i-1", "i-2", "i-3"].map(|it| (it.to_owned(), vec!["sg-nodes".to_owned()])).into();
        drop(state);
        cloud
    }

    pub(super) fn host(&self) -> Host {
        self.on(settings())
    }

    /// With other settings.
    pub(super) fn on(&self, settings: Host) -> Host {
        let cloud = self.clone();
        settings.answers(move |request| {
            let number = cloud.requests.get() + 1;
            cloud.requests.set(number);
            let answered = cloud.state.borrow_mut().answer(request);
            match cloud.lost.get() {
                Some(lost) if lost == number => Err(Failure::Interrupted("lost".to_owned())),
                _ => answered,
            }
        })
    }

    /// Loses the answer of the request with this number from now on.
    pub(super) fn lose(&self, number: usize) {
        self.requests.set(0);
        self.lost.set(Some(number));
    }

    pub(super) fn balancer(&self, name: &str) -> Balancer {
        self.state.borrow().balancers[name].clone()
    }

    pub(super) fn group(&self, name: &str) -> Option<SecurityGroup> {
        self.state.borrow().groups.values().find(|it| it.name == name).cloned()
    }

    /// The rules of a group, a line each.
    pub(super) fn rules(&self, id: &str) -> Vec<String> {
        let line = |permission: &IpPermission| {
            let ports = permission
                .key
                .from
                .zip(permission.key.to)
                .map(|(from, to)| format!(" {from}-{to}"))
                .unwrap_or_default();
            let (Peer::Ipv4(peer) | Peer::Ipv6(peer) | Peer::Group(peer) | Peer::PrefixList(peer)) =
                &permission.key.peer;
            format!("{}{ports} {peer} {}", permission.key.protocol, permission.description).trim_end().to_owned()
        };
        self.state.borrow().groups[id].permissions.iter().map(line).collect()
    }
}

/// The items of a numbered list of a request.
fn list(request: &Request, name: &str) -> Vec<String> {
    (1..).map_while(|it| value(request, &format!("{name}.{it}"))).map(str::to_owned).collect()
}

fn tags(request: &Request, name: &str) -> SortedMap<String, String> {
    let tag = |nth| {
        let of = |part: &str| value(request, &format!("{name}.{nth}.{part}")).map(str::to_owned);
        of("Key").zip(of("Value"))
    };
    (1..).map_while(tag).collect()
}

fn done() -> Outcome {
    answer(200, "<R/>")
}

impl State {
    fn answer(&mut self, request: &Request) -> Outcome {
        let of = |name: &str| value(request, name).unwrap_or_default().to_owned();
        if request.endpoint == "elb" {
            return self.balancing(request);
        }
        if request.endpoint == "elbv2" {
            // There is no Network Load Balancer.
            return if action(request) == "DescribeLoadBalancers" {
                refused(400, "LoadBalancerNotFound")
            } else {
                done()
            };
        }
        match action(request) {
            "DescribeSecurityGroups" => self.describe_groups(request),
            "CreateSecurityGroup" if self.groups.values().any(|it| it.name == of("GroupName")) => {
                refused(400, "InvalidGroup.Duplicate")
            }
            "CreateSecurityGroup" => {
                self.made += 1;
                let id = format!("sg-{}", self.made);
                let tags = tags(request, "TagSpecification.1.Tag");
                let group = SecurityGroup { id: id.clone(), name: of("GroupName"), tags, ..SecurityGroup::default() };
                self.groups.insert(id.clone(), group);
                answer(200, text("R", text("groupId", id)))
            }
            "DeleteSecurityGroup" => {
                let id = of("GroupId");
                let refers =
                    |it: &SecurityGroup| it.permissions.iter().any(|it| it.key.peer == Peer::Group(id.clone()));
                if self.held.contains(&id) || self.groups.values().any(refers) {
                    return refused(400, "DependencyViolation");
                }
                self.groups.remove(&id).map_or_else(|| refused(400, "InvalidGroup.NotFound"), |_| done())
            }
            "AuthorizeSecurityGroupIngress" => {
                let most = self.most_rules.unwrap_or(usize::MAX);
                let group = self.groups.get_mut(&of("GroupId")).unwrap();
                let added = permissions(request);
                if group.permissions.len() + added.len() > most {
                    return refused(400, "RulesPerSecurityGroupLimitExceeded");
                }
                let is_there = |it: &IpPermission| group.permissions.iter().any(|is| is.key == it.key);
                if added.iter().any(is_there) {
                    return refused(400, "InvalidPermission.Duplicate");
                }
                group.permissions.extend(added);
                done()
            }
            "RevokeSecurityGroupIngress" => {
                let group = self.groups.get_mut(&of("GroupId")).unwrap();
                for it in permissions(request) {
                    assert!(group.permissions.remove(&it), "{it:?}");
                }
                done()
            }
            "CreateTags" => {
                self.groups.get_mut(&of("ResourceId.1")).unwrap().tags.extend(tags(request, "Tag"));
                done()
            }
            "DescribeInstances" => {
                let wanted = filter(request, "instance-id");
                let instance = |(id, groups): (&String, &Vec<String>)| {
                    let groups: String = groups.iter().map(|it| text("item", text("groupId", it))).collect();
                    let state = text("instanceState", text("name", "running"));
                    text("item", format!("{}{state}{}", text("instanceId", id), text("groupSet", groups)))
                };
                let found: String =
                    self.instances.iter().filter(|(id, _)| wanted.contains(&id.as_str())).map(instance).collect();
                answer(200, text("R", text("reservationSet", text("item", text("instancesSet", found)))))
            }
            "DescribeSubnets" => {
                let subnet = |(id, zone): (&str, &str)| {
                    let zone = text("availabilityZone", format!("us-east-1{zone}"));
                    text("item", format!("{}{zone}{}", text("subnetId", id), text("vpcId", "vpc-1")))
                };
                let subnets: String = [("subnet-1", "a"), ("subnet-2", "b")].map(subnet).concat();
                answer(200, text("R", text("subnetSet", subnets)))
            }
            "DescribeRouteTables" => {
                let main = text("associationSet", text("item", text("main", "true")));
                let route =
                    text("destinationCidrBlock", "0.0.0.0/0") + &text("gatewayId", "igw-1") + &text("state", "active");
                let routes = text("routeSet", text("item", route));
                answer(
                    200,
                    text("R", text("routeTableSet", text("item", text("routeTableId", "rtb-1") + &main + &routes))),
                )
            }
            other => panic!("{other}"),
        }
    }

    fn describe_groups(&self, request: &Request) -> Outcome {
        assert_eq!(value(request, "MaxResults"), Some("1000"));
        let is_asked = |group: &&SecurityGroup| {
            let has = |name: &str, is: &dyn Fn(&str) -> bool| {
                let values = filter(request, name);
                values.is_empty() || values.into_iter().any(is)
            };
            has("group-name", &|text| group.name == text)
                && has("group-id", &|text| group.id == text)
                && has("tag-key", &|text| group.tags.contains_key(text))
                && has("ip-permission.from-port", &|text| {
                    group.permissions.iter().any(|it| it.key.from.is_some_and(|it| it.to_string() == text))
                })
                && has("ip-permission.group-id", &|text| {
                    group.permissions.iter().any(|it| it.key.peer == Peer::Group(text.to_owned()))
                })
        };
        let groups: String = self.groups.values().filter(is_asked).map(group).collect();
        answer(200, text("R", text("securityGroupInfo", groups)))
    }

    fn balancing(&mut self, request: &Request) -> Outcome {
        let of = |name: &str| value(request, name).unwrap_or_default().to_owned();
        let name = of("LoadBalancerName");
        match action(request) {
            "DescribeLoadBalancers" => {
                let names = list(request, "LoadBalancerNames.member");
                let found: Vec<_> =
                    self.balancers.iter().filter(|(name, _)| names.is_empty() || names.contains(name)).collect();
                if found.is_empty() && !names.is_empty() {
                    return refused(400, "LoadBalancerNotFound");
                }
                let shown = members("LoadBalancerDescriptions", found.into_iter().map(|(_, it)| balancer(&it.it)));
                return answer(200, text("R", text("DescribeLoadBalancersResult", shown)));
            }
            "DescribeTags" => {
                let tag = |(key, value): (&String, &String)| text("Key", key) + &text("Value", value);
                let of_one = |name: String| {
                    text("LoadBalancerName", &name) + &members("Tags", self.balancers[&name].tags.iter().map(tag))
                };
                let all = list(request, "LoadBalancerNames.member").into_iter().map(of_one);
                return answer(200, text("R", text("DescribeTagsResult", members("TagDescriptions", all))));
            }
            "AddTags" => {
                self.balancers
                    .get_mut(&of("LoadBalancerNames.member.1"))
                    .unwrap()
                    .tags
                    .extend(tags(request, "Tags.member"));
                return done();
            }
            "CreateLoadBalancer" => {
                let it = ClassicLoadBalancer {
                    name: name.clone(),
                    dns_name: Some(format!("{name}-1.us-east-1.elb.amazonaws.com")),
                    is_internal: of("Scheme") == "internal",
                    subnets: list(request, "Subnets.member").into_iter().collect(),
                    groups: list(request, "SecurityGroups.member").into_iter().collect(),
                    listeners: listeners(request),
                    ..ClassicLoadBalancer::default()
                };
                let attributes = ClassicAttributes {
                    idle_timeout: Some(60),
                    draining_timeout: Some(300),
                    ..ClassicAttributes::default()
                };
                let made = Balancer { it, attributes, tags: tags(request, "Tags.member") };
                assert!(self.balancers.insert(name, made).is_none(), "made twice");
                return done();
            }
            "DeleteLoadBalancer" => {
                self.balancers.remove(&name);
                return done();
            }
            _ => {}
        }
        let unknown = list_instances(request).into_iter().any(|id| !self.instances.contains_key(&id));
        let Some(balancer) = self.balancers.get_mut(&name) else { return refused(400, "LoadBalancerNotFound") };
        let it = &mut balancer.it;
        match action(request) {
            "DescribeLoadBalancerAttributes" => {
                let attributes = text("LoadBalancerAttributes", attributes(&balancer.attributes));
                return answer(200, text("R", text("DescribeLoadBalancerAttributesResult", attributes)));
            }
            "AttachLoadBalancerToSubnets" => it.subnets.extend(list(request, "Subnets.member")),
            "DetachLoadBalancerFromSubnets" => {
                list(request, "Subnets.member").iter().for_each(|id| assert!(it.subnets.remove(id)));
            }
            "ApplySecurityGroupsToLoadBalancer" => {
                it.groups = list(request, "SecurityGroups.member").into_iter().collect();
            }
            "CreateLoadBalancerListeners" => {
                for (port, listener) in listeners(request) {
                    assert!(it.listeners.insert(port, listener).is_none(), "{port} twice");
                }
            }
            "DeleteLoadBalancerListeners" => {
                list(request, "LoadBalancerPorts.member")
                    .iter()
                    .for_each(|port| drop(it.listeners.remove(&port.parse().unwrap())));
            }
            "SetLoadBalancerListenerSSLCertificate" => {
                let listener = it.listeners.get_mut(&of("LoadBalancerPort").parse().unwrap()).unwrap();
                listener.listener.certificate = Some(of("SSLCertificateId"));
            }
            "CreateLoadBalancerPolicy" => assert!(it.policies.insert(of("PolicyName")), "a policy twice"),
            "SetLoadBalancerPoliciesForBackendServer" => {
                let policies = list(request, "PolicyNames.member");
                assert!(!policies.is_empty() || value(request, "PolicyNames") == Some(""));
                let port = of("InstancePort");
                if it.listeners.values().all(|it| it.listener.instance_port.to_string() != port) {
                    return refused(409, "InvalidConfigurationRequest");
                }
                it.backends.insert(of("InstancePort").parse().unwrap(), policies.into_iter().collect());
            }
            "SetLoadBalancerPoliciesOfListener" => {
                let listener = it.listeners.get_mut(&of("LoadBalancerPort").parse().unwrap()).unwrap();
                listener.policies = list(request, "PolicyNames.member").into_iter().collect();
            }
            "ConfigureHealthCheck" => {
                let number = |name: &str| of(&format!("HealthCheck.{name}")).parse().unwrap();
                it.health = Some(ClassicHealthCheck {
                    target: of("HealthCheck.Target"),
                    interval: number("Interval"),
                    timeout: number("Timeout"),
                    unhealthy: number("UnhealthyThreshold"),
                    healthy: number("HealthyThreshold"),
                });
            }
            "ModifyLoadBalancerAttributes" => balancer.attributes = written(request),
            "RegisterInstancesWithLoadBalancer" if unknown => return refused(400, "InvalidInstance"),
            "RegisterInstancesWithLoadBalancer" => it.instances.extend(list_instances(request)),
            "DeregisterInstancesFromLoadBalancer" if unknown => return refused(400, "InvalidInstance"),
            "DeregisterInstancesFromLoadBalancer" => {
                list_instances(request).iter().for_each(|id| assert!(it.instances.remove(id)));
            }
            other => panic!("{other}"),
        }
        done()
    }
}

fn list_instances(request: &Request) -> Vec<String> {
    let id = |it| value(request, &format!("Instances.member.{it}.InstanceId"));
    (1..).map_while(id).map(str::to_owned).collect()
}

fn listeners(request: &Request) -> SortedMap<u16, LiveListener> {
    let protocol = |text: &str| match text {
        "tcp" => ClassicProtocol::Tcp,
        "ssl" => ClassicProtocol::Ssl,
        "http" => ClassicProtocol::Http,
        "https" => ClassicProtocol::Https,
        other => panic!("{other}"),
    };
    let listener = |number: usize| {
        let of = |name: &str| value(request, &format!("Listeners.member.{number}.{name}"));
        let listener = ClassicListener {
            port: of("LoadBalancerPort")?.parse().unwrap(),
            protocol: protocol(of("Protocol")?),
            instance_port: of("InstancePort")?.parse().unwrap(),
            instance_protocol: protocol(of("InstanceProtocol")?),
            certificate: of("SSLCertificateId").map(str::to_owned),
        };
        Some((listener.port, LiveListener { listener, policies: SortedSet::new() }))
    };
    (1..).map_while(listener).collect()
}

type OfKind = fn(String) -> Peer;

/// The permissions in a request, as EC2 numbers them.
fn permissions(request: &Request) -> SortedSet<IpPermission> {
    let Some(Body::Form(pairs)) = &request.body else { panic!("no form") };
    let peers: [(&str, OfKind); 3] = [(".CidrIp", Peer::Ipv4), (".CidrIpv6", Peer::Ipv6), (".GroupId", Peer::Group)];
    let permission = |(name, peer): &(String, String)| {
        let (rule, _) = name.strip_prefix("IpPermissions.")?.split_once('.')?;
        let (suffix, kind) = peers.into_iter().find(|(suffix, _)| name.ends_with(suffix))?;
        let of = |field: &str| value(request, &format!("IpPermissions.{rule}.{field}"));
        let number = |field: &str| of(field).map(|it| it.parse().unwrap());
        let description = value(request, &format!("{}.Description", name.strip_suffix(suffix)?)).unwrap_or_default();
        let protocol = of("IpProtocol")?.to_owned();
        let key = RuleKey { protocol, from: number("FromPort"), to: number("ToPort"), peer: kind(peer.clone()) };
        Some(IpPermission { key, description: description.to_owned() })
    };
    pairs.iter().filter_map(permission).collect()
}

fn written(request: &Request) -> ClassicAttributes {
    let of = |name: &str| value(request, &format!("LoadBalancerAttributes.{name}")).map(str::to_owned);
    let number = |name: &str| of(name).map(|it| it.parse().unwrap());
    ClassicAttributes {
        cross_zone: of("CrossZoneLoadBalancing.Enabled").as_deref() == Some("true"),
        log_enabled: of("AccessLog.Enabled").as_deref() == Some("true"),
        log_interval: number("AccessLog.EmitInterval"),
        log_bucket: of("AccessLog.S3BucketName"),
        log_prefix: of("AccessLog.S3BucketPrefix"),
        draining_enabled: of("ConnectionDraining.Enabled").as_deref() == Some("true"),
        draining_timeout: number("ConnectionDraining.Timeout").or(Some(300)),
        idle_timeout: number("ConnectionSettings.IdleTimeout"),
    }
}
