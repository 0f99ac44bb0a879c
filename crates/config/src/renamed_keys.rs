//! Keys and values of `routes.yaml` that were renamed, so that a problem with an old name gives the new one.

use headgate_core::pointer::tokens;
use std::fmt;

/// A key that has another name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedKey {
    /// The mapping that has the key.
    pub scope: RenameScope,
    pub old: &'static str,
    pub new: &'static str,
}

/// A value that has another name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedValue {
    /// The mapping that has `key`.
    pub scope: RenameScope,
    /// The key that takes the value, by its present name.
    pub key: &'static str,
    pub old: &'static str,
    pub new: &'static str,
}

/// The mapping in which a rename applies. In a path, `*` is any key of a mapping or any item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameScope {
    /// The path of a mapping, such as `channels.*.health`.
    Section(&'static str),
    /// The settings of a filter, or a mapping in them, such as `set_headers.*`.
    Filter(&'static str),
}

/// All renamed keys. CHANGELOG.md lists them with their reasons.
pub const RENAMED_KEYS: &[RenamedKey] = &[
    in_section("state.redis", "limits_when_away", "on_store_failure"),
    in_section("state.redis", "wait", "timeout"),
    in_section("state.redis", "keep", "id_ttl"),
    in_section("state.sqlite", "keep", "id_ttl"),
    in_section("server.limits", "header_deadline", "header_timeout"),
    in_section("server.limits", "body_deadline", "body_timeout"),
    in_section("server.limits", "write_deadline", "write_timeout"),
    in_section("server.limits", "keep_alive", "keep_alive_timeout"),
    in_section("server.spool", "above", "threshold"),
    in_section("server.dns", "refresh", "refresh_interval"),
    in_section("server.client_address", "from", "source"),
    in_section("server.client_address", "trusted", "trusted_proxies"),
    in_section("channels.*.limits", "in_flight", "concurrent"),
    in_section("channels.*.health", "failures", "consecutive_failures"),
    in_section("channels.*.health.probe", "every", "interval"),
    in_section("retries", "percent", "budget_percent"),
    in_section("retries", "per_second", "min_per_second"),
    in_section("routes.*.failover", "attempts", "max_attempts"),
    in_section("routes.*.failover", "on_silence", "on_timeout"),
    in_section("routes.*.failover", "hold", "buffer_first_events"),
    in_section("routes.*.failover", "wait", "queue_timeout"),
    in_section("routes.*.failover", "tell_attempts", "report_attempts"),
    in_section("families.*", "like", "extends"),
    in_section("families.*", "answer", "response"),
    in_section("families.*.query", "fresh", "cache_ttl"),
    in_section("families.*.query", "fresh_when_done", "final_cache_ttl"),
    in_section("families.*.query", "per_second", "max_per_second"),
    in_section("families.*.cancel", "only", "statuses"),
    in_section("families.*.request.*", "only", "allowed"),
    in_section("families.*.request.medias.*", "only", "allowed"),
    in_section("families.*.errors", "elsewhere", "failover_codes"),
    in_section("families.*.native", "ids_in_answer", "ids_in_response"),
    in_filter("heartbeat", "every", "interval"),
    in_filter("map_task", "ask", "operation"),
    in_filter("rate_limit", "output_tokens", "default_output_tokens"),
    in_filter("require_json", "or", "also_accept"),
    in_filter("set_headers.*", "of", "source"),
];

/// All renamed values.
pub const RENAMED_VALUES: &[RenamedValue] = &[
    renamed_value("state.redis", "on_store_failure", "open", "allow"),
    renamed_value("state.redis", "on_store_failure", "closed", "deny"),
    renamed_value("channels.*.image_edit", "body", "as_sent", "unchanged"),
    renamed_value("channels.*.image_edit", "body", "form", "multipart"),
    renamed_value(
        "channels.*.image_edit",
        "response_format",
        "consume",
        "convert",
    ),
    renamed_value(
        "channels.*.image_edit",
        "response_format",
        "pass",
        "forward",
    ),
    RenamedValue {
        scope: RenameScope::Filter("require_json"),
        key: "also_accept",
        old: "form",
        new: "multipart",
    },
];

/// The present name of `key` in the mapping at `pointer`.
pub fn new_key(pointer: &str, key: &str) -> Option<&'static str> {
    let mut renamed = RENAMED_KEYS.iter();
    let found = renamed.find(|renamed| renamed.old == key && renamed.scope.contains(pointer));
    found.map(|renamed| renamed.new)
}

