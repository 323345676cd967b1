//! Crimes against the host's time, memory and log; and answers that nobody should believe.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "these are the crimes")]

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, thread};

use aerostat_sdk::{Address, Error, Instance, Node, events, http, log};

use crate::wasi::{monotonic_clock, random};
use crate::{Answer, honest, report};

/// `None` if the node's name is no crime of this module.
pub(crate) fn run(node: &Node) -> Option<Answer> {
    let name = node.name.as_str();
    // A node's name cannot hold a colon.
    Some(match name.split_once([':', '.']).map_or((name, ""), |it| it) {
        ("spin", _) => spin(),
        ("sleep-an-hour", _) => {
            thread::sleep(Duration::from_secs(3600));
            report("slept")
        }
        ("eat-memory", _) => eat_memory(),
        ("hold-memory", mebibytes) => hold_memory(mebibytes),
        ("recurse", _) => report(recurse(0)),
        ("recurse-and-log", _) => report(recurse_and_log(0)),
        ("panic", text) => panic!("{text}\n{{\"level\":\"ERROR\",\"fake\":1}}\u{1b}[2J\u{202e}{}", "x".repeat(1 << 20)),
        ("exit", _) => std::process::exit(3),
        ("big-string", _) => Err(Error::Unavailable("x".repeat(40 << 20))),
        ("big-list", _) => Ok(Some(labels(700_000))),
        ("nested-lists", _) => Ok(Some(labels(300_000))),
        ("log-flood", _) => log_flood(),
        ("log-escapes", _) => log_escapes(),
        ("print-flood", _) => print_flood(),
        ("many-events", _) => many_events(),
        ("events-about-nodes", _) => events_about_nodes(),
        ("clock", _) => clock(),
        ("randomness", _) => randomness(),
        ("random-bytes", count) => random_bytes(count.parse().unwrap_or(0)),
        ("handles", _) => handles(),
        ("leak-handles", count) => leak_handles(count.parse().unwrap_or(0)),
        ("environment", _) => environment(),
        ("see-node", _) => report(format_args!("{:?} {:?} {:?}", node.labels, node.zone, node.provider_id)),
        ("wait", rounds) => wait(rounds.parse().unwrap_or(0)),
        ("wait-then-spin", rounds) => {
            black_box(wait(rounds.parse().unwrap_or(0))).ok();
            spin()
        }
        ("fetch", endpoint) => match http::get(endpoint, ["hostile"]).send() {
            Ok(response) => report(response.status()),
            Err(error) => Err(error),
        },
        ("foreign-id", _) => Ok(Some(Instance::new(name, "aws:///eu-1/i-1"))),
        ("bad-address", _) => Ok(Some(honest(name).addresses([Address::internal_ip("192.0.2.1\nevil")]))),
        ("bad-label", _) => Ok(Some(honest(name).label("not a label key", "x"))),
        ("bad-zone", _) => Ok(Some(honest(name).zone("a zone\u{202e}"))),
        ("many-addresses", _) => Ok(Some(honest(name).addresses((0..1000).map(|_| Address::internal_ip("192.0.2.1"))))),
        ("lie", text) => {
            Err(Error::Denied(format!("{text}\n\u{1b}[31m{{\"level\":\"ERROR\"}}\0{}", "x".repeat(1 << 20))))
        }
        _ => return None,
    })
}

fn spin() -> Answer {
    let mut number = 0_u64;
    loop {
        number = black_box(number.wrapping_add(1));
    }
}

