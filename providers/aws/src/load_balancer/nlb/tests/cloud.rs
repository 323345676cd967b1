//! Load balancing in memory, as strict as AWS where it matters: names are unique, what is in use stays, and nothing is
//! guessed.

use std::cell::RefCell;
use std::rc::Rc;

use aerostat_sdk::testing::{Body, Failure, Host, Outcome, Request, answer};
use aerostat_sdk::{SortedMap, SortedSet};

use super::ec2::Ec2;
use crate::tests::{action, refused, settings, value};

/// A load balancer.
#[derive(Clone, Debug)]
pub(super) struct Balancer {
    pub(super) arn: String,
    pub(super) name: String,
    pub(super) scheme: String,
    pub(super) kind: String,
    pub(super) address_type: String,
    pub(super) state: &'static str,
    pub(super) mappings: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) attributes: SortedMap<String, String>,
}

/// A listener.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    pub(super) arn: String,
    pub(super) balancer: String,
    pub(super) port: String,
    pub(super) protocol: String,
    pub(super) policy: String,
    pub(super) certificate: String,
    pub(super) group: String,
}

/// A target group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) arn: String,
    /// As its creation said them, and changed since.
    pub(super) fields: SortedMap<String, String>,
    pub(super) targets: SortedSet<(String, String)>,
    pub(super) attributes: SortedMap<String, String>,
}

/// The answer to an action instead of carrying it out.
type Fault = Box<dyn Fn(&str) -> Option<Outcome>>;

/// All of it.
#[derive(Default)]
pub(super) struct State {
    pub(super) balancers: Vec<Balancer>,
    pub(super) listeners: Vec<Listener>,
    pub(super) groups: Vec<Group>,
    /// By ARN.
    pub(super) tags: SortedMap<String, SortedMap<String, String>>,
    pub(super) ec2: Ec2,
    pub(super) fault: Option<Fault>,
    /// The id of an instance that does not run, and cannot be registered.
    pub(super) stopped: Option<&'static str>,
    /// After how many requests answers are lost, once: the request is carried out.
    pub(super) lost_at: Option<usize>,
    /// Whether lists show no target group yet.
    pub(super) hides_groups: bool,
    count: usize,
    made: usize,
}

/// The cloud, which tests look into.
#[derive(Clone, Default)]
pub(super) struct Cloud(pub(super) Rc<RefCell<State>>);

impl Cloud {
    /// A host that asks this cloud.
    pub(super) fn host(&self) -> Host {
        self.on(settings())
    }

    /// With other settings.
    pub(super) fn on(&self, settings: Host) -> Host {
        let state = Rc::clone(&self.0);
        settings.answers(move |request| state.borrow_mut().answer(request))
    }

    /// Loses the answer to the request with this number, from now on, once.
    pub(super) fn interrupt(&self, number: usize) {
        let state = &mut *self.0.borrow_mut();
        (state.count, state.lost_at) = (0, Some(number));
    }

    /// Answers an action with something else than what it does.
    pub(super) fn fault(&self, fault: impl Fn(&str) -> Option<Outcome> + 'static) {
        self.0.borrow_mut().fault = Some(Box::new(fault));
    }
}

fn text(it: &Request, name: &str) -> String {
    value(it, name).unwrap_or_default().to_owned()
}

/// The values of a numbered list: `Names.member.1`, with what follows the number.
fn list(it: &Request, name: &str, rest: &str) -> Vec<String> {
    (1..).map_while(|number| value(it, &format!("{name}.{number}{rest}"))).map(str::to_owned).collect()
}

fn pairs(it: &Request, name: &str) -> SortedMap<String, String> {
    list(it, name, ".Key").into_iter().zip(list(it, name, ".Value")).collect()
}

fn xml_pairs(list: &str, pairs: &SortedMap<String, String>) -> String {
    let item = |(key, value): (&String, &String)| format!("<member><Key>{key}</Key><Value>{value}</Value></member>");
    format!("<{list}>{}</{list}>", pairs.iter().map(item).collect::<String>())
}

fn members(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().map(|it| format!("<member>{it}</member>")).collect()
}

