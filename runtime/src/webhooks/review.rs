//! AdmissionReview (admission.k8s.io/v1): what an API server asks, and how the answer reads.

use controllers::persistent_volume_labels::Proposed;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::PersistentVolume;
use serde::Deserialize;
use serde_json::{Value, json};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The question of an API server.
#[derive(Debug, PartialEq)]
pub(super) enum VolumeQuestion {
    /// Whether a PersistentVolume may be created, and how.
    Create { uid: String, user: String, pv: Box<PersistentVolume> },
    /// Something else about a PersistentVolume, which is none of ours.
    Other { uid: String },
}

/// How it is answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ReviewVerdict {
    /// The operations of a JSON patch.
    pub(super) patch: Vec<Value>,
    pub(super) warnings: Vec<String>,
    /// A status and a sentence, if it may not be.
    pub(super) refusal: Option<(u16, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: Deserialize<'de>")]
struct Review<T> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<ReviewRequest<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: Deserialize<'de>")]
struct ReviewRequest<T> {
    #[serde(default)]
    uid: String,
    kind: ObjectKind,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    user_info: UserInfo,
    object: Option<T>,
}

/// The creator of the object, as the API server names it.
#[derive(Default, Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
struct ObjectKind {
    #[serde(default)]
    group: String,
    #[serde(default)]
    kind: String,
}

impl VolumeQuestion {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// A sentence about the fault in it.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("the body is empty".to_owned());
        }
        let ReviewRequest { uid, kind, operation, user_info, object } = request::<ObjectKind>(body)?;
        if !kind.group.is_empty() || kind.kind != "PersistentVolume" {
            return Err(format!("it is about a {:?}, and not about a PersistentVolume", kind.kind));
        }
        if operation != "CREATE" {
            return Ok(Self::Other { uid });
        }
        if let Some(other) = object.filter(|it| it.kind != "PersistentVolume") {
            return Err(format!("it is no {KIND} of a PersistentVolume: its object is a {:?}", other.kind));
        }
        let pv = request::<Proposed>(body)?.object.ok_or("it holds no object")?;
        Ok(Self::Create { uid, user: user_info.username, pv: Box::new(pv.into()) })
    }
}

fn request<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<ReviewRequest<T>, String> {
    let review: Review<T> = serde_json::from_slice(body).map_err(|error| format!("it is no {KIND}: {error}"))?;
    if (review.api_version.as_str(), review.kind.as_str()) != (API_VERSION, KIND) {
        return Err(format!("it is no {KIND} of {API_VERSION}"));
    }
    review.request.ok_or_else(|| "it holds no request".to_owned())
}

impl ReviewVerdict {
    /// A refusal, for whoever wanted it.
    pub(super) fn refused(code: u16, message: String) -> Self {
        Self { refusal: Some((code, message)), ..Self::default() }
    }

    /// The answer to the question with this UID.
    pub(super) fn answer(self, uid: &str) -> Value {
        let mut response = json!({ "uid": uid, "allowed": self.refusal.is_none() });
        if let Some((code, message)) = self.refusal {
            response["status"] = json!({ "code": code, "message": message });
        } else if !self.patch.is_empty() {
            // Base64, as JSON holds bytes in Kubernetes.
            response["patch"] = json!(ByteString(Value::from(self.patch).to_string().into_bytes()));
            response["patchType"] = json!("JSONPatch");
        }
        if !self.warnings.is_empty() {
            response["warnings"] = json!(self.warnings);
        }
        json!({ "apiVersion": API_VERSION, "kind": KIND, "response": response })
    }
}

#[cfg(test)]
mod tests {
    use measured_work::Line;

    use super::*;

    /// The volume of [`body`].
    const OBJECT: &str = r#"{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-1"}}"#;