fn eat_memory() -> Answer {
    let mut blocks = Vec::new();
    loop {
        blocks.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Takes as many mebibytes as the text begins with, and sleeps.
fn hold_memory(mebibytes: &str) -> Answer {
    let count: usize = mebibytes.split('.').next().and_then(|it| it.parse().ok()).unwrap_or(0);
    let held = black_box(vec![1_u8; count << 20]);
    thread::sleep(Duration::from_secs(3600));
    report(held.len())
}

#[expect(unconditional_recursion, reason = "it is the crime")]
fn recurse(depth: u64) -> u64 {
    black_box(recurse(black_box(depth + 1))) + 1
}

/// Calls the host at every depth, so that the last call is made with next to no stack left.
#[expect(unconditional_recursion, reason = "it is the crime")]
fn recurse_and_log(depth: u64) -> u64 {
    log::debug("deeper", &[]);
    black_box(recurse_and_log(black_box(depth + 1))) + 1
}

fn labels(count: usize) -> Instance {
    let mut instance = honest("rich");
    instance.labels = vec![(String::new(), String::new()); count];
    instance
}

fn log_flood() -> Answer {
    let message = "x".repeat(1 << 20);
    for _ in 0..1024 {
        log::info(&message, &[]);
    }
    report("logged 1 GiB")
}

fn log_escapes() -> Answer {
    let evil = "first\n{\"level\":\"ERROR\",\"fields\":{}}\r\u{1b}[2J\u{202e}\u{2028}\0end";
    log::warn(evil, &[(evil, evil)]);
    log::info("plain", &[("key", "value")]);
    eprintln!("stderr {evil}");
    println!("stdout {evil}");
    report("logged")
}

fn print_flood() -> Answer {
    for _ in 0..1000 {
        eprintln!("{}", "x".repeat(10_000));
    }
    report("printed")
}

fn events_about_nodes() -> Answer {
    for name in ["events-about-nodes", "another-node", "No_Node"] {
        events::warning(Some(name), "Note", "something");
    }
    // With several nodes, nobody could say which it is about.
    events::warning(None, "Note", "something");
    report("noted")
}

fn many_events() -> Answer {
    for number in 0..10_000 {
        events::warning(None, "Noise", &format!("{number} \n{}", "x".repeat(1 << 10)));
        events::warning(None, "Echo", "the same");
    }
    events::warning(Some("aws:///i-1"), "Foreign", "about what is no node");
    report("noted")
}

/// The steps in which the clocks move, in nanoseconds, and what they say.
fn clock() -> Answer {
    let start = Instant::now();
    let mut steps = Vec::new();
    let mut last = start;
    while steps.len() < 5 {
        let now = Instant::now();
        if now != last {
            steps.push((now - last).as_nanos());
            last = now;
        }
    }
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    report(format_args!("{steps:?} {}", wall.as_nanos()))
}

fn randomness() -> Answer {
    report(format_args!("{:x}", RandomState::new().hash_one("what is this call's seed?")))
}

/// Asks for as many random bytes in one piece as the name says.
fn random_bytes(count: u64) -> Answer {
    report(format_args!("{} random bytes", random::get_random_bytes(count).len()))
}

/// Makes a million things that can be waited for, and keeps them.
fn handles() -> Answer {
    let kept: Vec<_> = (0..1_000_000).map(monotonic_clock::subscribe_duration).collect();
    report(format_args!("{} handles", kept.len()))
}

/// Makes as many of them as the name says, and forgets them.
fn leak_handles(count: u64) -> Answer {
    for number in 0..count {
        std::mem::forget(monotonic_clock::subscribe_duration(number));
    }
    report("leaked")
}

/// The parts of the machine that can be seen.
fn environment() -> Answer {
    let environment: Vec<_> = env::vars().collect();
    let arguments: Vec<_> = env::args().collect();
    let file = fs::read("/etc/hostname").map(|it| it.len()).map_err(|it| it.kind());
    let folder = fs::read_dir("/").map(Iterator::count).map_err(|it| it.kind());
    report(format_args!("{environment:?} {arguments:?} {file:?} {folder:?}"))
}

/// Waits 25 ms as often as asked, and does a little honest work each time.
fn wait(rounds: u32) -> Answer {
    let mut items = 0;
    for _ in 0..rounds {
        thread::sleep(Duration::from_millis(25));
        let text: Vec<String> = (0..20).map(|it: u32| it.to_string()).collect();
        items += text.iter().filter(|it| it.parse::<u32>().is_ok()).count();
    }
    report(format_args!("parsed {items} items in {rounds} rounds"))
}
