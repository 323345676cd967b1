//! Names of parameters, in queries and forms, that carry credentials or change a request's meaning.
//!
//! A guest that could name them would speak to the cloud as somebody else than the operator, or past the policy. The
//! names come from the APIs that take them: RFC 6749, 6750, 7521 and 7523 (OAuth), RFC 7519 (JWT); AWS Signature
//! Version 2 and 4, and Google's, Alibaba's and Azure's signed URLs; API keys of Google Cloud, Azure and IBM Cloud;
//! GitLab's, GitHub's, Azure DevOps' and DigitalOcean's personal access tokens; Keystone's and Vault's tokens; OData's
//! and Rails' ways to override the method. Variants are those that public scanners for leaked secrets look for.

/// Names that are refused, in lower case without separators.
const FORBIDDEN: [&str; 59] = [
    "accesskey",
    "accesskeyid",
    "apikey",
    "apikeyid",
    "assertion",
    "auth",
    "authentication",
    "authorization",
    "awsaccesskeyid",
    "basicauth",
    "bearer",
    "clientassertion",
    "clientkey",
    "consumerkey",
    "cookie",
    "credential",
    "credentials",
    "githubpat",
    "gitlabpat",
    "googleaccessid",
    "hmac",
    "httpheaders",
    "httpmethod",
    "jsessionid",
    "jwt",
    "key",
    "login",
    "masterkey",
    "oauth",
    "ossaccesskeyid",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "personalaccesskey",
    "phpsessid",
    "privatekey",
    "pw",
    "pwd",
    "sas",
    "secret",
    "secretid",
    "secretkey",
    "session",
    "sessionid",
    "sharedkey",
    "sid",
    "sig",
    "signature",
    "sshkey",
    "subscriptionkey",
    "tokenid",
    "totp",
    "userpat",
    "xhttpmethod",
    "xhttpmethodoverride",
];

/// The endings of refused names, in lower case without separators.
const FORBIDDEN_ENDS: [&str; 14] = [
    "accesskey",
    "accesskeyid",
    "apikey",
    "assertion",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "signature",
    "token",
];

/// The last words of refused names: `user_pat`, `azureSas`. These are too short to be looked for elsewhere.
const FORBIDDEN_WORDS: [&str; 8] = ["auth", "jwt", "otp", "pat", "pwd", "sas", "sid", "sig"];

/// The beginnings of refused names: parameters of signed URLs.
const FORBIDDEN_STARTS: [&str; 4] = ["xacs", "xamz", "xgoog", "xoss"];

/// Names that end in `token`, and say where a list goes on or which request is repeated: AWS, Azure, Alibaba, GCP, and
/// Kubernetes' own `continue`.
const PAGES_AND_REPETITIONS: [&str; 10] = [
    "clientrequesttoken",
    "clienttoken",
    "continuationtoken",
    "continuetoken",
    "nextpagetoken",
    "nexttoken",
    "pagetoken",
    "skiptoken",
    "startingtoken",
    "synctoken",
];

/// Names that clouds have for ordinary parameters of some operations, spelled like this: a rule may open them. `Cookie` names the cookie
/// by which a listener of Alibaba Cloud keeps clients at one backend.
const OPENABLE: [&str; 1] = ["Cookie"];

/// Whether a rule that names a parameter like this opens it, although it is refused everywhere else.
pub(super) fn is_openable(name: &str) -> bool {
    OPENABLE.contains(&name)
}

/// Whether no guest may use a parameter of this name.
pub(super) fn is_forbidden(name: &str) -> bool {
    // A name such as `auth[token]` or `$httpHeaders` is read in parts by some servers.
    name.eq_ignore_ascii_case("_method") || name.split(['[', ']', '$']).any(is_forbidden_part)
}

fn is_forbidden_part(part: &str) -> bool {
    let words = words(part);
    let plain = words.concat();
    if PAGES_AND_REPETITIONS.contains(&plain.as_str()) {
        return false;
    }
    FORBIDDEN.contains(&plain.as_str())
        || FORBIDDEN_ENDS.iter().any(|it| plain.ends_with(it))
        || FORBIDDEN_STARTS.iter().any(|it| plain.starts_with(it))
        || words.last().is_some_and(|it| FORBIDDEN_WORDS.contains(&it.as_str()))
}

/// The words of a name, in lower case: `User-Token`, `userToken` and `user.token` have the same two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_alphanumeric() {
            if letter.is_uppercase() && before.is_lowercase() {
                words.push(String::new());
            }
            words.last_mut().expect("there is always one").extend(letter.to_lowercase());
        } else {
            words.push(String::new());
        }
        before = letter;
    }
    words.retain(|it| !it.is_empty());
    words
}

