//! The module in its sandbox, behind the real egress. Only the cloud is a few fixed answers, and nothing is signed.

use cloud_provider::Instance;
use egress::{Credentials, Effect, Endpoint, Method, OperationPattern, OperationPlace, PathPattern, Rule};
use sandbox::ProviderSettings;
use tests::capture::{Capture, Step};
use tests::guests;
use tests::vendor::loading::{endpoint, load};

/// As many instances as a page of EC2 has.
const PAGE: usize = 1_000;

/// An instance with as much text as a large real one has: about 4.5 KB.
fn item(number: usize) -> String {
    let tags: String = (0..30)
        .map(|nth| {
            format!("<item><key>example.com/some-longer-key-{nth}</key><value>some longer value {nth}</value></item>\n")
        })
        .collect();
    let addresses: String = (0..10)
        .map(|nth| {
            format!(
                "<item><privateIpAddress>10.{nth}.{}.{}</privateIpAddress><privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName>\
                 <primary>false</primary></item>\n",
                number / 250,
                number % 250
            )
        })
        .collect();
    format!(
        "<item><instancesSet><item>\n<instanceId>i-{number:017x}</instanceId>\n<instanceState><code>16</code><name>running</name>\
         </instanceState>\n<privateDnsName>i-{number:017x}.ec2.internal</privateDnsName>\n<instanceType>m5.large</instanceType>\n\
         <placement><availabilityZone>us-east-1a</availabilityZone><availabilityZoneId>use1-az6</availabilityZoneId></placement>\n\
         <networkInterfaceSet><item><status>in-use</status><attachment><deviceIndex>0</deviceIndex></attachment>\n\
         <privateIpAddressesSet>{addresses}</privateIpAddressesSet></item></networkInterfaceSet>\n<tagSet>{tags}</tagSet>\n\
         </item></instancesSet></item>\n"
    )
}

/// An API at `url` with reads allowed, as an operator has to write it.
fn api(name: &str, version: &str, url: &str) -> Endpoint {
    let rule = Rule {
        operations: vec![OperationPattern::parse("Describe*").unwrap()],
        effect: Some(Effect::Read),
        ..Rule::new([Method::Post], [PathPattern::parse("/").unwrap()])
    };
    Endpoint {
        operation: Some(OperationPlace::Parameter("Action".to_owned())),
        parameters: vec![("Version".to_owned(), version.to_owned())],
        allow: vec![rule],
        ..endpoint(name, url)
    }
}

#[tokio::test]
async fn aws_016_a_full_page_passes_through_the_module() {
    let items: String = (0..PAGE).map(item).collect();
    let answer =
        format!("<DescribeInstancesResponse><reservationSet>{items}</reservationSet></DescribeInstancesResponse>");
    assert!(answer.len() > 4_000_000, "it is as long as a real one: {}", answer.len());
    let cloud = Capture::http(move |_| Step::ok(&answer)).await;

    let settings = [("region", "us-east-1"), ("vpc", "vpc-1"), ("clusterID", "prod")];
    let settings = ProviderSettings {
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..ProviderSettings::default()
    };
    let credentials = Credentials::load(Vec::new()).unwrap();
    let apis = [("ec2", "2016-11-15"), ("elb", "2012-06-01"), ("elbv2", "2015-12-01")];
    let endpoints = apis.iter().map(|(name, version)| api(name, version, &cloud.url())).collect();
    let provider = load(guests::AWS, settings, endpoints, credentials).await;
    let abilities = provider.cloud();
    assert!(abilities.routes.is_some() && abilities.persistent_volumes.is_some());
    assert!(abilities.load_balancers.is_some() && abilities.load_balancer_inventory.is_some());

    let page = abilities.instances.unwrap().list(None, 1_000).await.answer.unwrap();
    let ids: Vec<_> = page.instances.iter().map(|it: &Instance| it.provider_id.clone().unwrap()).collect();
    assert_eq!(ids, (0..PAGE).map(|it| format!("aws:///us-east-1a/i-{it:017x}")).collect::<Vec<_>>());
    assert_eq!(page.instances[0].addresses.len(), 12);

    let requests = cloud.requests();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let text = request.text();
    assert!(text.starts_with("POST / HTTP/1.1\r\n"), "{text}");
    assert!(request.header("content-type").unwrap().starts_with("application/x-www-form-urlencoded"), "{text}");
    let form = "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag-key&Filter.1.Value.1=kubernetes.io%2Fcluster%2Fprod&";
    assert!(text.contains(form), "{text}");
}
