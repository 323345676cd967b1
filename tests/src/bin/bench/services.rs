//! Services whose load balancers take their time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Client;
use kube::api::Api;
use tests::clouds::digitalocean::{Behaviour, Creation};
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::{Cloud, Recorded, Simulator};

use crate::account::Account;
use crate::cloud::with_load_balancers;
use crate::comparison::{Comparison, count, hundredths, seconds};
use crate::contender::{AEROSTAT, BASELINE, Contender};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{Kinds, api_requests, between, kinds, quiet, refused, sum};
use crate::usage::Used;

/// How many Services there are, and what is wanted then.
pub(crate) struct Size {
    services: usize,
    time: &'static str,
    ratio: &'static str,
    calls: &'static str,
    lists: &'static str,
}

/// Few: each is asked about a few times.
pub(crate) const FEW: Size = Size { services: 20, time: "", ratio: "50w: 1.15 or less", calls: "4 or less", lists: "" };

/// Many: one list answers for all that wait. By default the endpoint allows 20 requests a second, and creating them takes 10 s.
pub(crate) const MANY: Size =
    Size { services: 200, time: "41 s or less", ratio: "50w: 1.10 or less", calls: "2.2 or less", lists: "6 or less" };

/// How long the cloud builds a load balancer.
const BUILDING: Duration = Duration::from_secs(30);

/// How many nodes are behind each.
pub(crate) const NODES: usize = 3;

/// How long all may take together. The vendor's manager builds one after the other.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Longer than either contender waits before it polls a load balancer that is being built.
const PAUSE: Duration = Duration::from_secs(17);

pub(crate) struct Round {
    /// From the first creation to the last address, in seconds. Infinite: some have none.
    time: f64,
    /// From the first creation to the last load balancer that was asked for.
    asked: f64,
    pub(crate) cloud: Vec<Recorded>,
    pub(crate) api: Kinds,
    used: Option<Used>,
}

/// Measures and prints all contenders, one after the other.
pub(crate) async fn measure(size: &Size) -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let contenders: Vec<_> = AEROSTAT.into_iter().chain(BASELINE).collect();
    let mut rounds = Vec::new();
    for contender in &contenders {
        let behaviour = Behaviour { creation: Creation::Takes(BUILDING), ..Behaviour::default() };
        let cloud = with_load_balancers(NODES, behaviour).await?;
        let services = numbered(0..size.services);
        let round = round(*contender, &control_plane, cloud, services).await;
        rounds.push(round.with_context(|| contender.name())?);
    }
    control_plane.stop().await?;
    print(size, &contenders, &rounds)
}

