//! Dedicated servers, through the Robot.

use serde_json::json;
use tests::clouds::hetzner::robot::{Authorization, Dedicated, Limits, Options, Simulator};

use crate::client::get;

async fn robot(options: Options) -> Simulator {
    let robot = Simulator::start(options).await.unwrap();
    robot.servers().insert(Dedicated::new(7, "metal-7"));
    robot
}

#[tokio::test]
async fn dedicated_servers_are_listed_and_asked_for() {
    let robot = robot(Options::default()).await;
    let list = get(&robot, "/server").await.unwrap();
    let server = &list.body[0]["server"];
    assert_eq!((&server["server_number"], &server["server_name"]), (&json!(7), &json!("metal-7")));
    assert_eq!(
        (&server["server_ip"], &server["server_ipv6_net"]),
        (&json!("198.19.128.7"), &json!("2001:db8:d000:7::"))
    );
    for key in ["7", "198.19.128.7"] {
        let one = get(&robot, &format!("/server/{key}")).await.unwrap();
        assert_eq!((one.status, &one.body["server"]["product"]), (200, &json!("AX41-NVMe")), "{key}");
    }
    assert_eq!(get(&robot, "/server/8").await.unwrap().code(), (404, "SERVER_NOT_FOUND"));
    robot.servers().remove(7);
    assert_eq!(get(&robot, "/server").await.unwrap().code(), (404, "SERVER_NOT_FOUND"));
}

#[tokio::test]
async fn the_power_of_a_dedicated_server_is_told() {
    let robot = robot(Options::default()).await;
    assert_eq!(get(&robot, "/reset/7").await.unwrap().body["reset"]["operating_status"], "running");
    robot.servers().update(7, |it| it.power = "shut off");
    assert_eq!(get(&robot, "/reset/7").await.unwrap().body["reset"]["operating_status"], "shut off");
}

#[tokio::test]
async fn only_user_and_password_are_let_in() {
    let robot = robot(Options::default()).await;
    get(&robot, "/server").await.unwrap();
    assert_eq!(robot.requests()[0].authorization, Authorization::Accepted);
    robot.set_token("#ws+simulated:wrong");
    assert_eq!(get(&robot, "/server").await.unwrap().code(), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn too_many_requests_are_forbidden() {
    let limits = Limits::Windows { per_hour: 1, per_minute: 1 };
    let robot = robot(Options { limits: Some(limits), ..Options::default() }).await;
    get(&robot, "/server").await.unwrap();
    let second = get(&robot, "/server").await.unwrap();
    assert_eq!(second.code(), (403, "RATE_LIMIT_EXCEEDED"));
}
