//! The call that a step is part of, as every step knows it.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, LoadBalancer, Port, Protocol, Result};

use super::annotations::{CERTIFICATE, SSL_PORTS, SslPorts};
use super::marks::Marks;
use crate::settings::LoadBalancerSettings as Settings;

/// One call about one Service.
pub(super) struct ServiceCall<'a> {
    pub(super) service: &'a LoadBalancer,
    pub(super) annotations: Annotations<'a>,
    pub(super) settings: Settings,
    pub(super) marks: Marks,
}

impl<'a> ServiceCall<'a> {
    pub(super) fn of(service: &'a LoadBalancer) -> Result<Self> {
        let (annotations, settings) = (Annotations::of(service), Settings::read()?);
        let marks = Marks::of(&service.owner, annotations, &settings.cluster)?;
        Ok(Self { service, annotations, settings, marks })
    }

    /// Whether the Service's status says that there is a load balancer.
    pub(super) fn is_known(&self) -> bool {
        self.service.memo.is_some() || !self.service.current_ingress.is_empty()
    }

    /// The ARN of the certificate with which TLS ends at a port; `None` where it does not end there.
    ///
    /// # Errors
    ///
    /// `invalid` for what is no ARN of a certificate, for one that the operator does not let authors name, and for one that ACM has in another region, where load balancing does not
    /// find it ("Certificates in ACM are regional resources"): AWS would say so only once there is a load balancer.
    pub(super) fn certificate(&self, port: &Port) -> Result<Option<String>> {
        // White space in it counts, and the vendor's controller does not take it off either.
        let ports = SslPorts::of(self.service.annotation(SSL_PORTS.name).filter(|it| !it.is_empty()));
        if port.protocol == Protocol::Udp || !ports.has(port) {
            return Ok(None);
        }
        let arn = self.annotations.read(&CERTIFICATE)?;
        if let Some(arn) = &arn {
            self.settings.allowed_certificates.check(CERTIFICATE.name, arn)?;
        }
        let here = &*self.settings.cluster.region;
        // IAM has no regions.
        let region = arn.as_deref().and_then(|it| it.split(':').nth(3)).filter(|it| !it.is_empty());
        match region.filter(|it| *it != here) {
            None => Ok(arn),
            Some(region) => Err(Error::invalid(format_args!(
                "annotation {}: {:?} is a certificate of region {region}: name one of region {here}, where the load balancer is",
                CERTIFICATE.name,
                arn.as_deref().unwrap_or_default()
            ))),
        }
    }
}
