//! How what aerostat leaves is meant to differ from what AWS's manager leaves, and why.

use crate::beside::Meant;

/// All of them.
pub const TABLE: [Meant; 9] = [
    Meant {
        pattern: "*: services/*/conditions/aerostat.dev/memo: nothing → \"True\"",
        reason: "aerostat remembers in a condition which load balancer is the Service's",
        always: true,
    },
    Meant {
        pattern: "*: cloud/security/k8s-*/tags/kubernetes.io/service-name: nothing → *",
        reason: "a security group says whose it is, so that it is found when its load balancer is gone; AWS's manager \
                 leaves it behind then",
        always: true,
    },
    Meant {
        pattern: "managed/*: cloud/security/k8s-default-safe-<hash>/rules/*: * 443-443 from 0.0.0.0/0: *",
        reason: "AWS's manager asks for the protocol `tls`, which EC2 does not have: nobody could reach the port",
        always: true,
    },
    Meant {
        pattern: "*: cloud/routes/*: *10.244.2.0/24* → nothing",
        reason: "AWS's manager forgets the route of a node that has left: it lists only routes to nodes that there are",
        always: true,
    },
    Meant {
        pattern: "routes/create: requests/reads: *",
        reason: "a process that starts asks whose account it is, and for zones; nodes that it sees a moment apart are \
                 asked about apart",
        always: false,
    },
    Meant {
        pattern: "routes/delete: requests/*: {} → {*\"ec2/DeleteRoute\": 1*}",
        reason: "the route of that node is deleted",
        always: true,
    },
    Meant {
        pattern: "services/*: cloud/security/default/rules/*: * from <group first>: *",
        reason: "nodes let a group that an annotation names in at this Service's node ports alone, by rules that say for which Classic \
                 Load Balancer: AWS's manager opens all ports, and later takes the rule of a person for its own",
        always: true,
    },
    Meant {
        pattern: "refused/full: services/full/*",
        reason: "the load balancer serves where the nodes let it in: its address is told, and the rules that do not fit \
                 are an event of their own",
        always: true,
    },
    Meant {
        pattern: "refused/delete: requests/reads: *",
        reason: "aerostat looks for what is tagged for a Service before it lets it go; AWS's manager leaves behind what \
                 is found by its tags alone",
        always: true,
    },
];