impl State {
    fn answer(&mut self, request: &Request) -> Outcome {
        let action = action(request).to_owned();
        if let Some(outcome) = self.fault.as_ref().and_then(|it| it(&action)) {
            return outcome;
        }
        let refused_target = self.stopped.filter(|it| list(request, "Targets.member", ".Id").iter().any(|id| id == it));
        if let (Some(id), "RegisterTargets") = (refused_target, &*action) {
            let why = format!("The following targets are not in a running state and cannot be registered: '{id}'");
            return answer(400, format!("<E><Error><Code>InvalidTarget</Code><Message>{why}</Message></Error></E>"));
        }
        let outcome = match &*request.endpoint {
            "ec2" => self.ec2.answer(&action, request),
            "elbv2" => self.elbv2(&action, request),
            "elb" if action == "DescribeLoadBalancers" => refused(400, "LoadBalancerNotFound"),
            other => panic!("{other}: {request:?}"),
        };
        self.count += 1;
        if self.lost_at == Some(self.count) {
            return Err(Failure::Interrupted("the connection was lost".to_owned()));
        }
        outcome
    }

    fn arn(&mut self, kind: &str, name: &str) -> String {
        self.made += 1;
        format!("arn:aws:elasticloadbalancing:us-east-1:123456789012:{kind}/{name}/{:016x}", self.made)
    }

    fn elbv2(&mut self, action: &str, it: &Request) -> Outcome {
        let Some(Body::Form(form)) = &it.body else { panic!("{it:?}") };
        assert_eq!(value(it, "Version"), Some("2015-12-01"), "{form:?}");
        let body = match self.result(action, it) {
            Ok(body) => body,
            Err(code) => return refused(400, code),
        };
        answer(200, format!("<{action}Response><{action}Result>{body}</{action}Result></{action}Response>"))
    }

