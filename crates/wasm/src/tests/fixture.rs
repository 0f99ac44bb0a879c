//! Plugins written as WebAssembly text, and what tests do with them.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::environment::TestEnvironment;
use crate::{
    LentExchange, Plugin, PluginHost, PluginHostSettings, PluginModule, PluginModuleSettings,
    PluginRequestHead, PluginResponseHead, PluginSettings, PluginStartError,
};

/// One host for all tests, as in a program.
pub(super) static HOST: LazyLock<PluginHost> =
    LazyLock::new(|| PluginHost::new(&PluginHostSettings::default()).unwrap());

/// Where the texts of a plugin begin in its memory; addresses below are free for results.
const TEXTS: usize = 1024;

/// The functions that plugins of tests import: the name in the text, the name in the ABI, the parameters.
const IMPORTS: &[(&str, &str, &str)] = &[
    ("log", "proxy_log", "i32 i32 i32"),
    ("level", "proxy_get_log_level", "i32"),
    ("time", "proxy_get_current_time_nanoseconds", "i32"),
    ("tick", "proxy_set_tick_period_milliseconds", "i32"),
    ("buffer", "proxy_get_buffer_bytes", "i32 i32 i32 i32 i32"),
    ("buffer_status", "proxy_get_buffer_status", "i32 i32 i32"),
    (
        "set_buffer",
        "proxy_set_buffer_bytes",
        "i32 i32 i32 i32 i32",
    ),
    ("map_size", "proxy_get_header_map_size", "i32 i32"),
    ("pairs", "proxy_get_header_map_pairs", "i32 i32 i32"),
    ("set_pairs", "proxy_set_header_map_pairs", "i32 i32 i32"),
    ("value", "proxy_get_header_map_value", "i32 i32 i32 i32 i32"),
    ("add", "proxy_add_header_map_value", "i32 i32 i32 i32 i32"),
    (
        "replace",
        "proxy_replace_header_map_value",
        "i32 i32 i32 i32 i32",
    ),
    ("remove", "proxy_remove_header_map_value", "i32 i32 i32"),
    ("property", "proxy_get_property", "i32 i32 i32 i32"),
    ("set_property", "proxy_set_property", "i32 i32 i32 i32"),
    ("resume", "proxy_continue_stream", "i32"),
    ("close", "proxy_close_stream", "i32"),
    (
        "reply",
        "proxy_send_local_response",
        "i32 i32 i32 i32 i32 i32 i32 i32",
    ),
    ("get_shared", "proxy_get_shared_data", "i32 i32 i32 i32 i32"),
    ("set_shared", "proxy_set_shared_data", "i32 i32 i32 i32 i32"),
    ("register", "proxy_register_shared_queue", "i32 i32 i32"),
    (
        "resolve",
        "proxy_resolve_shared_queue",
        "i32 i32 i32 i32 i32",
    ),
    ("enqueue", "proxy_enqueue_shared_queue", "i32 i32 i32"),
    ("dequeue", "proxy_dequeue_shared_queue", "i32 i32 i32"),
    (
        "http",
        "proxy_http_call",
        "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32",
    ),
    ("define", "proxy_define_metric", "i32 i32 i32 i32"),
    ("increment", "proxy_increment_metric", "i32 i64"),
    ("record", "proxy_record_metric", "i32 i64"),
    ("metric", "proxy_get_metric", "i32 i32"),
    ("effective", "proxy_set_effective_context", "i32"),
    ("done", "proxy_done", ""),
    (
        "foreign",
        "proxy_call_foreign_function",
        "i32 i32 i32 i32 i32 i32",
    ),
    ("grpc_close", "proxy_grpc_close", "i32"),
];

