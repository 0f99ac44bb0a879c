//! The targets of the gateway's own events as operators read and write them: `headgate::gateway` for crate `headgate_gateway`.

use std::borrow::Cow;

/// What all targets of the gateway's own events begin with.
pub(crate) const OWN_TARGET: &str = "headgate";
/// What the names of the gateway's crates begin with, except for the program's.
const CRATE_PREFIX: &str = "headgate_";

/// A target as operators read it.
pub(crate) fn displayed_target(target: &str) -> Cow<'_, str> {
    match target.strip_prefix(CRATE_PREFIX) {
        Some(rest) => format!("{OWN_TARGET}::{rest}").into(),
        None => target.into(),
    }
}

/// Directives with the targets of crates added: `headgate::gateway=debug` also selects events of `headgate_gateway`.
pub(crate) fn with_crate_targets(directives: &str) -> String {
    let mut all = directives.to_owned();
    for directive in directives.split(',') {
        if let Some(rest) = directive.trim().strip_prefix("headgate::") {
            all.push_str(&format!(",{CRATE_PREFIX}{rest}"));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_modules_to_operators() {
        for (target, displayed) in [
            ("headgate_gateway::exchange", "headgate::gateway::exchange"),
            ("headgate::cli", "headgate::cli"),
            ("h2::codec", "h2::codec"),
        ] {
            assert_eq!(displayed_target(target), displayed);
        }
        assert_eq!(
            with_crate_targets("warn, headgate::gateway::exchange=debug,headgate=info,h2=off"),
            "warn, headgate::gateway::exchange=debug,headgate=info,h2=off,headgate_gateway::exchange=debug"
        );
    }
}