/// The first name in a form's body (`application/x-www-form-urlencoded`) that no guest may use. The form's names are read as
/// leniently as any server reads them.
pub(super) fn forbidden_in_form(body: &[u8]) -> Option<String> {
    // Some servers take a semicolon for the separator.
    body.split(|it| matches!(it, b'&' | b';')).find_map(|pair| {
        let name = pair.split(|it| *it == b'=').next().unwrap_or_default();
        let name: Vec<u8> = name.iter().map(|it| if *it == b'+' { b' ' } else { *it }).collect();
        let name = percent_encoding::percent_decode(&name).decode_utf8_lossy().into_owned();
        is_forbidden(&name).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that authenticate, each with where it is used.
    const CREDENTIALS: [&str; 62] = [
        "access_token",         // RFC 6750
        "refresh_token",        // RFC 6749
        "id_token",             // OpenID Connect
        "client_secret",        // RFC 6749
        "client_assertion",     // RFC 7523
        "assertion",            // RFC 7521
        "password",             // RFC 6749
        "jwt",                  // RFC 7519
        "oauth_token",          // RFC 5849
        "oauth_signature",      // RFC 5849
        "bearer_token",         // RFC 6750
        "AWSAccessKeyId",       // AWS, version 2
        "Signature",            // AWS, version 2; Alibaba
        "X-Amz-Signature",      // AWS, version 4
        "X-Amz-Credential",     // AWS, version 4
        "X-Amz-Security-Token", // AWS, version 4
        "X-Amz-Algorithm",      // AWS, version 4
        "X-Amz-SignedHeaders",  // AWS, version 4
        "X-Goog-Signature",     // Google, signed URLs
        "X-Goog-Credential",    // Google, signed URLs
        "GoogleAccessId",       // Google, signed URLs
        "key",                  // Google, API keys
        "AccessKeyId",          // Alibaba
        "SecurityToken",        // Alibaba
        "OSSAccessKeyId",       // Alibaba, OSS
        "x-oss-signature",      // Alibaba, OSS
        "x-acs-security-token", // Alibaba, version 3
        "sig",                  // Azure, shared access signatures
        "sas",                  // Azure, shared access signatures
        "sas_token",            // Azure, shared access signatures
        "azureSas",             // Azure, shared access signatures
        "subscription-key",     // Azure, API management
        "apikey",               // IBM Cloud
        "api_key",              // many
        "iam_token",            // IBM Cloud
        "private_token",        // GitLab
        "job_token",            // GitLab
        "pat",                  // Azure DevOps, GitHub
        "user_pat",             // the like
        "userPat",              // the like
        "github-pat",           // the like
        "user_token",           // the like
        "User-Token",           // its variants
        "userToken",
        "user.token",
        "USERTOKEN",
        "user token",
        "UserToken",
        "x-auth-token", // Keystone
        "auth[token]",  // Keystone, nested
        "vault_token",  // Vault
        "secret_id",    // Vault, AppRole
        "sessionid",    // sessions in URLs
        "JSESSIONID",
        "session_token", // AWS
        "otp",           // one-time passwords
        "totp",
        "pwd",
        "passphrase",
        "$httpHeaders",           // OData batch
        "_method",                // Rails
        "X-HTTP-Method-Override", // the like
    ];

    /// Parameters that providers for the eight clouds send.
    const HARMLESS: [&str; 66] = [
        // DigitalOcean, Hetzner
        "page",
        "per_page",
        "tag_name",
        "name",
        "type",
        "sort",
        "status",
        "label_selector",
        "cascade",
        // AWS: EC2 and Elastic Load Balancing, as queries and forms
        "Action",
        "Version",
        "NextToken",
        "ClientToken",
        "MaxResults",
        "Marker",
        "NextMarker",
        "PageSize",
        "KeyName",
        "Filter.1.Name",
        "Filter.1.Value.1",
        "InstanceId.1",
        "Names.member.1",
        "Tags.member.1.Key",
        "TagKeys.member.1",
        "Tag.1.Key",
        "LoadBalancerName",
        "Listeners.member.1.SSLCertificateId",
        "PolicyAttributes.member.1.AttributeName",
        "AvailabilityZones.member.1",
        "Subnets.member.1",
        "HealthCheck.Target",
        // Azure
        "api-version",
        "$skiptoken",
        "$skipToken",
        "$filter",
        "$expand",
        "$top",
        "statusOnly",
        // Google
        "pageToken",
        "maxResults",
        "filter",
        "fields",
        "orderBy",
        "requestId",
        "returnPartialSuccess",
        // OpenStack
        "marker",
        "limit",
        "loadbalancer_id",
        "port_id",
        "device_id",
        "network_id",
        "floating_ip_address",
        "project_id",
        "tags",
        // Alibaba
        "RegionId",
        "PageNumber",
        "InstanceIds",
        "VServerGroupId",
        "PersistenceTimeout",
        // IBM
        "start",
        "generation",
        "version",
        "vpc.id",
        "vpc.name",
        "resource_group.id",
        "account_id",
    ];

    #[test]
    fn adv_names_that_carry_credentials_are_refused() {
        for name in CREDENTIALS {
            assert!(is_forbidden(name), "{name}");
            assert!(is_forbidden(&name.to_uppercase()) || name.contains(|it: char| it.is_uppercase()), "{name}");
            let form = format!("Action=Describe&{name}=x").replace(' ', "+");
            assert_eq!(forbidden_in_form(form.as_bytes()).as_deref(), Some(name));
        }
        for name in HARMLESS {
            assert!(!is_forbidden(name), "{name}");
            assert_eq!(forbidden_in_form(format!("{name}=token&Version=2").as_bytes()), None, "{name}");
        }
        // What stands elsewhere in a word is no credential.
        for name in ["keyword", "monkey", "pattern", "compat", "signal", "assign", "passthrough", "sasl_mechanism"] {
            assert!(!is_forbidden(name), "{name}");
        }
    }

    #[test]
    fn adv_form_names_are_read_as_servers_read_them() {
        for form in
            ["%75ser_token=x", "a=b;token=x", "a&token", "user+token=x", "a=1&access%5Ftoken=x", "auth%5Btoken%5D=x"]
        {
            assert!(forbidden_in_form(form.as_bytes()).is_some(), "{form}");
        }
        for form in ["", "a=token", "a=%26token%3Dx", "&&", "=token", "NextToken=abc"] {
            assert_eq!(forbidden_in_form(form.as_bytes()), None, "{form}");
        }
        assert_eq!(forbidden_in_form(b"\xff\xfe=1&x=2"), None);
    }
}