/// What every plugin of the tests has, unless the test has its own.
const DEFAULTS: &[(&str, &str)] = &[
    (
        "proxy_abi_version_0_2_1",
        "(func (export \"proxy_abi_version_0_2_1\"))",
    ),
    (
        "proxy_on_context_create",
        "(func (export \"proxy_on_context_create\") (param i32 i32))",
    ),
    // Grows by a page when the next allocation may not fit.
    (
        "malloc",
        r#"(func (export "malloc") (param $n i32) (result i32)
            (local $at i32)
            (local.set $at (global.get $heap))
            (global.set $heap (i32.add (global.get $heap) (local.get $n)))
            (block $fits
                (loop $more
                    (br_if $fits (i32.le_u (global.get $heap)
                        (i32.mul (memory.size) (i32.const 65536))))
                    (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
                unreachable)
            (local.get $at))"#,
    ),
];

/// Stands after imports of a test's own, which begin its text.
pub(super) const END_OF_IMPORTS: &str = ";; end of imports";

/// A plugin with the functions of `body`. There, `{"text"}` stands for the address and the length of a text, and
/// `(call $ok …)` traps unless its argument is 0.
pub(super) fn wat(body: &str) -> String {
    let (imports, body) = body.split_once(END_OF_IMPORTS).unwrap_or(("", body));
    let (body, data) = place_texts(body);
    let mut text = format!("(module\n{imports}\n");
    for (name, function, parameters) in IMPORTS {
        text.push_str(&format!(
            "(import \"env\" \"{function}\" (func ${name} (param {parameters}) (result i32)))\n"
        ));
    }
    text.push_str("(memory (export \"memory\") 2)\n(global $heap (mut i32) (i32.const 65536))\n");
    text.push_str("(func $ok (param i32) (if (local.get 0) (then unreachable)))\n");
    text.push_str(
        "(func $is (param i32 i32) (if (i32.ne (local.get 0) (local.get 1)) (then unreachable)))\n",
    );
    for (name, default) in DEFAULTS {
        if !body.contains(&format!("\"{name}\"")) {
            text.push_str(default);
        }
    }
    text + &data + &body + ")"
}

/// Replaces `{"…"}` by addresses and lengths, and collects the data.
fn place_texts(body: &str) -> (String, String) {
    let (mut code, mut data, mut at) = (String::new(), String::new(), TEXTS);
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("{\"") {
        let (text, after) = after.split_once("\"}").unwrap();
        let length = text.len() - 2 * text.matches('\\').count();
        code.push_str(&format!("{before}(i32.const {at}) (i32.const {length})"));
        data.push_str(&format!("(data (i32.const {at}) \"{text}\")\n"));
        at += length;
        rest = after;
    }
    (code + rest, data)
}

/// A compiled plugin.
pub(super) fn module(body: &str) -> PluginModule {
    let bytes = wat::parse_str(wat(body)).unwrap();
    PluginModule::from_bytes(&HOST, &bytes, &PluginModuleSettings::default()).unwrap()
}

/// A started plugin with the default settings.
pub(super) async fn started(body: &str) -> (Plugin, Arc<TestEnvironment>) {
    started_with(body, |_| {}).await
}

/// A started plugin whose settings `change` adjusts.
pub(super) async fn started_with(
    body: &str,
    change: impl FnOnce(&mut PluginSettings),
) -> (Plugin, Arc<TestEnvironment>) {
    let (result, environment) = try_start(body, change).await;
    (result.unwrap(), environment)
}

/// As [`started_with`], with the error.
pub(super) async fn try_start(
    body: &str,
    change: impl FnOnce(&mut PluginSettings),
) -> (Result<Plugin, PluginStartError>, Arc<TestEnvironment>) {
    let environment = Arc::new(TestEnvironment::default());
    let mut settings = PluginSettings::named("test");
    // Enough for a machine that builds at the same time.
    settings.limits.time.event = settings.limits.time.headers;
    change(&mut settings);
    let result = Plugin::start(&module(body), settings, environment.clone()).await;
    (result, environment)
}

/// Waits until something is true.
pub(super) async fn until(what: &str, is_true: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A request with these headers.
pub(super) fn request(headers: &[(&str, &str)]) -> LentExchange {
    LentExchange {
        request: PluginRequestHead {
            scheme: "https".to_owned(),
            authority: "gate.example".to_owned(),
            path: "/v1/chat?trace=1".to_owned(),
            headers: header_map(headers),
            ..PluginRequestHead::default()
        },
        ..LentExchange::default()
    }
}

/// As [`request`], with a response without headers.
pub(super) fn answered(headers: &[(&str, &str)]) -> LentExchange {
    LentExchange {
        response: Some(PluginResponseHead::default()),
        ..request(headers)
    }
}

pub(super) fn header_map(headers: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.append(name, HeaderValue::from_str(value).unwrap());
    }
    map
}

/// The headers of a request as text, in their order.
pub(super) fn header_lines(map: &HeaderMap) -> Vec<String> {
    map.iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect()
}
