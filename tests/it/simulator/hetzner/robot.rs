//! Dedicated servers, through the Robot.

use serde_json::json;
use tests::clouds::hetzner::robot::{Authorization, Dedicated, Limits, Options, Simulator};

use crate::table::{get, play, row, then};

async fn robot(options: Options) -> Simulator {
    let robot = Simulator::start(options).await.unwrap();
    robot.servers().insert(Dedicated::new(7, "metal-7"));
    robot
}

#[tokio::test]
async fn dedicated_servers_of_hetzner() {
    let server = json!({
        "server_number": 7, "server_name": "metal-7", "server_ip": "198.19.128.7",
        "server_ipv6_net": "2001:db8:d000:7::",
    });
    let one = |key: &str| get(format!("/server/{key}")).is(200, json!({ "server": { "product": "AX41-NVMe" } }));
    let power = |power: &str| get("/reset/7").is(200, json!({ "reset": { "operating_status": power } }));
    let absent = "SERVER_NOT_FOUND";
    let limits = Limits::Windows { per_hour: 1, per_minute: 1 };
    play([
        row("dedicated servers are listed and asked for", robot(Options::default())).asks([
            get("/server").is(200, json!([{ "server": server }])),
            one("7"),
            one("198.19.128.7"),
            get("/server/8").code(404, absent),
            then(|it: &Simulator, _| it.servers().remove(7)),
            get("/server").code(404, absent),
        ]),
        row("the power of a dedicated server is told", robot(Options::default())).asks([
            power("running"),
            then(|it: &Simulator, _| it.servers().update(7, |it| it.power = "shut off")),
            power("shut off"),
        ]),
        row("user and password alone are let in", robot(Options::default())).asks([
            get("/server").status(200),
            then(|robot: &Simulator, _| {
                assert_eq!(robot.requests()[0].authorization, Authorization::Accepted);
                robot.set_token("#ws+simulated:wrong");
            }),
            get("/server").code(401, "UNAUTHORIZED"),
        ]),
        row("too many requests are forbidden", robot(Options { limits: Some(limits), ..Options::default() }))
            .asks([get("/server").status(200), get("/server").code(403, "RATE_LIMIT_EXCEEDED")]),
    ])
    .await;
}
