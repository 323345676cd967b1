//! AdmissionReview (admission.k8s.io/v1): what an API server asks, and how the answer reads.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::PersistentVolume;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What an API server asks.
#[derive(Debug, PartialEq)]
pub(super) enum Question {
    /// Whether a PersistentVolume may be created, and how.
    Create { uid: String, user: String, pv: Box<PersistentVolume> },
    /// Something else about a PersistentVolume, which is none of ours.
    Other { uid: String },
}

/// How it is answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
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
    request: Option<Request<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: Deserialize<'de>")]
struct Request<T> {
    #[serde(default)]
    uid: String,
    kind: Kind,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    user_info: UserInfo,
    object: Option<T>,
}

/// Who creates it, as the API server says.
#[derive(Default, Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    group: String,
    #[serde(default)]
    kind: String,
}

impl Question {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("the body is empty".to_owned());
        }
        let Request { uid, kind, operation, user_info, .. } = request::<IgnoredAny>(body)?;
        if !kind.group.is_empty() || kind.kind != "PersistentVolume" {
            return Err(format!("it is about a {:?}, and not about a PersistentVolume", kind.kind));
        }
        if operation != "CREATE" {
            return Ok(Self::Other { uid });
        }
        let pv = request::<PersistentVolume>(body)?.object.ok_or("it holds no object")?;
        Ok(Self::Create { uid, user: user_info.username, pv: Box::new(pv) })
    }
}

fn request<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<Request<T>, String> {
    let review: Review<T> = serde_json::from_slice(body).map_err(|error| format!("it is no {KIND}: {error}"))?;
    if (review.api_version.as_str(), review.kind.as_str()) != (API_VERSION, KIND) {
        return Err(format!("it is no {KIND} of {API_VERSION}"));
    }
    review.request.ok_or_else(|| "it holds no request".to_owned())
}

impl Verdict {
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
    use super::*;

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
        Question::parse(body).unwrap_err()
    }

    #[test]
    fn case_249_what_is_no_question_is_refused() {
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
        let Ok(Question::Create { uid, user, pv }) = Question::parse(&created) else { panic!("it is a creation") };
        assert_eq!((uid.as_str(), user.as_str(), pv.metadata.name.as_deref()), ("u1", "alice", Some("pv-1")));
        let Ok(Question::Create { user, .. }) = Question::parse(&body(|_| {})) else { panic!("it is a creation") };
        assert_eq!(user, "");
        for operation in ["UPDATE", "DELETE", "CONNECT", ""] {
            let body = body(|it| it["request"]["operation"] = json!(operation));
            assert_eq!(Question::parse(&body), Ok(Question::Other { uid: "u1".to_owned() }));
        }
    }

    #[test]
    fn case_249_answers_echo_the_uid() {
        let bare = json!({ "apiVersion": API_VERSION, "kind": KIND, "response": { "uid": "u1", "allowed": true } });
        assert_eq!(Verdict::default().answer("u1"), bare);
        let patch = vec![json!({ "op": "add", "path": "/a", "value": "b" })];
        let answer = Verdict { patch, warnings: vec!["w".to_owned()], refusal: None }.answer("u1");
        let response = json!({
            "uid": "u1", "allowed": true, "patchType": "JSONPatch", "warnings": ["w"],
            "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2EiLCJ2YWx1ZSI6ImIifV0=",
        });
        assert_eq!(answer["response"], response);
        let answer = Verdict::refused(403, "no".to_owned()).answer("u1");
        let response = json!({ "uid": "u1", "allowed": false, "status": { "code": 403, "message": "no" } });
        assert_eq!(answer["response"], response);
    }
}
