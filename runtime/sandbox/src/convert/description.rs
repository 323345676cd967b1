use cloud_provider::{
    Annotation, ConfigMapKey, Content, Description, Effect, Endpoint, IngressDescription, OperationPlace, Permission,
    Setting,
};

use super::{CLUSTER_ID, CONFIG_MAP, label};
use crate::bindings::description::exports::aerostat::cloud::provider as wit;
use crate::bindings::host::aerostat::cloud::types as shared;
use crate::untrusted::{is_printable, printable};

/// More of anything than this is no description.
const ITEMS: usize = 256;
/// The most words on what requests carry, for all permissions of an endpoint.
const CONTENTS: usize = 1_024;
const PREFIX_BYTES: usize = 128;
/// The longest name of an endpoint or a setting, method, path or action.
const NAME_BYTES: usize = 253;
/// The longest of the texts that are there for people.
const TEXT_BYTES: usize = 1 << 10;
const VERSION_BYTES: usize = 128;
const LARGEST_BATCH: u32 = 1_000;
/// In `extra`: that load balancers pass packets on with their own address as destination, and that several Services may
/// have one address.
const VIP: &str = "load-balancers.vip";
const SHARED: &str = "load-balancers.shared-addresses";
/// In `extra`, with a value: a finalizer of an earlier controller.
const FINALIZER: &str = "finalizer";
/// Kubernetes' own word for a Service that has a load balancer.
const OWN_FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The most `*` in one pattern.
const STARS: usize = 4;

/// A provider's description of itself, or a sentence on what is wrong with it.
///
/// Texts that are compared or looked up are refused unless printable; those only shown are made printable. Each record is
/// taken apart field by field, so that a new field cannot be forgotten here.
pub(crate) fn description(it: wit::Description) -> Result<Description, String> {
    let wit::Description {
        name,
        version,
        provider_id_prefixes,
        endpoints,
        settings,
        annotations,
        writes_annotations,
        node_labels,
        get_batch_size,
        list_page_size,
        load_balancer_concurrency,
        extra,
    } = it;
    if name.is_empty() || !label::is_value(&name) {
        let name = printable(&name, 128);
        return Err(format!("its name {name:?} is not up to 63 letters, digits, '-', '_' and '.'"));
    }
    let prefixes = few("provider id prefixes", provider_id_prefixes)?;
    let endpoints = few("endpoints", endpoints)?;
    let settings = few("settings", settings)?;
    if settings.iter().filter(|it| it.selects_nodes).count() > 1 {
        return Err("several of its settings select nodes".to_owned());
    }
    let annotations = few("annotations", annotations)?;
    let writes_annotations = few("annotations to write", writes_annotations)?;
    let node_labels = few("node labels", node_labels)?;
    let extra = few("words in extra", extra)?;
    Ok(Description {
        name,
        version: printable(&version, VERSION_BYTES),
        provider_id_prefixes: prefixes.into_iter().map(prefix).collect::<Result<_, _>>()?,
        endpoints: endpoints.into_iter().map(endpoint).collect::<Result<_, _>>()?,
        settings: settings.into_iter().map(setting).collect::<Result<_, _>>()?,
        annotations: annotations.into_iter().map(annotation).collect::<Result<_, _>>()?,
        writes_annotations: writes_annotations.into_iter().map(key).collect::<Result<_, _>>()?,
        node_labels: node_labels
            .into_iter()
            .map(|it| if it == "*" { Ok(it) } else { key(it) })
            .collect::<Result<_, _>>()?,
        load_balancer_concurrency: load_balancer_concurrency.map(|it| it.max(1)),
        load_balancer_batches: None,
        load_balancers_are_one: false,
        get_batch_size: get_batch_size.clamp(1, LARGEST_BATCH),
        list_page_size: list_page_size.clamp(1, LARGEST_BATCH),
        ingress: ingress(&extra),
        finalizers: said(&extra, FINALIZER).map(finalizer).collect::<Result<_, _>>()?,
        config_maps: said(&extra, CONFIG_MAP)
            .chain(said(&extra, CLUSTER_ID))
            .map(config_map)
            .collect::<Result<_, _>>()?,
        cluster_ids: said(&extra, CLUSTER_ID).map(config_map).collect::<Result<_, _>>()?,
        // These depend on what the operator has written, too.
        shown_labels: Vec::new(),
        takes_finalizers: Vec::new(),
        node_selector: None,
    })
}

