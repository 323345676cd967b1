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
    /// Whether each run shows it. A row that no run shows any more has to go.
    pub always: bool,
}

/// All of them.
pub const TABLE: [Known; 9] = [
    Known {
        pattern: "*: services/*/conditions/aerostat.dev/memo: nothing → \"True\"",
        reason: "aerostat remembers in a condition which load balancer is the Service's",
        always: true,
    },
    Known {
        pattern: "*: cloud/security/k8s-*/tags/kubernetes.io/service-name: nothing → *",
        reason: "a security group says whose it is, so that it is found when its load balancer is gone; AWS's manager \
                 leaves it behind then",
        always: true,
    },
    Known {
        pattern: "managed/*: cloud/security/k8s-default-safe-<hash>/rules/*: * 443-443 from 0.0.0.0/0: *",
        reason: "AWS's manager asks for the protocol `tls`, which EC2 does not have: nobody could reach the port",
        always: true,
    },
    Known {
        pattern: "*: cloud/routes/*: *10.244.2.0/24* → nothing",
        reason: "AWS's manager forgets the route of a node that has left: it lists only routes to nodes that there are",
        always: true,
    },
    Known {
        pattern: "routes/create: requests/reads: *",
        reason: "a process that starts asks whose account it is, and for zones; nodes that it sees a moment apart are \
                 asked about apart",
        always: false,
    },
    Known {
        pattern: "routes/delete: requests/*: {} → {*\"ec2/DeleteRoute\": 1*}",
        reason: "the route of that node is deleted",
        always: true,
    },
    Known {
        pattern: "services/*: cloud/security/default/rules/*: * from <group first>: *",
        reason: "nodes let a group that an annotation names in at this Service's node ports alone, by rules that say for which Classic \
                 Load Balancer: AWS's manager opens all ports, and later takes the rule of a person for its own",
        always: true,
    },
    Known {
        pattern: "refused/full: services/full/*",
        reason: "the load balancer serves where the nodes let it in: its address is told, and the rules that do not fit \
                 are an event of their own",
        always: true,
    },
    Known {
        pattern: "refused/delete: requests/reads: *",
        reason: "aerostat looks for what is tagged for a Service before it lets it go; AWS's manager leaves behind what \
                 is found by its tags alone",
        always: true,
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
