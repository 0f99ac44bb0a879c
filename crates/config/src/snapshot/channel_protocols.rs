//! Checks the protocols of a channel.

use super::ProblemCollector;
use headgate_protocol::Protocol;

/// Reports protocols that no cloud has in a form of its own.
pub(super) fn check_cloud(protocols: &[Protocol], at: &str, problems: &mut ProblemCollector<'_>) {
    let others = protocols
        .iter()
        .filter(|one| one.descriptor().clouds.is_none());
    for protocol in others {
        problems.error(
            &format!("{at}/cloud"),
            format!("the cloud does not have `{}` in this form", protocol.name()),
            Some("set `protocols: [messages]`, or remove `cloud`"),
        );
    }
}

/// Reports protocols that only callers speak.
pub(super) fn check(protocols: &[Protocol], at: &str, problems: &mut ProblemCollector<'_>) {
    for (index, protocol) in protocols.iter().enumerate() {
        let served_by = protocol.on_channels();
        if served_by != *protocol {
            let (name, served_by) = (protocol.name(), served_by.name());
            problems.error(
                &format!("{at}/protocols/{index}"),
                format!("`{name}` is a protocol of routes, not of channels"),
                Some(&format!(
                    "write `{served_by}`: its channels serve callers of `{name}`"
                )),
            );
        }
    }
}
