//! Keys from a file in the format of AWS's shared credentials file (`~/.aws/credentials`). Pure.
//!
//! Sections in brackets are profiles; lines in them are `name = value`; a line that begins with `#` or `;` is a comment. Profiles
//! that name a program, a source profile or a role are not followed: the config says where keys come from.

use super::super::signing::SigningKeys;

const ID: &str = "aws_access_key_id";
const SECRET: &str = "aws_secret_access_key";
const SESSION: &str = "aws_session_token";

/// The keys of a profile. The error continues the sentence that begins with the file, and holds no value of it.
pub(super) fn read(text: &str, profile: &str) -> Result<SigningKeys, String> {
    let mut within = None;
    let (mut profiles, mut values) = (Vec::new(), [(ID, None), (SECRET, None), (SESSION, None)]);
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let (number, line) = (index + 1, line.trim_end());
        if line.trim_start().is_empty() || line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|it| !it.is_empty());
            let name =
                name.ok_or_else(|| format!("has a line {number} that begins a profile and does not end with ]"))?;
            if profiles.contains(&name) {
                return Err(format!("has the profile of line {number} twice; remove one of them"));
            }
            profiles.push(name);
            within = Some(name);
            continue;
        }
        // A line that is set in belongs to the value before it, which is none of ours.
        if line.starts_with([' ', '\t']) && within.is_some() {
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| {
            format!("has a line {number} that is neither a profile in brackets nor name = value; correct it")
        })?;
        let Some(profile_of_line) = within else {
            return Err(format!("has a line {number} before the first profile; write [default] above it"));
        };
        if profile_of_line != profile {
            continue;
        }
        let name = name.trim().to_ascii_lowercase();
        if let Some((_, slot)) = values.iter_mut().find(|(it, _)| *it == name)
            && slot.replace(value.trim()).is_some()
        {
            return Err(format!("says {name} twice in the profile; line {number} is one of them"));
        }
    }
    if !profiles.contains(&profile) {
        let known = if profiles.is_empty() { "none".to_owned() } else { profiles.join(", ") };
        return Err(format!("has no profile [{profile}] (there are: {known}); add it, or correct `profile`"));
    }
    let [(_, id), (_, secret), (_, session)] = values;
    let missing = |name| format!("has no {name} in the profile [{profile}]; add it");
    let id = id.ok_or_else(|| missing(ID))?;
    let secret = secret.ok_or_else(|| missing(SECRET))?;
    // Who has another key may be of another account.
    SigningKeys::new(id, secret, session.filter(|it| !it.is_empty()), None, id)
        .map_err(|because| format!("{because} (profile [{profile}]); correct it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# of the administrators\n[default]\naws_access_key_id = AKIDEFAULT\naws_secret_access_key=s3cr3t/with=signs\n\
                        region = eu-west-1\ns3 =\n    max_queue_size = 1\n\n; another one\n[ prod ]\nAWS_ACCESS_KEY_ID=ASIAPROD\n\
                        aws_secret_access_key = other\naws_session_token = a+b/c==\n";

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        match read(text, "default") {
            Ok(_) => panic!("it was read"),
            Err(because) => {
                assert!(because.contains(expected), "{because}");
                assert!(!because.contains("s3cr3t"), "{because}");
            }
        }
    }

    #[test]
    fn the_keys_are_those_of_the_profile() {
        for (profile, id, secret, session) in
            [("default", "AKIDEFAULT", "s3cr3t/with=signs", None), ("prod", "ASIAPROD", "other", Some("a+b/c=="))]
        {
            let keys = read(FILE, profile).unwrap();
            assert_eq!((keys.id(), keys.secret().as_str()), (id, secret));
            assert_eq!(keys.session().map(|it| it.as_str()), session);
        }
        assert!(read(&FILE.replace('\n', "\r\n"), "prod").is_ok());
        let missing = read(FILE, "test").err().unwrap();
        assert_eq!(missing, "has no profile [test] (there are: default, prod); add it, or correct `profile`");
    }

    #[test]
    fn bad_a_malformed_credentials_file_is_refused() {
        refused("", "has no profile [default] (there are: none)");
        refused("aws_access_key_id = A\n", "line 1 before the first profile");
        refused("[default\naws_access_key_id = A\n", "line 1 that begins a profile");
        refused("[default]\naws_access_key_id: A\n", "line 2 that is neither");
        refused("[default]\naws_access_key_id = A\n", "no aws_secret_access_key");
        refused("[default]\naws_secret_access_key = s3cr3t\n", "no aws_access_key_id");
        refused("[default]\naws_access_key_id = A\naws_secret_access_key =\n", "secret access key that is empty");
        refused("[default]\naws_access_key_id = A B\naws_secret_access_key = s3cr3t\n", "access key id that is none");
        refused("[default]\naws_access_key_id = A\naws_access_key_id = B\n", "aws_access_key_id twice");
        refused("[default]\n[default]\n", "line 2 twice");
        refused("{\"AccessKeyId\": \"A\"}", "line 1 that is neither");
    }
}