    fn result(&mut self, action: &str, it: &Request) -> Result<String, &'static str> {
        let arn = text(it, "LoadBalancerArn");
        let group = text(it, "TargetGroupArn");
        match action {
            "DescribeLoadBalancers" => {
                let names = list(it, "Names.member", "");
                let is_asked = |it: &&Balancer| names.is_empty() || names.contains(&it.name);
                let found: Vec<_> = self.balancers.iter().filter(is_asked).map(Balancer::xml).collect();
                if found.is_empty() && !names.is_empty() {
                    return Err("LoadBalancerNotFound");
                }
                Ok(format!("<LoadBalancers>{}</LoadBalancers>", members(found)))
            }
            "CreateLoadBalancer" => self.create_balancer(it),
            "DeleteLoadBalancer" => {
                self.balancers.retain(|it| it.arn != arn);
                self.listeners.retain(|it| it.balancer != arn);
                Ok(String::new())
            }
            "DescribeListeners" => {
                self.balancer(&arn)?;
                let found = self.listeners.iter().filter(|it| it.balancer == arn).map(Listener::xml);
                Ok(format!("<Listeners>{}</Listeners>", members(found)))
            }
            "CreateListener" => self.create_listener(it),
            "ModifyListener" => self.modify_listener(it),
            "DeleteListener" => {
                self.listeners.retain(|listener| Some(&*listener.arn) != value(it, "ListenerArn"));
                Ok(String::new())
            }
            "DescribeTargetGroups" => {
                let names = list(it, "Names.member", "");
                if names.iter().any(|name| !self.groups.iter().any(|it| it.fields["Name"] == **name)) {
                    return Err("TargetGroupNotFound");
                }
                let is_asked = |group: &&Group| match names.is_empty() {
                    true => !self.hides_groups,
                    false => names.contains(&group.fields["Name"]),
                };
                let found: Vec<_> = self.groups.iter().filter(is_asked).map(|it| it.xml(&self.listeners)).collect();
                Ok(format!("<TargetGroups>{}</TargetGroups>", members(found)))
            }
            "CreateTargetGroup" => self.create_group(it),
            "ModifyTargetGroup" => {
                let Some(Body::Form(form)) = &it.body else { panic!() };
                let health = form.iter().filter(|(key, _)| key.starts_with("Health") || key.ends_with("Count"));
                self.group(&group)?.fields.extend(health.cloned());
                Ok(String::new())
            }
            "DeleteTargetGroup" if self.listeners.iter().any(|it| it.group == group) => Err("ResourceInUse"),
            "DeleteTargetGroup" => {
                self.groups.retain(|it| it.arn != group);
                Ok(String::new())
            }
            "DescribeTags" => {
                let tags = |arn: String| {
                    let pairs = xml_pairs("Tags", self.tags.get(&arn).unwrap_or(&SortedMap::new()));
                    format!("<ResourceArn>{arn}</ResourceArn>{pairs}")
                };
                let arns = list(it, "ResourceArns.member", "");
                assert!((1..=20).contains(&arns.len()), "{arns:?}");
                Ok(format!("<TagDescriptions>{}</TagDescriptions>", members(arns.into_iter().map(tags))))
            }
            "AddTags" => {
                for arn in list(it, "ResourceArns.member", "") {
                    self.tags.get_or_default(arn).extend(pairs(it, "Tags.member"));
                }
                Ok(String::new())
            }
            "DescribeTargetHealth" => {
                let target = |(id, port): &(String, String)| {
                    let target = format!("<Target><Id>{id}</Id><Port>{port}</Port></Target>");
                    format!("{target}<TargetHealth><State>initial</State></TargetHealth>")
                };
                let found = self.group(&group)?.targets.iter().map(target).collect::<Vec<_>>();
                Ok(format!("<TargetHealthDescriptions>{}</TargetHealthDescriptions>", members(found)))
            }
            "RegisterTargets" | "DeregisterTargets" => {
                let ids = list(it, "Targets.member", ".Id");
                let targets = ids.into_iter().zip(list(it, "Targets.member", ".Port"));
                let group = self.group(&group)?;
                for target in targets {
                    _ = if action == "RegisterTargets" {
                        group.targets.insert(target)
                    } else {
                        group.targets.remove(&target)
                    };
                }
                Ok(String::new())
            }
            "DescribeTargetGroupAttributes" => Ok(xml_pairs("Attributes", &self.group(&group)?.attributes)),
            "ModifyTargetGroupAttributes" => {
                self.group(&group)?.attributes.extend(pairs(it, "Attributes.member"));
                Ok(String::new())
            }
            "DescribeLoadBalancerAttributes" => Ok(xml_pairs("Attributes", &self.balancer(&arn)?.attributes)),
            "ModifyLoadBalancerAttributes" => {
                self.balancer(&arn)?.attributes.extend(pairs(it, "Attributes.member"));
                Ok(String::new())
            }
            "SetSecurityGroups" => {
                self.balancer(&arn)?.groups = list(it, "SecurityGroups.member", "");
                Ok(String::new())
            }
            "SetIpAddressType" => {
                self.balancer(&arn)?.address_type = text(it, "IpAddressType");
                Ok(String::new())
            }
            other => panic!("{other}"),
        }
    }

    fn balancer(&mut self, arn: &str) -> Result<&mut Balancer, &'static str> {
        self.balancers.iter_mut().find(|it| it.arn == arn).ok_or("LoadBalancerNotFound")
    }

    fn group(&mut self, arn: &str) -> Result<&mut Group, &'static str> {
        self.groups.iter_mut().find(|it| it.arn == arn).ok_or("TargetGroupNotFound")
    }

    fn create_balancer(&mut self, it: &Request) -> Result<String, &'static str> {
        let name = text(it, "Name");
        if let Some(there) = self.balancers.iter().find(|it| it.name == name) {
            return Ok(format!("<LoadBalancers>{}</LoadBalancers>", members([there.xml()])));
        }
        let or = |name: &str, other: &str| value(it, name).unwrap_or(other).to_owned();
        let mapping = |number: usize| {
            let of = |field: &str| value(it, &format!("SubnetMappings.member.{number}.{field}"));
            let parts = [of("SubnetId")?, of("AllocationId").unwrap_or(""), of("PrivateIPv4Address").unwrap_or("")];
            Some(parts.join(" ").trim().to_owned())
        };
        let balancer = Balancer {
            arn: self.arn("loadbalancer/net", &name),
            name,
            scheme: or("Scheme", "internet-facing"),
            kind: text(it, "Type"),
            address_type: or("IpAddressType", "ipv4"),
            state: "provisioning",
            mappings: (1..).map_while(mapping).collect(),
            groups: list(it, "SecurityGroups.member", ""),
            attributes: [("load_balancing.cross_zone.enabled", "false"), ("access_logs.s3.enabled", "false")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        };
        self.tags.insert(balancer.arn.clone(), pairs(it, "Tags.member"));
        let shown = format!("<LoadBalancers>{}</LoadBalancers>", members([balancer.xml()]));
        self.balancers.push(balancer);
        Ok(shown)
    }

    fn create_listener(&mut self, it: &Request) -> Result<String, &'static str> {
        let (balancer, port, group) =
            (text(it, "LoadBalancerArn"), text(it, "Port"), text(it, "DefaultActions.member.1.TargetGroupArn"));
        self.balancer(&balancer)?;
        self.group(&group)?;
        if self.listeners.iter().any(|it| it.balancer == balancer && it.port == port) {
            return Err("DuplicateListener");
        }
        let protocol = text(it, "Protocol");
        let policy = if protocol == "TLS" { "ELBSecurityPolicy-2016-08" } else { "" };
        let arn = self.arn("listener/net", &port);
        self.tags.insert(arn.clone(), pairs(it, "Tags.member"));
        self.listeners.push(Listener {
            arn,
            balancer,
            port,
            protocol,
            policy: value(it, "SslPolicy").unwrap_or(policy).to_owned(),
            certificate: text(it, "Certificates.member.1.CertificateArn"),
            group,
        });
        Ok(String::new())
    }

    fn modify_listener(&mut self, it: &Request) -> Result<String, &'static str> {
        let arn = text(it, "ListenerArn");
        let listener = self.listeners.iter_mut().find(|it| it.arn == arn).ok_or("ListenerNotFound")?;
        for (field, name) in [
            (&mut listener.protocol, "Protocol"),
            (&mut listener.policy, "SslPolicy"),
            (&mut listener.certificate, "Certificates.member.1.CertificateArn"),
            (&mut listener.group, "DefaultActions.member.1.TargetGroupArn"),
        ] {
            if let Some(new) = value(it, name) {
                new.clone_into(field);
            }
        }
        Ok(String::new())
    }

    fn create_group(&mut self, it: &Request) -> Result<String, &'static str> {
        let name = text(it, "Name");
        if self.groups.iter().any(|it| it.fields["Name"] == name) {
            return Err("DuplicateTargetGroupName");
        }
        let Some(Body::Form(form)) = &it.body else { panic!() };
        let fields = form.iter().filter(|(key, _)| !key.contains('.')).cloned().collect();
        let arn = self.arn("targetgroup", &name);
        self.tags.insert(arn.clone(), pairs(it, "Tags.member"));
        let attributes = [("preserve_client_ip.enabled".to_owned(), "true".to_owned())].into();
        self.groups.push(Group { arn, fields, targets: SortedSet::new(), attributes });
        let shown = self.groups.last().map(|it| it.xml(&[]));
        Ok(format!("<TargetGroups>{}</TargetGroups>", members(shown)))
    }
}