/// The values that `extra` has under this word.
fn said<'a>(extra: &'a [(String, String)], word: &'a str) -> impl Iterator<Item = &'a str> {
    extra.iter().filter(move |(key, _)| key == word).map(|(_, value)| value.as_str())
}

/// A finalizer as Kubernetes takes them from controllers, with a domain. Ours is not an earlier controller's.
fn finalizer(text: &str) -> Result<String, String> {
    if text.contains('/') && label::is_key(text) && text != OWN_FINALIZER {
        return Ok(text.to_owned());
    }
    Err(format!("{:?} is no finalizer of an earlier controller", printable(text, 128)))
}

fn config_map(text: &str) -> Result<ConfigMapKey, String> {
    let no_key = || format!("{:?} is no \"namespace/name/key\" of a ConfigMap", printable(text, 128));
    if text.len() > NAME_BYTES || !is_printable(text) {
        return Err(no_key());
    }
    text.parse().map_err(|()| no_key())
}

/// Nothing else of `extra` is known to this host.
fn ingress(extra: &[(String, String)]) -> IngressDescription {
    let says = |word: &str| extra.iter().any(|(key, value)| key == word && value == "true");
    IngressDescription { vip: says(VIP), shared: says(SHARED) }
}

fn few<T>(what: &str, list: Vec<T>) -> Result<Vec<T>, String> {
    match list.len() {
        0..=ITEMS => Ok(list),
        length => Err(format!("it has {length} {what}, more than {ITEMS}")),
    }
}

/// "" stands for ids without "://".
fn prefix(text: String) -> Result<String, String> {
    if text.len() > PREFIX_BYTES || !text.bytes().all(|it| it.is_ascii_graphic()) {
        let text = printable(&text, 128);
        return Err(format!("its provider id prefix {text:?} is not up to {PREFIX_BYTES} visible ASCII characters"));
    }
    Ok(text)
}

fn endpoint(it: wit::Endpoint) -> Result<Endpoint, String> {
    let wit::Endpoint { name, purpose, example_base_url, headers, operation, parameters, allow, extra } = it;
    let word = |it: String| self::name("a header or parameter", it);
    Ok(Endpoint {
        name: self::name("an endpoint", name)?,
        purpose: printable(&purpose, TEXT_BYTES),
        example_base_url: printable(&example_base_url, TEXT_BYTES),
        headers: few("headers on an endpoint", headers)?.into_iter().map(word).collect::<Result<_, _>>()?,
        operation: match operation {
            None => None,
            Some(wit::OperationPlace::Parameter(it)) => Some(OperationPlace::Parameter(word(it)?)),
            Some(wit::OperationPlace::Header(it)) => Some(OperationPlace::Header(word(it)?)),
        },
        parameters: few("parameters on an endpoint", parameters)?
            .into_iter()
            .map(|(name, value)| Ok((word(name)?, word(value)?)))
            .collect::<Result<_, String>>()?,
        allow: {
            let permissions = few("permissions on an endpoint", allow)?.into_iter().map(permission);
            with_contents(permissions.collect::<Result<_, _>>()?, extra)?
        },
    })
}

/// Adds to the permissions what `extra` of their endpoint says of them; what is not said of one is of no interest here.
fn with_contents(mut allow: Vec<Permission>, extra: Vec<(String, String)>) -> Result<Vec<Permission>, String> {
    if extra.len() > CONTENTS {
        return Err(format!("it has {} of extra on an endpoint, more than {CONTENTS}", extra.len()));
    }
    for (key, value) in extra {
        let Some((number, said)) = key.strip_prefix("allow.").and_then(|it| it.split_once('.')) else { continue };
        let of = number.parse::<usize>().ok().and_then(|it| allow.get_mut(it));
        let Some(Permission { content, names_version, .. }) = of else {
            let key = printable(&key, 128);
            return Err(format!("it says {key:?} of a permission that its endpoint does not have"));
        };
        match said {
            "only" if value.is_empty() => drop(content.only.get_or_insert_default()),
            "only" => content.only.get_or_insert_default().push(name("a parameter", value)?),
            "fields" => content.fields.push(name("a member", value)?),
            "requires" => *names_version |= value == "if-match",
            _ => {
                let (what, of, all) = match said.split_once('.') {
                    Some(("where", it)) => ("a parameter", it, &mut content.values),
                    Some(("body", it)) => ("a member", it, &mut content.body),
                    Some(_) | None => continue,
                };
                let (of, value) = (name(what, of.to_owned())?, name("a value", value)?);
                match all.iter_mut().find(|(it, _)| *it == of) {
                    Some((_, values)) => values.push(value),
                    None => all.push((of, vec![value])),
                }
            }
        }
    }
    Ok(allow)
}

