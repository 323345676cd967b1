//! Recordings of upstream: `tests/golden/{flags,metrics,process}.json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};

/// A flag of `flags.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct Flag {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) default: String,
    pub(crate) shorthand: Option<char>,
}

/// `metrics.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct Metrics {
    pub(crate) metrics: Vec<Family>,
    pub(crate) slis: Vec<Family>,
}

/// A metric family.
#[derive(Debug, Deserialize, PartialEq)]
pub(crate) struct Family {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) labels: Vec<String>,
    /// Upper bounds.
    #[serde(default, deserialize_with = "bounds")]
    pub(crate) buckets: Vec<f64>,
}

/// Go and Rust write `1.048576e+06` and `1048576`.
fn bounds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|it| it.parse().map_err(D::Error::custom)).collect()
}

/// `process.json`, as much as is compared.
#[derive(Debug, Deserialize)]
pub(crate) struct Process {
    pub(crate) http: Http,
    pub(crate) cases: Vec<Case>,
    pub(crate) extra: Http,
}

/// Answers of the server.
#[derive(Debug, Deserialize)]
pub(crate) struct Http {
    pub(crate) answers: Vec<Answer>,
}

/// One answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    /// GET, unless another was tried.
    pub(crate) method: Option<String>,
    pub(crate) path: String,
    pub(crate) who: String,
    pub(crate) code: u16,
    pub(crate) content_type: String,
    pub(crate) body: Option<String>,
}

/// One combination of flags.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) covers: Vec<u32>,
    pub(crate) flags: Vec<String>,
    pub(crate) result: String,
    #[serde(default)]
    pub(crate) healthz_checks: Vec<String>,
    #[serde(default)]
    pub(crate) last_lines: Vec<String>,
}

impl Case {
    /// Whether it covers this case of the specification.
    pub(crate) fn covers(&self, number: u32) -> bool {
        self.covers.contains(&number)
    }

    /// The error in upstream's last line.
    pub(crate) fn error(&self) -> String {
        let line = self.last_lines.last().map(String::as_str).unwrap_or_default();
        let quoted = line.split_once("err=").map_or(line, |(_, error)| error);
        serde_json::from_str(quoted).unwrap_or_else(|error| panic!("{line}: {error}"))
    }
}

/// Why something of a recording is not compared: a name, or the beginning of names if it ends with `*`.
pub(crate) type Reasons = &'static [(&'static str, &'static str)];

/// The reason for leaving a name out.
pub(crate) fn reason(reasons: Reasons, name: &str) -> Option<&'static str> {
    reasons
        .iter()
        .find(|(pattern, _)| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => *pattern == name,
        })
        .map(|(_, reason)| *reason)
}

/// The families of a page of metrics, as far as they have samples.
pub(crate) fn families(page: &str) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::new();
    for line in page.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ').expect("a name and a type");
            let family =
                Family { name: name.to_owned(), kind: kind.to_owned(), labels: Vec::new(), buckets: Vec::new() };
            families.insert(name.to_owned(), family);
        } else if !line.starts_with('#') {
            add_sample(&mut families, line);
        }
    }
    families
}

fn add_sample(families: &mut BTreeMap<String, Family>, line: &str) {
    let (series, _) = line.rsplit_once(' ').expect("a series and a value");
    let (name, labels) = series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.trim_end_matches('}')));
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|it| name.strip_suffix(it));
    let Some(family) = base.filter(|it| families.contains_key(*it)).or(Some(name)).and_then(|it| families.get_mut(it))
    else {
        panic!("{line} has no TYPE");
    };
    for pair in labels.split("\",").filter(|it| !it.is_empty()) {
        let (label, value) = pair.split_once("=\"").expect("a label and a value");
        let (label, value) = (label.to_owned(), value.trim_end_matches('"').to_owned());
        if label == "le" {
            let bound = value.parse().expect("a bound is a number");
            if !family.buckets.contains(&bound) {
                family.buckets.push(bound);
            }
        } else if !family.labels.contains(&label) {
            family.labels.push(label);
            family.labels.sort();
        }
    }
}

pub(crate) fn flags() -> Vec<Flag> {
    read("flags.json")
}

pub(crate) fn metrics() -> Metrics {
    read("metrics.json")
}

pub(crate) fn process() -> Process {
    read("process.json")
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
