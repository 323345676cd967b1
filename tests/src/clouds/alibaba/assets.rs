//! An account, and the way of a request to it.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, Cloud, Limits, Quota, Recorded, Shared};

use super::behaviour::Behaviour;
use super::errors::{self, Refused, not_permitted, refused, unserved};
use super::pairs::AcsPairs;
use super::ram::Ram;
use super::region::REGION;
use super::world::World;
use super::{disks, instances, network_balancers, networks, published, routes, security, slb_balancers, sts};

/// The version of the Security Token Service.
const STS: &str = "2015-04-01";

/// The possessions of an account in a region.
pub struct Assets {
    ram: Arc<Ram>,
    world: Shared<World>,
}

impl Cloud for Assets {
    const NAME: &'static str = "Alibaba Cloud";
    const HOSTS: &'static [&'static str] = &[
        "ecs.cn-hangzhou.aliyuncs.com",
        "slb.cn-hangzhou.aliyuncs.com",
        "nlb.cn-hangzhou.aliyuncs.com",
        "vpc.cn-hangzhou.aliyuncs.com",
        "sts.cn-hangzhou.aliyuncs.com",
    ];
    const LIMITS: Limits = Limits::Windows { per_hour: 100_000, per_minute: 2_000 };
    /// Its hosts speak nothing newer.
    const PROTOCOLS: &'static [&'static str] = &["http/1.1"];
    // Each request is signed.
    const JUDGES: bool = true;

    fn place(request: &mut Recorded) {
        let form: Vec<(String, String)> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        let of = |header: &str, name: &str| {
            let value = request.headers.get(header).and_then(|it| it.to_str().ok().map(str::to_owned));
            // The Security Token Service takes them as parameters, too.
            value.or_else(|| form.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone()))
        };
        let (Some(action), Some(version)) = (of("x-acs-action", "Action"), of("x-acs-version", "Version")) else {
            return;
        };
        let product = if version == STS { "sts" } else { published::product(&version).unwrap_or("nothing") };
        request.path = format!("/{product}/{action}");
        request.query.extend(form);
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        if request.path == sts::WITH_OIDC {
            return None;
        }
        let mut answer = *self.ram.judge(request).err()?;
        self.date(&mut answer);
        Some(answer)
    }

    fn act(&self, request: &Recorded) -> Answer {
        if request.path.starts_with("/sts/") {
            return sts::answer(&self.ram, request).unwrap_or_else(|refused| *refused);
        }
        let mut wrong = published::check_request(request);
        let mut answer = self.answer(request).unwrap_or_else(|refused| *refused);
        wrong.extend(published::check_answer(request, &answer));
        answer.wrong = wrong;
        answer
    }

    fn withhold(&self, request: &Recorded) -> Answer {
        let is_for_sts = request.path.starts_with("/sts/");
        let wrong = if is_for_sts { Vec::new() } else { published::check_request(request) };
        Answer { wrong, ..Answer::no_content() }
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(status)
    }

    fn empty_list(request: &Recorded) -> Answer {
        Answer::ok(&nothing_listed(&request.path))
    }

    fn show_quota(_: &mut Answer, _: &Quota) {
        // The answer does not say how many requests are left, or when to come back.
    }

    fn identify(answer: &mut Answer, request: &str) {
        if let Ok(mut body) = serde_json::from_slice::<Value>(&answer.body)
            && body.is_object()
        {
            body["RequestId"] = json!(request.to_uppercase());
            answer.body = body.to_string().into_bytes();
        }
    }
}

impl Assets {
    /// An account with a network and nothing in it.
    pub(super) fn new(behaviour: Behaviour, ram: Arc<Ram>, owner: u64) -> Assets {
        Assets { ram, world: Shared::new(World::new(behaviour, owner)) }
    }

    /// Keys and rights, which are the same for all accounts.
    #[must_use]
    pub fn ram(&self) -> &Arc<Ram> {
        &self.ram
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world.now())
    }

    /// Says the cloud's time.
    fn date(&self, answer: &mut Answer) {
        let time = jiff::Timestamp::try_from(self.ram.now()).unwrap_or_default();
        answer.set("date", &time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    }

    fn answer(&self, request: &Recorded) -> Result<Answer, Refused> {
        let pairs = AcsPairs::of(request);
        if !published::has(&request.path) {
            return Err(refused(404, "InvalidAction.NotFound", "Specified api is not found."));
        }
        if pairs.get("RegionId").is_some_and(|it| it != REGION) {
            return Err(refused(404, "InvalidRegionId.NotFound", "The specified RegionId does not exist."));
        }
        if self.ram.denies(&request.path) {
            // An account that may not see machines gets an empty list, and no error.
            let is_open = request.path.starts_with("/ecs/Describe") && pairs.flag("DryRun") != Some(true);
            return if is_open { Ok(Self::empty_list(request)) } else { Err(not_permitted(pairs.action())) };
        }
        if pairs.flag("DryRun") == Some(true) {
            return Err(errors::tried());
        }
        let world = &mut self.world.now();
        let product = request.path.trim_start_matches('/').split('/').next().unwrap_or_default();
        match (product, pairs.action()) {
            ("ecs", "DescribeInstances") => instances::list(world, pairs),
            ("ecs", "DescribeDisks") => disks::list(world, pairs),
            ("ecs", action) if action.contains("NetworkInterface") => instances::interfaces(world, pairs),
            ("ecs", action) if action.contains("SecurityGroup") => security::answer(world, pairs),
            ("slb", _) => slb_balancers::answer(world, pairs),
            ("nlb", _) => network_balancers::answer(world, pairs),
            ("vpc", action) if action.contains("RouteEntr") => routes::answer(world, pairs),
            ("vpc", _) => networks::answer(world, pairs),
            _ => Err(unserved(pairs.action())),
        }
    }
}

/// The answer of a list with nothing in it: each of its lists is there, and empty.
fn nothing_listed(path: &str) -> Value {
    let fields = published::answer_part(path, &[]).as_object().into_iter().flatten();
    let fields = fields.filter_map(|(name, part)| {
        let empty = match part {
            Value::Array(_) => json!([]),
            Value::Object(inner) => match inner.iter().next() {
                Some((wrapped, Value::Array(_))) => json!({ wrapped: [] }),
                _ => return None,
            },
            _ if name == "NextToken" => json!(""),
            _ if name == "TotalCount" && part == "integer" => json!(0),
            _ => return None,
        };
        Some((name.clone(), empty))
    });
    Value::Object(fields.collect())
}
