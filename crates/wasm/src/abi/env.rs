//! The names of the host functions, by which modules import them.

/// The module of the host functions.
pub(crate) const ENV: &str = "env";

/// All functions of [`ENV`].
pub(crate) const ENV_FUNCTIONS: [&str; 39] = [
    "proxy_add_header_map_value",
    "proxy_call_foreign_function",
    "proxy_close_stream",
    "proxy_continue_stream",
    "proxy_define_metric",
    "proxy_dequeue_shared_queue",
    "proxy_done",
    "proxy_enqueue_shared_queue",
    "proxy_get_buffer_bytes",
    "proxy_get_buffer_status",
    "proxy_get_current_time_nanoseconds",
    "proxy_get_header_map_pairs",
    "proxy_get_header_map_size",
    "proxy_get_header_map_value",
    "proxy_get_log_level",
    "proxy_get_metric",
    "proxy_get_property",
    "proxy_get_shared_data",
    "proxy_get_status",
    "proxy_grpc_call",
    "proxy_grpc_cancel",
    "proxy_grpc_close",
    "proxy_grpc_send",
    "proxy_grpc_stream",
    "proxy_http_call",
    "proxy_increment_metric",
    "proxy_log",
    "proxy_record_metric",
    "proxy_register_shared_queue",
    "proxy_remove_header_map_value",
    "proxy_replace_header_map_value",
    "proxy_resolve_shared_queue",
    "proxy_send_local_response",
    "proxy_set_buffer_bytes",
    "proxy_set_effective_context",
    "proxy_set_header_map_pairs",
    "proxy_set_property",
    "proxy_set_shared_data",
    "proxy_set_tick_period_milliseconds",
];

/// Functions that Higress adds to [`ENV`] in its version 0.2.100 of the ABI. Plugins that import them load, and get a
/// status that there is no such function here.
pub(crate) const HIGRESS_FUNCTIONS: [&str; 2] = ["proxy_redis_call", "proxy_redis_init"];

/// Functions that compilers and their libraries expect in [`ENV`], beside the ABI: Emscripten, which most plugins in C++
/// are compiled with, has its memory announce that it grew, and compares threads.
pub(crate) const LIBRARY_FUNCTIONS: [&str; 2] =
    ["emscripten_notify_memory_growth", "pthread_equal"];