    /// A question with a change made to it.
    fn body(change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut review = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "request": {
                "uid": "u1",
                "kind": { "group": "", "version": "v1", "kind": "PersistentVolume" },
                "operation": "CREATE",
                "object": { "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": "pv-1" } },
                "oldObject": null,
            },
        });
        change(&mut review);
        review.to_string().into_bytes()
    }

    fn refused(body: &[u8]) -> String {
        VolumeQuestion::parse(body).unwrap_err()
    }

    #[test]
    fn adv_158_reviews_cost_no_more_than_their_bytes() {
        let pieces: [&[u8]; 10] =
            [b"{},", b"[],", b"{", b"[", b"}", b"\"a\":\"b\",", b"\"a\":", b"\\u0041", b"1234567890", b"\"\","];
        let whole = String::from_utf8(body(|_| {})).unwrap();
        assert!(whole.contains(OBJECT), "{whole}");
        let heads = [
            "",
            r#""metadata":{"managedFields":["#,
            r#""metadata":{"ownerReferences":["#,
            r#""metadata":{"labels":{"#,
            r#""spec":{"accessModes":["#,
            r#""spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":["#,
            r#""spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":["#,
        ];
        measured_work::fuzz("reviews", Line { nanoseconds: 20_000, memory: 96 }, &pieces, |text| {
            let text = String::from_utf8_lossy(text);
            drop(VolumeQuestion::parse(text.as_bytes()));
            for head in heads {
                // An end that fits: what is open in the head is closed.
                let open = head.chars().rev().filter_map(|bracket| match bracket {
                    '{' => Some('}'),
                    '[' => Some(']'),
                    _ => None,
                });
                let end: String = open.collect();
                let items = text.trim_end_matches(',');
                let metadata = if head.starts_with("\"spec") { ",\"metadata\":{}" } else { "" };
                let object = format!("{{\"kind\":\"PersistentVolume\",{head}{items}{end}{metadata}}}");
                let object = if head.is_empty() { text.to_string() } else { object };
                drop(VolumeQuestion::parse(whole.replacen(OBJECT, &object, 1).as_bytes()));
            }
        });
    }

    #[test]
    fn case_249_a_body_that_is_no_question_is_refused() {
        assert_eq!(refused(b""), "the body is empty");
        assert!(refused(b"{").starts_with("it is no AdmissionReview: "));
        assert!(refused(b"[]").starts_with("it is no AdmissionReview: "));
        assert!(refused(b"{}").starts_with("it is no AdmissionReview of"));
        assert!(refused(&body(|it| it["apiVersion"] = json!("admission.k8s.io/v1beta1"))).contains("of admission"));
        assert_eq!(refused(&body(|it| it["request"] = Value::Null)), "it holds no request");
        assert!(refused(&body(|it| it["request"]["kind"]["kind"] = json!("Pod"))).contains("\"Pod\""));
        assert!(refused(&body(|it| it["request"]["kind"]["group"] = json!("example.com"))).contains("about"));
        assert_eq!(refused(&body(|it| it["request"]["object"] = Value::Null)), "it holds no object");
        assert!(refused(&body(|it| it["request"]["object"]["kind"] = json!("Node"))).contains("Node"));
        assert!(refused(&body(|it| it["request"]["object"]["spec"] = json!(7))).contains("invalid type"));
    }

    #[test]
    fn only_creations_are_ours() {
        let created = body(|it| it["request"]["userInfo"] = json!({ "username": "alice", "groups": ["a"] }));
        let Ok(VolumeQuestion::Create { uid, user, pv }) = VolumeQuestion::parse(&created) else {
            panic!("it is a creation")
        };
        assert_eq!((uid.as_str(), user.as_str(), pv.metadata.name.as_deref()), ("u1", "alice", Some("pv-1")));
        let Ok(VolumeQuestion::Create { user, .. }) = VolumeQuestion::parse(&body(|_| {})) else {
            panic!("it is a creation")
        };
        assert_eq!(user, "");
        for operation in ["UPDATE", "DELETE", "CONNECT", ""] {
            let body = body(|it| it["request"]["operation"] = json!(operation));
            assert_eq!(VolumeQuestion::parse(&body), Ok(VolumeQuestion::Other { uid: "u1".to_owned() }));
        }
    }

    #[test]
    fn case_249_answers_echo_the_uid() {
        let bare = json!({ "apiVersion": API_VERSION, "kind": KIND, "response": { "uid": "u1", "allowed": true } });
        assert_eq!(ReviewVerdict::default().answer("u1"), bare);
        let patch = vec![json!({ "op": "add", "path": "/a", "value": "b" })];
        let answer = ReviewVerdict { patch, warnings: vec!["w".to_owned()], refusal: None }.answer("u1");
        let response = json!({
            "uid": "u1", "allowed": true, "patchType": "JSONPatch", "warnings": ["w"],
            "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2EiLCJ2YWx1ZSI6ImIifV0=",
        });
        assert_eq!(answer["response"], response);
        let answer = ReviewVerdict::refused(403, "no".to_owned()).answer("u1");
        let response = json!({ "uid": "u1", "allowed": false, "status": { "code": 403, "message": "no" } });
        assert_eq!(answer["response"], response);
    }
}