/// A Service of type LoadBalancer, with one port.
pub(crate) fn service(number: usize) -> Service {
    Service {
        metadata: ObjectMeta { name: Some(format!("web-{number:03}")), ..ObjectMeta::default() },
        spec: Some(ServiceSpec {
            type_: Some("LoadBalancer".to_owned()),
            selector: Some(BTreeMap::from([("app".to_owned(), "web".to_owned())])),
            ports: Some(vec![ServicePort { port: 80, ..ServicePort::default() }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Services of type LoadBalancer with these numbers.
pub(crate) fn numbered(numbers: std::ops::Range<usize>) -> Vec<Service> {
    numbers.map(service).collect()
}

/// A Service of type LoadBalancer with so many ports, from 80 on.
pub(crate) fn with_ports(number: usize, ports: usize) -> Service {
    let mut service = service(number);
    let port = |port: u16| ServicePort {
        name: Some(format!("port-{port}")),
        port: port.into(),
        target_port: Some(IntOrString::Int(port.into())),
        ..ServicePort::default()
    };
    service.spec.get_or_insert_default().ports = Some((80..).take(ports).map(port).collect());
    service
}

/// Where Services of the benchmark are.
pub(crate) fn api(client: Client) -> Api<Service> {
    Api::namespaced(client, "default")
}

/// Whether a Service has an address.
pub(crate) fn has_address(service: &Service) -> bool {
    let ingress = service.status.as_ref().and_then(|it| it.load_balancer.as_ref()?.ingress.as_ref());
    ingress.is_some_and(|it| !it.is_empty())
}

/// Lets the contender serve these Services, with [`NODES`] nodes.
pub(crate) async fn round<C: Cloud>(
    contender: Contender,
    control_plane: &ControlPlane,
    cloud: Simulator<C>,
    services: Vec<Service>,
) -> Result<Round>
where
    Simulator<C>: Account,
{
    let admin = control_plane.admin().await?;
    Leadership::of(control_plane).await?.clear().await?;
    let running = contender.start(control_plane, &cloud).await?;
    objects::create(control_plane, (0..NODES).map(objects::node).collect(), Api::all).await?;
    objects::wait_for_nodes(control_plane, NODES, PATIENCE).await?;

    let audit = control_plane.audit().from_now()?;
    let (before, since) = (running.usage()?, SystemTime::now());
    let time = build(control_plane, &admin, services).await?;
    quiet(&cloud, PAUSE, PATIENCE).await?;
    let used = before.zip(running.usage()?).map(|(before, after)| Used { before, after });
    let cloud_calls = between(&cloud, since, SystemTime::now());
    let last = cloud_calls.iter().filter(|it| it.is("POST", "/v2/load_balancers")).map(|it| it.at).max();
    let asked = last.and_then(|it| it.duration_since(since).ok()).map_or(f64::INFINITY, |it| it.as_secs_f64());
    let api = api_requests(&audit, &admin, contender).await?;
    running.stop().await?;
    cloud.stop().await;
    objects::clear(control_plane).await?;
    Ok(Round { time, asked, cloud: cloud_calls, api, used })
}

/// Creates the Services, and waits until the last has its address.
async fn build(control_plane: &ControlPlane, admin: &Client, services: Vec<Service>) -> Result<f64> {
    let (start, count) = (Instant::now(), services.len());
    let create = objects::create(control_plane, services, api);
    let wait = objects::wait_for(api(admin.clone()), count, PATIENCE, has_address);
    let (_, last) = tokio::try_join!(create, wait)?;
    Ok(last.map_or(f64::INFINITY, |it| it.duration_since(start).as_secs_f64()))
}

fn print(wanted: &Size, contenders: &[Contender], rounds: &[Round]) -> Result<()> {
    let services = wanted.services;
    let title = format!("{services} Services, {} s to build a load balancer", BUILDING.as_secs());
    let mut table = Comparison::new(&title, contenders);
    let figures = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(|it| Some(of(it))).collect::<Vec<_>>();
    table.row("time, first creation to last address", &figures(&|it| it.time), seconds, wanted.time);
    table.detail("of it until the last was asked for", &figures(&|it| it.asked), seconds);
    let cloud = |it: &Round| it.time / BUILDING.as_secs_f64();
    table.row("time ÷ the cloud's own", &figures(&cloud), hundredths, wanted.ratio);
    let all = services as f64;
    table.row("cloud calls a Service", &figures(&|it| it.cloud.len() as f64 / all), hundredths, wanted.calls);
    table.details(&rounds.iter().map(|it| kinds(&it.cloud)).collect::<Vec<_>>());
    // The first page alone says how many lists there were.
    let is_list =
        |it: &Recorded| it.is("GET", "/v2/load_balancers") && it.query_value("page").is_none_or(|it| it == "1");
    let lists = |it: &Round| it.cloud.iter().filter(|it| is_list(it)).count() as f64;
    table.row("lists of load balancers", &figures(&lists), count, wanted.lists);
    table.detail("refused of them (429)", &figures(&|it| refused(&it.cloud)), count);
    table.row("API requests a Service", &figures(&|it| sum(&it.api) / all), hundredths, "");
    table.details(&rounds.iter().map(|it| it.api.clone()).collect::<Vec<_>>());
    table.usage(&rounds.iter().map(|it| it.used).collect::<Vec<_>>());
    table.print()
}
