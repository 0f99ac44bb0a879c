//! Builds the protocols that a file declares.

use super::ProblemCollector;
use crate::protocols::shipped;
use headgate_core::pointer::child;
use headgate_core::task::TaskSettings;
use headgate_protocol::{Protocol, ProtocolConfig, ProtocolTable};
use std::collections::BTreeMap;

/// Builds the declared protocols, and the shipped ones of other names. Those of families are built with the families.
pub(super) fn build(
    configs: &BTreeMap<String, ProtocolConfig>,
    tasks: &TaskSettings,
    problems: &mut ProblemCollector<'_>,
) -> ProtocolTable {
    let mut declared: Vec<Protocol> = Vec::new();
    let families = tasks.families.values();
    for protocol in families.filter_map(|family| family.protocol) {
        if !protocol.is_built_in() && !declared.contains(&protocol) {
            declared.push(protocol);
        }
    }
    for (name, config) in configs {
        let at = child("/protocols", name);
        match config.build(name) {
            Ok(protocol) if declared.contains(&protocol) => {
                let reason = format!("a family has a protocol `{name}` as well");
                problems.key_error(&at, reason, Some("choose another name"));
            }
            Ok(protocol) => {
                warn_of_cost(config, &at, problems);
                declared.push(protocol);
            }
            Err(faults) => {
                for fault in faults {
                    let hint = fault.hint.as_deref();
                    match fault.pointer.is_empty() {
                        true => problems.key_error(&at, fault.reason, hint),
                        false => {
                            let at = format!("{at}{}", fault.pointer);
                            problems.error(&at, fault.reason, hint);
                        }
                    }
                }
            }
        }
    }
    for (name, config) in shipped() {
        let is_declared = declared.iter().any(|protocol| protocol.name() == *name);
        if !configs.contains_key(*name) && !is_declared {
            let protocol = config.build(name);
            declared.push(protocol.expect("a shipped protocol is valid: a test builds each"));
        }
    }
    ProtocolTable::with_declared(declared)
}

/// Warns of an endpoint that is taken for paid because nothing else is said.
fn warn_of_cost(config: &ProtocolConfig, at: &str, problems: &mut ProblemCollector<'_>) {
    if config.retry.is_none() {
        problems.key_warning(
            at,
            "without `retry` each request counts as paid: none is tried on another channel after it may have arrived",
            Some("add `retry: free` if a second request costs only tokens, or `retry: paid`"),
        );
    }
}
