//! Reports of places that are not reached, and how often they come.

use prometheus::Registry;
use tokio::task::JoinSet;

use super::*;
use crate::cause::CauseKind;
use crate::testing;

const REFUSED: CauseKind = CauseKind::Refused;
const UNKNOWN: CauseKind = CauseKind::UnknownName;

struct WatchedPlace {
    reach: Reach,
    way: Arc<Way>,
    told: Arc<Mutex<Vec<String>>>,
    metrics: Metrics,
    _watch: JoinSet<()>,
}

/// A place that is watched in the background.
fn watched() -> WatchedPlace {
    let (reach, told) = (Reach::default(), Arc::<Mutex<Vec<String>>>::default());
    let way = reach.way(Destination::from(&testing::endpoint("https://api.example.com")));
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let into = told.clone();
    let reports: Reports = Arc::new(move |report| match report {
        Report::EndpointUnreachable(text) => into.lock().push(text),
        other => panic!("{other:?}"),
    });
    let (watching, counted) = (reach.clone(), metrics.clone());
    let mut watch = JoinSet::new();
    watch.spawn(async move { watching.watch(&reports, &counted).await });
    WatchedPlace { reach, way, told, metrics, _watch: watch }
}

impl WatchedPlace {
    /// Fails each second for so many seconds.
    async fn fail(&self, kind: &CauseKind, seconds: u64) {
        for _ in 0..seconds {
            self.way.attempt().failed(WayCause::new(Stop::Place, kind.clone()), "it failed");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn causes(&self) -> Vec<&'static str> {
        self.reach.unreached().borrow().iter().map(|it| it.cause).collect()
    }

    fn gauge(&self, cause: &str) -> i64 {
        self.metrics.endpoint_unreachable.with_label_values(&["api", cause]).get()
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_is_told_of_once_in_a_while_for_each_cause() {
    let it = watched();
    it.fail(&REFUSED, 14).await;
    assert!(it.told.lock().is_empty() && it.causes().is_empty());
    it.fail(&REFUSED, 200).await;
    assert_eq!((it.told.lock().len(), it.causes(), it.gauge("refused")), (1, vec!["refused"], 1));
    assert!(it.told.lock()[0].starts_with("endpoint api (api.example.com:443) cannot be reached: "));
    it.fail(&UNKNOWN, 2).await;
    assert_eq!((it.told.lock().len(), it.causes()), (2, vec!["dns"]));
    assert_eq!((it.gauge("refused"), it.gauge("dns")), (0, 1));
    it.fail(&REFUSED, 120).await;
    assert_eq!(it.told.lock().len(), 3, "the first cause again, five minutes later");
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_reached_again_is_no_longer_named() {
    let it = watched();
    it.fail(&REFUSED, 20).await;
    it.way.attempt().reached();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(it.causes().is_empty());
    assert_eq!(it.gauge("refused"), 0);
    it.fail(&REFUSED, 20).await;
    assert_eq!(
        (it.told.lock().len(), it.causes()),
        (1, vec!["refused"]),
        "a connection that comes and goes is told of once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_its_answer_is_no_failure() {
    let it = watched();
    let attempt = it.way.attempt();
    attempt.connected();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(it.told.lock().is_empty());
    drop(attempt);
    let stuck = it.way.attempt();
    tokio::time::sleep(Duration::from_secs(17)).await;
    assert_eq!((it.told.lock().len(), it.causes()), (1, vec!["timeout"]));
    drop(stuck);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(it.causes().is_empty(), "a call that was ended says nothing");
}
