//! What the system's files say of names: `/etc/hosts` (hosts(5)) and `/etc/resolv.conf` (resolv.conf(5)).

use std::net::{IpAddr, SocketAddr};

const DNS_PORT: u16 = 53;
/// More dots than a name can have.
const DOTS_MAX: usize = 15;

/// Where names are asked for, and what is put behind short ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvConf {
    pub servers: Vec<SocketAddr>,
    search: Vec<String>,
    /// A name with fewer dots is tried with the search domains first.
    dots_min: usize,
}

/// The name servers of this system, none where it has no such file.
pub async fn resolv_conf() -> ResolvConf {
    let text = tokio::fs::read_to_string("/etc/resolv.conf").await;
    ResolvConf::parse(&text.unwrap_or_default())
}

/// The addresses that this system's own file gives `name`.
pub async fn hosts(name: &str) -> Vec<IpAddr> {
    let text = tokio::fs::read_to_string("/etc/hosts").await;
    addresses_of(name, &text.unwrap_or_default())
}

impl ResolvConf {
    /// Only these servers, and names as they are.
    pub fn of(servers: Vec<SocketAddr>) -> Self {
        Self {
            servers,
            search: Vec::new(),
            dots_min: 1,
        }
    }

    fn parse(text: &str) -> Self {
        let mut conf = Self::of(Vec::new());
        for line in text.lines() {
            let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
            match words.next() {
                Some("nameserver") => {
                    let server = words.next().and_then(|word| word.parse::<IpAddr>().ok());
                    conf.servers
                        .extend(server.map(|ip| SocketAddr::new(ip, DNS_PORT)));
                }
                Some("search" | "domain") => conf.search = words.map(String::from).collect(),
                Some("options") => {
                    let dots = words
                        .filter_map(|word| word.strip_prefix("ndots:")?.parse::<usize>().ok())
                        .next_back();
                    conf.dots_min = dots.map_or(conf.dots_min, |dots| dots.min(DOTS_MAX));
                }
                _ => {}
            }
        }
        conf
    }

    /// The names to ask for in place of `name`, in order.
    pub fn names(&self, name: &str) -> Vec<String> {
        if name.ends_with('.') {
            return vec![name.into()];
        }
        let mut names: Vec<String> = self
            .search
            .iter()
            .map(|domain| format!("{name}.{domain}"))
            .collect();
        let as_it_is = match name.matches('.').count() >= self.dots_min {
            true => 0,
            false => names.len(),
        };
        names.insert(as_it_is, name.into());
        names
    }
}

fn addresses_of(name: &str, hosts: &str) -> Vec<IpAddr> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let mut addresses = Vec::new();
    for line in hosts.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(address) = words.next().and_then(|word| word.parse::<IpAddr>().ok()) else {
            continue;
        };
        if words.any(|word| word.eq_ignore_ascii_case(name)) && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::{ResolvConf, addresses_of};
    use std::net::IpAddr;

    #[test]
    fn a_hosts_file_gives_all_addresses_of_a_name() {
        let hosts = "# ours\n127.0.0.1 localhost\n192.0.2.1\tProvider.Test alias # not this\n\
                     nonsense provider.test\n2001:db8::1 provider.test\n192.0.2.1 provider.test\n";
        let expected: Vec<IpAddr> =
            vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        assert_eq!(addresses_of("provider.test", hosts), expected);
        assert_eq!(addresses_of("provider.test.", hosts), expected);
        assert_eq!(addresses_of("not", hosts), Vec::<IpAddr>::new());
    }

    #[test]
    fn short_names_are_asked_for_in_the_search_domains_first() {
        let conf = ResolvConf::parse(
            "nameserver 10.0.0.2\nnameserver fe80::1%eth0\nnameserver ::1\n\
             search a.test b.test\noptions timeout:1 ndots:2\n",
        );
        assert_eq!(
            conf.servers,
            ["10.0.0.2:53".parse().unwrap(), "[::1]:53".parse().unwrap()]
        );
        for (name, expected) in [
            ("gate", &["gate.a.test", "gate.b.test", "gate"][..]),
            ("gate.", &["gate."]),
            (
                "api.gate.test",
                &[
                    "api.gate.test",
                    "api.gate.test.a.test",
                    "api.gate.test.b.test",
                ],
            ),
        ] {
            assert_eq!(conf.names(name), expected);
        }
        assert_eq!(ResolvConf::parse("").names("gate"), ["gate"]);
    }
}
