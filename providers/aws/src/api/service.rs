//! The APIs beside EC2.

use aws_api::AwsApi;

/// Classic Load Balancers. They share a host, names of actions and actions of IAM with the API of Network Load Balancers.
pub(crate) const ELB: AwsApi = AwsApi { endpoint: "elb", service: "elasticloadbalancing", version: "2012-06-01" };

/// Network Load Balancers.
pub(crate) const ELBV2: AwsApi = AwsApi { endpoint: "elbv2", service: "elasticloadbalancing", version: "2015-12-01" };
