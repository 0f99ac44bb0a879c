//! The system's DNS configuration: hosts(5), and the name servers and search domains of resolv.conf(5).

use hickory_resolver::Hosts;
use hickory_resolver::config::NameServerConfig;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Name servers, and the search domains for short names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvConf {
    pub servers: Vec<SocketAddr>,
    search: Vec<Name>,
    /// A name with fewer dots is tried with the search domains first.
    dots_min: usize,
}

impl ResolvConf {
    /// Queries only `servers`, without search domains.
    pub fn without_search(servers: Vec<SocketAddr>) -> Self {
        Self {
            servers,
            search: Vec::new(),
            dots_min: 1,
        }
    }

    /// Reads the system's present configuration, which may change while the process runs.
    ///
    /// # Errors
    /// The system has no configuration, or it is invalid.
    pub async fn read() -> io::Result<Self> {
        let (config, options) = tokio::task::spawn_blocking(read_system_conf)
            .await?
            .map_err(io::Error::other)?;
        Ok(Self {
            servers: config.name_servers.iter().filter_map(address).collect(),
            search: config.search,
            dots_min: options.ndots,
        })
    }

    /// The names to query for `name`, in order.
    pub fn names(&self, name: &Name) -> Vec<Name> {
        let mut absolute = name.clone();
        absolute.set_fqdn(true);
        if name.is_fqdn() {
            return vec![absolute];
        }
        let searched = self.search.iter().map(|domain| {
            let mut domain = domain.clone();
            domain.set_fqdn(true);
            name.clone().append_domain(&domain)
        });
        // A name that would be too long with a domain is skipped.
        let mut names: Vec<Name> = searched.filter_map(Result::ok).collect();
        let dots = usize::from(name.num_labels()).saturating_sub(1);
        let position = match dots >= self.dots_min {
            true => 0,
            false => names.len(),
        };
        names.insert(position, absolute);
        names
    }
}

/// The addresses of `name` in the hosts file.
pub async fn hosts(name: &Name) -> Vec<IpAddr> {
    let hosts = tokio::task::spawn_blocking(Hosts::from_system).await;
    match hosts {
        Ok(Ok(hosts)) => addresses_from_hosts(name, &hosts),
        // A system without the file has no such names.
        _ => Vec::new(),
    }
}

fn addresses_from_hosts(name: &Name, hosts: &Hosts) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for family in [RecordType::AAAA, RecordType::A] {
        let lookup = hosts.lookup_static_host(&Query::query(name.clone(), family));
        for record in lookup.iter().flat_map(|lookup| lookup.answers()) {
            let address = record.data.ip_addr();
            addresses.extend(address.filter(|address| !addresses.contains(address)));
        }
    }
    addresses
}

fn address(server: &NameServerConfig) -> Option<SocketAddr> {
    let connection = server.connections.first()?;
    Some(SocketAddr::new(server.ip, connection.port))
}

#[cfg(test)]
mod tests {
    use super::{ResolvConf, addresses_from_hosts};
    use hickory_resolver::Hosts;
    use hickory_resolver::proto::rr::Name;
    use std::net::IpAddr;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    #[test]
    fn a_hosts_file_gives_all_addresses_of_a_name() {
        let file = "# ours\n127.0.0.1 localhost\n192.0.2.1\tProvider.Test alias # not this\n\
                    nonsense provider.test\n2001:db8::1 provider.test\n\
                    192.0.2.2 provider.test\n192.0.2.1 provider.test\n";
        let mut hosts = Hosts::default();
        hosts.read_hosts_conf(file.as_bytes()).unwrap();
        let expected = ["2001:db8::1", "192.0.2.1", "192.0.2.2"]
            .map(|address| address.parse::<IpAddr>().unwrap());
        for written in ["provider.test", "provider.test.", "PROVIDER.test"] {
            assert_eq!(
                addresses_from_hosts(&name(written), &hosts),
                expected,
                "{written}"
            );
        }
        assert!(addresses_from_hosts(&name("not"), &hosts).is_empty());
    }

    #[test]
    fn short_names_are_asked_for_in_the_search_domains_first() {
        let conf = ResolvConf {
            servers: Vec::new(),
            search: vec![name("a.test"), name("b.test.")],
            dots_min: 2,
        };
        for (written, expected) in [
            ("gate", &["gate.a.test.", "gate.b.test.", "gate."][..]),
            ("gate.", &["gate."]),
            (
                "api.gate.test",
                &[
                    "api.gate.test.",
                    "api.gate.test.a.test.",
                    "api.gate.test.b.test.",
                ],
            ),
        ] {
            let names = conf.names(&name(written));
            let names: Vec<_> = names.iter().map(Name::to_ascii).collect();
            assert_eq!(names, expected);
        }
        let conf = ResolvConf::without_search(Vec::new());
        assert_eq!(conf.names(&name("gate")), [name("gate.")]);
    }
}
