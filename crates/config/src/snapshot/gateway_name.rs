//! The name that tells the gateways of a fleet apart.

use std::sync::LazyLock;

/// The host name of the system, where Linux has it.
const SYSTEM_NAME: &str = "/proc/sys/kernel/hostname";

/// The variable `HOSTNAME`, which operators may set, or the host name of the system; empty if there is neither.
pub(super) fn gateway_name() -> &'static str {
    static NAME: LazyLock<String> =
        LazyLock::new(|| choose_name(std::env::var("HOSTNAME").unwrap_or_default()));
    &NAME
}

/// Systemd sets no variable `HOSTNAME`.
fn choose_name(variable: String) -> String {
    if !variable.is_empty() {
        return variable;
    }
    let name = std::fs::read_to_string(SYSTEM_NAME).unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_the_variable_has_the_name_of_its_system() {
        assert_eq!(choose_name("gate-2".into()), "gate-2");
        let name = choose_name(String::new());
        assert!(!name.is_empty() && !name.contains('\n'), "{name:?}");
    }
}
