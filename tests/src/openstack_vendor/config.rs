//! The config of OpenStack's own controller manager in the words of the provider's settings.

/// Keys that are not called so here.
const RENAMED: [(&str, &str); 4] = [
    ("lb-provider", "provider"),
    ("lb-method", "method"),
    ("internal-lb", "internal"),
    ("max-shared-lb", "max-shared"),
];

/// The settings of the provider, by name and value, from a text in sections. What is about Keystone has no setting.
pub(super) fn settings(text: &str) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim).filter(|it| !it.is_empty()) {
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            name.clone_into(&mut section);
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = RENAMED.iter().find(|(theirs, _)| *theirs == key).map_or(key, |(_, ours)| ours);
        let name = match section.split_once(' ') {
            Some(("LoadBalancerClass", class)) => {
                format!("loadBalancers.classes.{}.{}", class.trim_matches('"'), camel(key))
            }
            _ if section == "LoadBalancer" => format!("loadBalancers.{}", camel(key)),
            _ if section == "Route" => camel(key),
            _ if key == "region" => key.to_owned(),
            _ => continue,
        };
        settings.push((name, value.to_owned()));
    }
    settings
}

/// `floating-subnet-id` as `floatingSubnetID`.
fn camel(key: &str) -> String {
    let word = |(index, word): (usize, &str)| match word {
        word if index == 0 => word.to_owned(),
        "id" | "api" | "tls" => word.to_uppercase(),
        word => word[..1].to_uppercase() + &word[1..],
    };
    key.split('-').enumerate().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of cloud.conf about load balancers.
    const KEYS: [&str; 28] = [
        "enabled",
        "lb-version",
        "lb-provider",
        "lb-method",
        "subnet-id",
        "member-subnet-id",
        "network-id",
        "floating-network-id",
        "floating-subnet-id",
        "floating-subnet",
        "floating-subnet-tags",
        "create-monitor",
        "monitor-delay",
        "monitor-timeout",
        "monitor-max-retries",
        "monitor-max-retries-down",
        "manage-security-groups",
        "internal-lb",
        "node-selector",
        "cascade-delete",
        "flavor-id",
        "availability-zone",
        "enable-ingress-hostname",
        "ingress-hostname-suffix",
        "max-shared-lb",
        "container-store",
        "provider-requires-serial-api-calls",
        "default-tls-container-ref",
    ];

    #[test]
    fn each_key_of_cloud_conf_stands_where_the_page_says() {
        let described = include_str!("../../../providers/openstack/README.md");
        let page = include_str!("../../../docs/configuration.md");
        let (_, table) = page.split_once("### From cloud.conf and clouds.yaml").unwrap();
        let rows: Vec<_> = table.lines().filter(|it| it.starts_with("| LoadBalancer |")).collect();
        for key in KEYS {
            let (setting, _) = settings(&format!("[LoadBalancer]\n{key}=x")).remove(0);
            let is_setting = described.contains(&format!("\n| `{setting}` | "));
            match rows.iter().find(|it| it.contains(&format!("`{key}`")) && !it.contains("all but those below")) {
                Some(row) => assert_eq!(row.contains(&format!("`{setting}`")), is_setting, "{row}"),
                None => assert!(is_setting, "{key} has no row, and {setting} is no setting"),
            }
        }
    }

    #[test]
    fn a_config_becomes_settings() {
        let text = "[Global]\nregion=RegionOne\nusername=admin\n[LoadBalancer]\nmax-shared-lb=3\nprovider-requires-serial-api-calls=true\n\
                    [LoadBalancerClass \"gold\"]\nfloating-subnet-id=<subnet ext-b>\n[Route]\nrouter-id=r1\n";
        let settings = settings(text);
        let shown: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            shown,
            [
                "region=RegionOne",
                "loadBalancers.maxShared=3",
                "loadBalancers.providerRequiresSerialAPICalls=true",
                "loadBalancers.classes.gold.floatingSubnetID=<subnet ext-b>",
                "routerID=r1",
            ]
        );
    }
}