fn permission(it: wit::Permission) -> Result<Permission, String> {
    let wit::Permission { methods, paths, operations, effect, actions } = it;
    let names = |what: &str, names: Vec<String>| {
        few(what, names)?.into_iter().map(|it| name("a permission", it)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Permission {
        methods: few("methods in a permission", methods)?.into_iter().map(|it| method(it).to_owned()).collect(),
        paths: names("paths in a permission", paths)?,
        operations: names("operations in a permission", operations)?,
        effect: match effect {
            wit::Effect::Read => Effect::Read,
            wit::Effect::Update => Effect::Update,
            wit::Effect::Detach => Effect::Detach,
            wit::Effect::Write => Effect::Write,
            wit::Effect::Delete => Effect::Delete,
        },
        actions: few("actions in a permission", actions)?.iter().map(|it| printable(it, TEXT_BYTES)).collect(),
        names_version: false,
        content: Content::default(),
    })
}

fn method(it: shared::Method) -> &'static str {
    match it {
        shared::Method::Get => "GET",
        shared::Method::Head => "HEAD",
        shared::Method::Post => "POST",
        shared::Method::Put => "PUT",
        shared::Method::Patch => "PATCH",
        shared::Method::Delete => "DELETE",
    }
}

fn setting(it: wit::Setting) -> Result<Setting, String> {
    let wit::Setting { name, required, default, doc, selects_nodes } = it;
    let name = setting_name(name)?;
    if selects_nodes && name.contains('*') {
        return Err(format!("its setting {name:?} selects nodes, and there would be several selectors"));
    }
    Ok(Setting {
        name,
        required,
        default: default.map(|it| printable(&it, TEXT_BYTES)),
        doc: printable(&doc, TEXT_BYTES),
        selects_nodes,
    })
}

fn annotation(it: wit::Annotation) -> Result<Annotation, String> {
    let wit::Annotation { key, values, default, doc, selects_nodes } = it;
    Ok(Annotation {
        key: annotation_key(key)?,
        values: printable(&values, TEXT_BYTES),
        default: default.map(|it| printable(&it, TEXT_BYTES)),
        doc: printable(&doc, TEXT_BYTES),
        selects_nodes,
    })
}

/// A word that is compared with what the operator wrote.
fn name(whose: &str, name: String) -> Result<String, String> {
    if name.is_empty() || name.len() > NAME_BYTES || !is_printable(&name) {
        let name = printable(&name, 128);
        return Err(format!("{whose} is called {name:?}, and not by 1 to {NAME_BYTES} bytes of printable text"));
    }
    Ok(name)
}

/// A name, in whose sections `*` stands for what the operator chooses.
fn setting_name(text: String) -> Result<String, String> {
    let name = name("a setting", text)?;
    if !is_pattern(&name) || name.split('.').all(|it| it.contains('*')) {
        return Err(format!(
            "a setting is called {:?}: beside \"*\" there has to be a section without one, and no two stand together",
            printable(&name, 128)
        ));
    }
    Ok(name)
}

/// A key, in whose name, behind the slash, `*` stands for what the Service's author chooses. A pattern for a whole domain
/// would show a provider what is meant for others.
fn annotation_key(pattern: String) -> Result<String, String> {
    if !pattern.contains('*') {
        return key(pattern);
    }
    let is_fine = pattern.split_once('/').is_some_and(|(domain, name)| {
        !domain.contains('*') && name.bytes().any(|it| it.is_ascii_alphanumeric()) && is_pattern(name)
    });
    if !is_fine {
        return Err(format!(
            "{:?} is no pattern for annotation keys: \"*\" stands behind a domain and its \"/\", beside other letters, and \
             no two stand together",
            printable(&pattern, 128)
        ));
    }
    key(pattern.replace('*', "x")).map(|_| pattern)
}

/// Whether each `*` has a beginning and an end of its own, and there are no more than anybody needs.
fn is_pattern(text: &str) -> bool {
    !text.contains("**") && text.matches('*').count() <= STARS
}

fn key(key: String) -> Result<String, String> {
    // A prefix in upper case is fine for Kubernetes here, and only here.
    if !label::is_key(&key.to_lowercase()) {
        return Err(format!("{:?} is no annotation key", printable(&key, 128)));
    }
    Ok(key)
}
