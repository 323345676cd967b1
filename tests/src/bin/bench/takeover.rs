//! From the end of the leader to the next.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tests::control_plane::{ControlPlane, Options};

use crate::cloud::simulator;
use crate::comparison::{Comparison, seconds};
use crate::contender::{Contender, Flags, aerostat, baseline};
use crate::leadership::Leadership;

const ROUNDS: usize = 3;

/// How long the second replica is given to find out that there is a leader. No more than it takes to load the module.
const STANDBY: Duration = Duration::from_secs(5);

/// Lets a leader end several times beside a second replica, and prints the middle and the longest of the figures. Flags change nothing.
pub(crate) async fn measure() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let contenders = [aerostat(Flags::Default), baseline(Flags::Default)];
    let mut table = Comparison::new(&format!("takeover, of {ROUNDS} rounds"), &contenders);
    for (end, wanted) in [(End::Asked, "less than 5 s"), (End::Killed, "")] {
        let mut times = Vec::new();
        for contender in contenders {
            let mut of_one = Vec::new();
            for _ in 0..ROUNDS {
                of_one.push(round(contender, &control_plane, end).await?);
            }
            of_one.sort_by(f64::total_cmp);
            times.push(of_one);
        }
        let figures = |index: usize| times.iter().map(|it| it.get(index).copied()).collect::<Vec<_>>();
        table.row(&format!("{}, median", end.name()), &figures(ROUNDS / 2), seconds, wanted);
        table.row(&format!("{}, longest", end.name()), &figures(ROUNDS - 1), seconds, wanted);
    }
    control_plane.stop().await?;
    table.print()
}

#[derive(Clone, Copy)]
enum End {
    Asked,
    Killed,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            End::Asked => "SIGTERM",
            End::Killed => "kill -9",
        }
    }
}

async fn round(contender: Contender, control_plane: &ControlPlane, end: End) -> Result<f64> {
    let cloud = simulator(0).await?;
    let leadership = Leadership::of(control_plane).await?;
    leadership.clear().await?;
    let first = contender.start(control_plane, &cloud).await?;
    let leader = leadership.wait_for_another(None).await?;
    let second = contender.start(control_plane, &cloud).await?;
    tokio::time::sleep(STANDBY).await;

    let start = Instant::now();
    let ending = async {
        match end {
            End::Asked => first.stop().await,
            End::Killed => {
                drop(first);
                Ok(())
            }
        }
    };
    let (ended, next) = tokio::join!(ending, async {
        let next = leadership.wait_for_another(Some(&leader)).await;
        next.map(|_| start.elapsed().as_secs_f64())
    });
    ended?;
    second.stop().await?;
    cloud.stop().await;
    next.context("nobody takes over")
}
