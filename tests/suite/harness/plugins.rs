//! Plugins in the text format of WebAssembly, each with callbacks of a few instructions.

use super::folder::Folder;
use super::gateway::folder_with_schemas;
use serde_json::{Value, json};

/// A folder with the schemas, and with the plugin of these callbacks in `plugins/<name>.wasm`.
pub fn folder_with_plugin(name: &str, callbacks: &str) -> Folder {
    let folder = folder_with_schemas();
    add_plugin(&folder, name, callbacks);
    folder
}

/// Writes the plugin of these callbacks to `plugins/<name>.wasm`.
pub fn add_plugin(folder: &Folder, name: &str, callbacks: &str) {
    std::fs::create_dir_all(folder.path().join("plugins")).unwrap();
    folder.write(&format!("plugins/{name}.wasm"), module(callbacks));
}

/// Declares the plugin in a configuration, with these settings beside its module.
pub fn declare_plugin(config: &mut Value, name: &str, settings: Value) {
    let mut settings = settings;
    settings["wasm"] = json!(format!("plugins/{name}.wasm"));
    config["plugins"][name] = settings;
}

/// The binary of a module with these callbacks. Texts of the callbacks lie below 8 KiB; the allocator takes what is
/// above, and returns to it with each request.
fn module(callbacks: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
  (import "env" "proxy_log" (func $log (param i32 i32 i32) (result i32)))
  (import "env" "proxy_get_buffer_bytes" (func $get_buffer (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_set_buffer_bytes" (func $set_buffer (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_header_map_value" (func $get_header (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_replace_header_map_value" (func $set_header (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_property" (func $get_property (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_send_local_response" (func $reply (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_http_call" (func $http_call (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_continue_stream" (func $continue (param i32) (result i32)))
  (import "env" "proxy_set_effective_context" (func $set_context (param i32) (result i32)))
  (import "env" "proxy_remove_header_map_value" (func $remove_header (param i32 i32 i32) (result i32)))
  (import "env" "proxy_define_metric" (func $define_metric (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_increment_metric" (func $increment_metric (param i32 i64) (result i32)))
  (import "env" "proxy_get_current_time_nanoseconds" (func $time (param i32) (result i32)))
  (import "env" "proxy_set_tick_period_milliseconds" (func $tick (param i32) (result i32)))
  (memory (export "memory") 2)
  (global $heap (mut i32) (i32.const 8192))
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_memory_allocate") (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $heap))
    (global.set $heap (i32.add (global.get $heap) (local.get $size)))
    (if (i32.gt_u (global.get $heap) (i32.const 131072)) (then unreachable))
    (local.get $at))
  (func (export "proxy_on_context_create") (param i32 i32) (global.set $heap (i32.const 8192)))
  {callbacks}
)"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"))
}
