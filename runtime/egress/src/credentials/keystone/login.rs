//! The body of a request for a token. Pure.
//!
//! The API: "Authentication and token management" of the Identity API v3 reference.

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::settings::{ApplicationCredentialName, KeystoneDomain, KeystoneLogin, KeystoneName};
use crate::canonical::shown;

/// The words of the files that a login has.
#[derive(Clone, Eq, PartialEq)]
pub(super) struct LoginWords {
    /// The password, the secret or the token.
    pub(super) secret: Zeroizing<String>,
    /// The id of the application credential, where a file has it.
    pub(super) id: Option<String>,
}

/// The body of a request for a token.
pub(super) fn body(login: &KeystoneLogin, project: Option<&KeystoneName>, words: &LoginWords) -> Zeroizing<String> {
    let secret: &str = &words.secret;
    let (method, proof, scope) = match login {
        KeystoneLogin::Password { user, .. } => ("password", json!({ "user": with_password(user, secret) }), None),
        KeystoneLogin::Trust { id, user, .. } => {
            let scope = json!({ "OS-TRUST:trust": { "id": id } });
            ("password", json!({ "user": with_password(user, secret) }), Some(scope))
        }
        KeystoneLogin::ApplicationCredential { name, .. } => {
            let mut proof = match (name, &words.id) {
                (ApplicationCredentialName::Name { name, user }, _) => json!({ "name": name, "user": named(user) }),
                (ApplicationCredentialName::Id(id), _) => json!({ "id": id }),
                (ApplicationCredentialName::IdFile(_), id) => json!({ "id": id }),
            };
            proof["secret"] = secret.into();
            ("application_credential", proof, None)
        }
        KeystoneLogin::Token { .. } => ("token", json!({ "id": secret }), None),
    };
    let scope = scope.or_else(|| project.map(|it| json!({ "project": named(it) })));
    let mut identity = json!({ "methods": [method] });
    identity[method] = proof;
    let mut auth = json!({ "identity": identity });
    if let Some(scope) = scope {
        auth["scope"] = scope;
    }
    Zeroizing::new(json!({ "auth": auth }).to_string())
}

fn named(name: &KeystoneName) -> Value {
    match name {
        KeystoneName::Id(id) => json!({ "id": id }),
        KeystoneName::Name { name, domain: KeystoneDomain::Id(id) } => json!({ "name": name, "domain": { "id": id } }),
        KeystoneName::Name { name, domain: KeystoneDomain::Name(domain) } => {
            json!({ "name": name, "domain": { "name": domain } })
        }
    }
}

fn with_password(user: &KeystoneName, password: &str) -> Value {
    let mut user = named(user);
    user["password"] = password.into();
    user
}

/// The login in a sentence: `the user "aerostat" of the domain "Default" for the project "kubernetes" of …`.
pub(super) fn described(login: &KeystoneLogin, project: Option<&KeystoneName>) -> String {
    let scope = project.map(|it| format!(" for the project {}", words(it))).unwrap_or_default();
    match login {
        KeystoneLogin::Password { user, .. } => format!("the user {}{scope}", words(user)),
        KeystoneLogin::Trust { id, user, .. } => format!("the user {} with the trust {}", words(user), shown(id)),
        KeystoneLogin::ApplicationCredential { name, .. } => match name {
            ApplicationCredentialName::Id(id) => format!("the application credential {}", shown(id)),
            ApplicationCredentialName::IdFile(file) => {
                format!("the application credential whose id is in {}", file.display())
            }
            ApplicationCredentialName::Name { name, user } => {
                format!("the application credential {} of the user {}", shown(name), words(user))
            }
        },
        KeystoneLogin::Token { file } => format!("the token in {}{scope}", file.display()),
    }
}

fn words(name: &KeystoneName) -> String {
    match name {
        KeystoneName::Id(id) => format!("with the id {}", shown(id)),
        KeystoneName::Name { name, domain: KeystoneDomain::Id(id) } => {
            format!("{} of the domain with the id {}", shown(name), shown(id))
        }
        KeystoneName::Name { name, domain: KeystoneDomain::Name(domain) } => {
            format!("{} of the domain {}", shown(name), shown(domain))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> KeystoneName {
        KeystoneName::Name { name: name.to_owned(), domain: KeystoneDomain::Name("Default".to_owned()) }
    }

    fn check(login: KeystoneLogin, project: Option<KeystoneName>, expected: Value) {
        let words = LoginWords { secret: Zeroizing::new("s3cr3t \"word".to_owned()), id: Some("of-a-file".to_owned()) };
        let body: Value = serde_json::from_str(&body(&login, project.as_ref(), &words)).unwrap();
        assert_eq!(body, json!({ "auth": expected }));
        assert!(!described(&login, project.as_ref()).contains("s3cr3t"));
    }

    #[test]
    fn each_login_has_the_form_of_the_api() {
        let file = || "/etc/secret".into();
        let user = json!({ "name": "a", "domain": { "name": "Default" }, "password": "s3cr3t \"word" });
        check(
            KeystoneLogin::Password { user: name("a"), password_file: file() },
            Some(KeystoneName::Id("p1".to_owned())),
            json!({ "identity": { "methods": ["password"], "password": { "user": user } }, "scope": { "project": { "id": "p1" } } }),
        );
        check(
            KeystoneLogin::Trust { id: "t1".to_owned(), user: name("a"), password_file: file() },
            None,
            json!({ "identity": { "methods": ["password"], "password": { "user": user } },
                "scope": { "OS-TRUST:trust": { "id": "t1" } } }),
        );
        let of = |name| KeystoneLogin::ApplicationCredential { name, secret_file: file() };
        let proof = |proof: Value| json!({ "identity": { "methods": ["application_credential"], "application_credential": proof } });
        check(
            of(ApplicationCredentialName::Id("c1".to_owned())),
            None,
            proof(json!({ "id": "c1", "secret": "s3cr3t \"word" })),
        );
        check(
            of(ApplicationCredentialName::IdFile(file())),
            None,
            proof(json!({ "id": "of-a-file", "secret": "s3cr3t \"word" })),
        );
        let user = KeystoneName::Name { name: "a".to_owned(), domain: KeystoneDomain::Id("default".to_owned()) };
        check(
            of(ApplicationCredentialName::Name { name: "c".to_owned(), user }),
            None,
            proof(
                json!({ "name": "c", "secret": "s3cr3t \"word", "user": { "name": "a", "domain": { "id": "default" } } }),
            ),
        );
        check(
            KeystoneLogin::Token { file: file() },
            Some(name("p")),
            json!({ "identity": { "methods": ["token"], "token": { "id": "s3cr3t \"word" } },
                "scope": { "project": { "name": "p", "domain": { "name": "Default" } } } }),
        );
    }
}
