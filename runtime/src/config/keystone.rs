//! `credentials[].keystone`: a login at OpenStack's identity service.

use egress::{
    AllowedAddresses, ApplicationCredentialName, KeystoneDomain, KeystoneLogin, KeystoneName, KeystoneSettings,
};

use super::file::{self, ApplicationCredentialSection, KeystoneDomainSection, KeystoneObject};

const LOGINS: &str = "password: { user: …, passwordFile: … }, applicationCredential: { id: …, secretFile: … }, trust: { id: …, user: …, \
                      passwordFile: … } or token: { file: … }";

/// The settings of a login. The error is a sentence that says what to write.
pub(super) fn settings(section: file::KeystoneSection) -> Result<KeystoneSettings, String> {
    let file::KeystoneSection {
        base_url,
        insecure,
        password,
        application_credential,
        trust,
        token,
        project,
        addresses,
        tls,
        proxy,
    } = section;
    let base_url = base_url.0.0;
    if !insecure {
        egress::BaseUrl::parse(&base_url.to_string())
            .map_err(|because| format!("`keystone.baseUrl`: {because}, or insecure: true beside it"))?;
    }
    let mut logins = Vec::new();
    if let Some(file::KeystonePassword { user, password_file }) = password {
        logins.push(KeystoneLogin::Password { user: object("password.user", user)?, password_file });
    }
    if let Some(section) = application_credential {
        logins.push(self::application_credential(section)?);
    }
    if let Some(file::KeystoneTrust { id, user, password_file }) = trust {
        logins.push(KeystoneLogin::Trust { id, user: object("trust.user", user)?, password_file });
    }
    logins.extend(token.map(|file::KeystoneToken { file }| KeystoneLogin::Token { file }));
    let login = match (logins.pop(), logins.is_empty()) {
        (Some(login), true) => login,
        (None, _) => return Err(format!("`keystone` names no login; write {LOGINS}")),
        (Some(_), false) => return Err(format!("`keystone` has several logins; write one of {LOGINS}")),
    };
    let project = project.map(|it| object("project", it)).transpose()?;
    match (&login, &project) {
        (KeystoneLogin::ApplicationCredential { .. } | KeystoneLogin::Trust { .. }, Some(_)) => {
            return Err("`keystone.project` stands beside a login that has its own project; remove it".to_owned());
        }
        (KeystoneLogin::Password { .. }, None) => {
            return Err(
                "`keystone.project` is missing: a token is for one; write project: { name: …, domain: { name: … } }"
                    .to_owned(),
            );
        }
        _ => {}
    }
    let (ca_file, client_certificate) = tls.unwrap_or_default().files()?;
    Ok(KeystoneSettings {
        base_url,
        login,
        project,
        addresses: addresses.map_or(AllowedAddresses::Public, |it| it.0),
        ca_file,
        client_certificate,
        proxy: proxy.map(file::ProxySection::proxy),
    })
}

fn application_credential(section: ApplicationCredentialSection) -> Result<KeystoneLogin, String> {
    let ApplicationCredentialSection { id, id_file, name, user, secret_file } = section;
    let name = match (id, id_file, name, user) {
        (Some(id), None, None, None) => ApplicationCredentialName::Id(id),
        (None, Some(file), None, None) => ApplicationCredentialName::IdFile(file),
        (None, None, Some(name), Some(user)) => {
            ApplicationCredentialName::Name { name, user: object("applicationCredential.user", user)? }
        }
        _ => {
            return Err(
                "`keystone.applicationCredential` is not one: write id: …, idFile: …, or both name: … and user: …"
                    .to_owned(),
            );
        }
    };
    Ok(KeystoneLogin::ApplicationCredential { name, secret_file })
}

fn object(key: &str, object: KeystoneObject) -> Result<KeystoneName, String> {
    let domain = |KeystoneDomainSection { id, name }| match (id, name) {
        (Some(id), None) => Ok(KeystoneDomain::Id(id)),
        (None, Some(name)) => Ok(KeystoneDomain::Name(name)),
        _ => Err(format!("`keystone.{key}.domain` has an id and a name, or none of them; write one")),
    };
    match (object.id, object.name, object.domain) {
        (Some(id), None, None) => Ok(KeystoneName::Id(id)),
        (None, Some(name), Some(of)) => Ok(KeystoneName::Name { name, domain: domain(of)? }),
        _ => Err(format!("`keystone.{key}` is nobody: write {{ id: … }}, or {{ name: …, domain: {{ name: … }} }}")),
    }
}
