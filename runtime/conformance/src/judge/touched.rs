//! The judge of what somebody has changed in an object that the provider changes, too.

use serde_json::Value;

use crate::transcript::{Touched, Transcript};

use super::{PromiseJudgement, finding};

pub(crate) fn rest_stays(transcript: &Transcript) -> PromiseJudgement {
    let untried = "this cloud has nothing that the provider has no word for, or the provider has no load balancers";
    PromiseJudgement::of(transcript.touched.as_ref(), untried, |touched| {
        touched
            .iter()
            .flat_map(|object| {
                lost(object).into_iter().map(|sentence| finding("somebody changes it before ensure does", sentence))
            })
            .collect()
    })
}

/// The parts of somebody's change that are gone.
fn lost(Touched { original, before, after }: &Touched) -> Vec<String> {
    let Some(after) = after else {
        return vec![format!("{} {} is gone after a change", before.kind, before.id)];
    };
    let mut paths = Vec::new();
    differences(&original.body, &before.body, String::new(), &mut paths);
    let is_lost = |path: &&String| before.body.pointer(path) != after.body.pointer(path);
    paths
        .iter()
        .filter(is_lost)
        .map(|it| format!("{} {}: {it} is not as somebody has set it", before.kind, before.id))
        .collect()
}

/// Where two values differ, as JSON pointers to the smallest parts that do.
fn differences(one: &Value, other: &Value, at: String, paths: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in other {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                differences(one.get(key).unwrap_or(&Value::Null), value, at, paths);
            }
        }
        (one, other) if one != other => paths.push(at),
        (_, _) => {}
    }
}
