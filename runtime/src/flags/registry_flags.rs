//! How commands reach a registry.

use std::path::PathBuf;

use clap::Args;
use egress::ProxyUrl;
use ipnet::IpNet;
use oci::TokenService;

/// How a registry is reached.
#[derive(Args, Clone, Debug)]
pub struct Registry {
    /// A file with the login in Docker's form, as docker login writes it. Nothing in it is executed
    #[arg(long, value_name = "FILE")]
    pub login: Option<PathBuf>,
    /// A host besides the registry that may be sent the login. Can be repeated
    #[arg(long = "token-service", value_name = "HOST", value_parser = TokenService::parse)]
    pub token_services: Vec<TokenService>,
    /// A PEM file with the only certificate authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Networks in which the registry is, if it has no public address. Can be repeated
    #[arg(long = "address", value_name = "CIDR", value_delimiter = ',')]
    pub addresses: Vec<IpNet>,
    /// A proxy through which the registry is reached: http://host:port. The environment names none
    #[arg(long, value_name = "URL", value_parser = ProxyUrl::parse)]
    pub proxy: Option<ProxyUrl>,
    /// A file with the user's name for the proxy
    #[arg(long, value_name = "FILE", requires = "proxy", requires = "proxy_password_file")]
    pub proxy_user_file: Option<PathBuf>,
    /// A file with the password for the proxy
    #[arg(long, value_name = "FILE", requires = "proxy", requires = "proxy_user_file")]
    pub proxy_password_file: Option<PathBuf>,
    /// A PEM file with the only certificate authorities to trust for an https:// proxy
    #[arg(long, value_name = "FILE", requires = "proxy")]
    pub proxy_ca: Option<PathBuf>,
}
