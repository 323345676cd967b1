//! How what aerostat leaves is meant to differ from what AWS's manager leaves, and why.

use regex::Regex;

use super::differences::Difference;

/// A row: differences that are meant to be.
#[derive(Debug)]
pub struct Known {
    /// A difference as it is shown, with `*` for any text: `services/create: services/*/conditions: *`.
    pub pattern: &'static str,
    /// Why it is meant to be.
    pub reason: &'static str,
}

/// All of them.
pub const TABLE: [Known; 4] = [
    Known {
        pattern: "*: services/*/conditions/aerostat.dev/memo: nothing → \"True\"",
        reason: "aerostat remembers in a condition which load balancer is the Service's",
    },
    Known {
        pattern: "*: cloud/security/k8s-*/tags/kubernetes.io/service-name: nothing → *",
        reason: "a security group says whose it is, so that it is found when its load balancer is gone; AWS's manager \
                 leaves it behind then",
    },
    Known {
        pattern: "managed/*: cloud/security/k8s-default-safe-<hash>/rules/*: * 443-443 from 0.0.0.0/0: *",
        reason: "AWS's manager asks for the protocol `tls`, which EC2 does not have: nobody could reach the port",
    },
    Known {
        pattern: "*: cloud/routes/*: *10.244.2.0/24* → nothing",
        reason: "AWS's manager forgets the route of a node that has left: it lists only routes to nodes that there are",
    },
];

/// Which rows a difference after a step (`services/create`) is meant by.
#[must_use]
pub fn rows(step: &str, difference: &Difference) -> Vec<usize> {
    let line = format!("{step}: {difference}");
    (0..TABLE.len()).filter(|it| matches(TABLE[*it].pattern, &line)).collect()
}

fn matches(pattern: &str, line: &str) -> bool {
    let parts: Vec<_> = pattern.split('*').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).is_ok_and(|it| it.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("a/*: nothing → *", "a/b/c: nothing → \"x\""));
        assert!(!matches("a/*: nothing → *", "a/b: 1 → nothing"));
        assert!(!matches("a.b", "axb"));
    }
}
