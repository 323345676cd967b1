//! CPU time and deadlines.

use std::time::{Duration, Instant};

use sandbox::CallLimits;
use serde_json::json;
use tests::wait;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::setup::{Guest, service};

/// How late a task may be before leader election is in danger: client-go's retry period.
const RETRY_PERIOD: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adv_31_spinning_guests_do_not_starve_the_process() {
    // All of them at once, beside the places that are kept for load balancers.
    let limits = CallLimits { cpu: Duration::from_millis(200), concurrency: 96, ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    let began = Instant::now();
    let mut spinners = JoinSet::new();
    for _ in 0..64 {
        let instances = lab.instances.clone();
        spinners.spawn(async move { instances.get(&[crate::setup::node("spin")]).await.answer });
    }
    let (end, mut ended) = oneshot::channel();
    let mut heart = JoinSet::new();
    heart.spawn(async move {
        let mut latest = Duration::ZERO;
        let mut beats = tokio::time::interval(Duration::from_millis(50));
        loop {
            let due = beats.tick().await;
            latest = latest.max(due.elapsed());
            if ended.try_recv().is_ok() {
                return latest;
            }
        }
    });
    while let Some(answer) = spinners.join_next().await {
        let text = answer.unwrap().remove(0).unwrap_err().to_string();
        let stopped =
            "provider hostile: get was stopped after 200ms of CPU time (provider.limits.cpu). Only node spin is";
        assert!(text.starts_with(stopped), "{text}");
    }
    let took = began.elapsed();
    end.send(()).unwrap();
    let late = heart.join_next().await.unwrap().unwrap();
    // Each guest has at least twenty turns of 10 ms, and a heartbeat waits for two of each guest at most: a tenth of the whole time,
    // however slow the machine is.
    assert!(late < RETRY_PERIOD.max(took / 4), "a heartbeat came {late:?} late, where all guests took {took:?}");
    assert_eq!(lab.calls("cpu-budget"), 64);
    // It is one node that makes it spin: another one is served.
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_32_a_guest_that_sleeps_ends_at_the_deadline() {
    let limits = CallLimits { wall: Duration::from_millis(300), ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    let start = Instant::now();
    let text = lab.end("sleep-an-hour").await;
    assert_eq!(text, "provider hostile: get was stopped after 300ms (provider.limits.wall)");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(lab.calls("timeout"), 1);
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_32_a_waiting_guest_ends_and_its_socket_is_closed() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let limits = CallLimits { wall: Duration::from_millis(500), ..CallLimits::default() };
    let address = silent.local_addr().unwrap();
    let lab = Guest::hostile().limits(limits).endpoint("silent", address).load().await;
    let cloud = async {
        let (mut socket, _) = silent.accept().await.unwrap();
        let mut sent = Vec::new();
        tokio::time::timeout(wait::DEADLINE, socket.read_to_end(&mut sent))
            .await
            .expect("the socket stayed open")
            .unwrap();
        String::from_utf8(sent).unwrap()
    };
    let (text, sent) = tokio::join!(lab.end("fetch:silent"), cloud);
    assert_eq!(text, "provider hostile: get was stopped after 500ms (provider.limits.wall)");
    assert!(sent.starts_with("GET /hostile "), "the cloud got {sent:?}");
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_84_a_guest_that_waits_often_is_honest() {
    let lab = Guest::hostile().load().await;
    let (honest, dishonest) = tokio::join!(lab.report("wait:500"), lab.end("wait-then-spin:500"));
    assert_eq!(honest, "parsed 10000 items in 500 rounds");
    assert_eq!(dishonest, "provider hostile: get was stopped after 500ms of CPU time (provider.limits.cpu)");
}

#[tokio::test]
async fn calls_over_the_limit_wait_for_their_turn() {
    let limits = CallLimits { concurrency: 2, ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    let start = Instant::now();
    // Six calls of 10 × 25 ms, two at once.
    let nodes = vec![crate::setup::node("wait:10"); 6];
    assert_eq!(lab.instances.get(&nodes).await.answer.len(), 6);
    assert!(start.elapsed() >= Duration::from_millis(750), "all ran at once: {:?}", start.elapsed());
}

#[derive(Clone, Copy, Debug)]
enum Hanging {
    LoadBalancers,
    Instances,
}

/// Lets a cloud hang on more calls about one capability than there are places, and asks about everything else.
async fn check_hanging(hanging: Hanging) {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let lab = Guest::hostile().endpoint("silent", silent.local_addr().unwrap()).load().await;
    let mut calls = JoinSet::new();
    for nth in 0..20 {
        let (instances, load_balancers) = (lab.instances.clone(), lab.load_balancers.clone());
        // Another path for each: the same question would be asked once.
        let path = [nth.to_string()];
        let crime = json!({ "endpoint": "silent", "method": "GET", "path": path, "times": 1 }).to_string();
        calls.spawn(async move {
            match hanging {
                Hanging::LoadBalancers => drop(load_balancers.ensure(&service(&crime)).await),
                Hanging::Instances => drop(instances.get(&[crate::setup::node(&crime)]).await),
            }
        });
    }
    let mut sockets = Vec::new();
    let others = async {
        // Of eight places two are the other capability's.
        for _ in 0..6 {
            sockets.push(silent.accept().await.unwrap());
        }
        match hanging {
            Hanging::LoadBalancers => lab.assert_alive().await,
            Hanging::Instances => {
                lab.load_balancers.ensure(&service("elsewhere")).await.answer.unwrap();
            }
        }
        lab.identity.identity().await.unwrap();
    };
    let answered = tokio::time::timeout(wait::DEADLINE, others).await;
    answered.unwrap_or_else(|_| panic!("calls about {hanging:?} take all places"));
    assert!(calls.try_join_next().is_none(), "they hang on");
}

#[tokio::test]
async fn load_balancer_calls_that_hang_leave_room_for_instances() {
    check_hanging(Hanging::LoadBalancers).await;
}

#[tokio::test]
async fn instance_calls_that_hang_leave_room_for_load_balancers() {
    check_hanging(Hanging::Instances).await;
}