impl Balancer {
    fn xml(&self) -> String {
        let zone = |it: &String| format!("<SubnetId>{}</SubnetId>", it.split(' ').next().unwrap_or_default());
        let Self { arn, name, scheme, kind, address_type, state, .. } = self;
        let zones = members(self.mappings.iter().map(zone));
        let groups = members(self.groups.iter().cloned());
        format!(
            "<LoadBalancerArn>{arn}</LoadBalancerArn><LoadBalancerName>{name}</LoadBalancerName>\
             <DNSName>{name}-1.elb.us-east-1.amazonaws.com</DNSName><Scheme>{scheme}</Scheme><Type>{kind}</Type>\
             <VpcId>vpc-1</VpcId><State><Code>{state}</Code></State><IpAddressType>{address_type}</IpAddressType>\
             <AvailabilityZones>{zones}</AvailabilityZones><SecurityGroups>{groups}</SecurityGroups>"
        )
    }
}

impl Listener {
    fn xml(&self) -> String {
        let Self { arn, port, protocol, policy, certificate, group, .. } = self;
        let certificate = match certificate.is_empty() {
            true => String::new(),
            false => members([format!("<CertificateArn>{certificate}</CertificateArn>")]),
        };
        let forward = format!("<Type>forward</Type><TargetGroupArn>{group}</TargetGroupArn>");
        format!(
            "<ListenerArn>{arn}</ListenerArn><Port>{port}</Port><Protocol>{protocol}</Protocol><SslPolicy>{policy}</SslPolicy>\
             <Certificates>{certificate}</Certificates><DefaultActions>{}</DefaultActions>",
            members([forward])
        )
    }
}

impl Group {
    fn xml(&self, listeners: &[Listener]) -> String {
        let balancers: SortedSet<_> =
            listeners.iter().filter(|it| it.group == self.arn).map(|it| it.balancer.clone()).collect();
        let field = |(key, value): (&String, &String)| match &**key {
            "Name" => format!("<TargetGroupName>{value}</TargetGroupName>"),
            "Action" | "Version" => String::new(),
            key => format!("<{key}>{value}</{key}>"),
        };
        let fields: String = self.fields.iter().map(field).collect();
        let arn = &self.arn;
        let balancers = members(balancers);
        format!("<TargetGroupArn>{arn}</TargetGroupArn>{fields}<LoadBalancerArns>{balancers}</LoadBalancerArns>")
    }
}