/// The present name of `value`, which `key` has in the mapping at `pointer`.
pub fn new_value(pointer: &str, key: &str, value: &str) -> Option<&'static str> {
    let mut renamed = RENAMED_VALUES.iter();
    let found = renamed.find(|renamed| {
        (renamed.key, renamed.old) == (key, value) && renamed.scope.contains(pointer)
    });
    found.map(|renamed| renamed.new)
}

impl RenameScope {
    /// Whether the mapping at `pointer` is one of this scope.
    fn contains(self, pointer: &str) -> bool {
        let found: Vec<String> = tokens(pointer).collect();
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        let (path, found) = match (self, found.as_slice()) {
            (Self::Section(path), found) => (path, found),
            (Self::Filter(path), ["chains", _, _, settings @ ..])
            | (Self::Filter(path), ["routes", _, "request" | "response", _, settings @ ..]) => {
                (path, settings)
            }
            (Self::Filter(_), _) => return false,
        };
        let path: Vec<&str> = path.split('.').collect();
        let is_same = |(wanted, found): (&&str, &&str)| *wanted == "*" || wanted == found;
        path.len() == found.len() && path.iter().zip(found).all(is_same)
    }
}

impl fmt::Display for RenameScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Section(path) => write!(f, "`{path}`"),
            Self::Filter(path) => write!(f, "filter `{path}`"),
        }
    }
}

const fn in_section(path: &'static str, old: &'static str, new: &'static str) -> RenamedKey {
    let scope = RenameScope::Section(path);
    RenamedKey { scope, old, new }
}

const fn in_filter(path: &'static str, old: &'static str, new: &'static str) -> RenamedKey {
    let scope = RenameScope::Filter(path);
    RenamedKey { scope, old, new }
}

const fn renamed_value(
    path: &'static str,
    key: &'static str,
    old: &'static str,
    new: &'static str,
) -> RenamedValue {
    let scope = RenameScope::Section(path);
    RenamedValue {
        scope,
        key,
        old,
        new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_was_renamed_in_its_own_scope_only() {
        for (pointer, key, expected) in [
            ("/channels/a/health/probe", "every", Some("interval")),
            ("/channels/a/health", "every", None),
            ("/channels/a/health/probe/more", "every", None),
            ("/chains/body/0/heartbeat", "every", Some("interval")),
            ("/routes/3/response/1/heartbeat", "every", Some("interval")),
            ("/routes/3/response/1/rate_limit", "every", None),
            ("/state/redis", "wait", Some("timeout")),
            ("/routes/0/failover", "wait", Some("queue_timeout")),
            ("/routes/0/timeouts", "wait", None),
            ("/routes/0/request/0/set_headers/x~1y", "of", Some("source")),
            ("/families/studio/request/ratio", "only", Some("allowed")),
            ("/families/studio/cancel", "only", Some("statuses")),
            ("", "like", None),
        ] {
            assert_eq!(new_key(pointer, key), expected, "{pointer} {key}");
        }
    }

    #[test]
    fn a_value_was_renamed_under_its_own_key_only() {
        let image_edit = "/channels/a/image_edit";
        for (pointer, key, value, expected) in [
            (image_edit, "body", "form", Some("multipart")),
            (image_edit, "response_format", "form", None),
            (image_edit, "body", "pass", None),
            ("/state/redis", "on_store_failure", "open", Some("allow")),
            ("/state/sqlite", "on_store_failure", "open", None),
        ] {
            assert_eq!(new_value(pointer, key, value), expected, "{pointer} {key}");
        }
    }
}
