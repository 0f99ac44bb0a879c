//! The plugin that runs scripts, as WebAssembly text: an interpreter with one instruction for each host function.

use super::SCRIPT_BYTES_MAX;
use std::fmt::Write;

/// Where the values of arguments are in the memory: 256 words.
const VALUES_AT: usize = 1024;
/// Where names and maps are that calls can use.
const TEXTS_AT: usize = 4096;
/// Where the script is.
const SCRIPT_AT: usize = 8192;
/// Where the memory begins that the host allocates.
const HEAP_AT: usize = 65536;
const MEMORY_BYTES: u32 = 2 * 65536;

/// Names of headers, upstreams, properties, queues and metrics, each in 16 bytes.
const TEXTS: [&str; 28] = [
    "x-a",
    ":path",
    "content-type",
    "authorization",
    "up",
    "request",
    "request\\00path",
    "request\\00headers",
    "plugin_name",
    "queue",
    "metric",
    "/other?b=c",
    ":status",
    "404",
    "bad\\0aname",
    "\\ff\\00",
    "response\\00code",
    "response\\00headers",
    "request\\00method",
    "request\\00query",
    "plugin_root_id",
    "plugin_vm_id",
    "text",
    "bytes",
    "int",
    "bool",
    "time",
    "map",
];

/// A map with `:method: GET`, `:path: /` and `:authority: a` (its size, the lengths, the texts).
const PAIRS: &str = "\\03\\00\\00\\00\\07\\00\\00\\00\\03\\00\\00\\00\\05\\00\\00\\00\\01\\00\\00\\00\\0a\\00\\00\\00\\01\\00\\00\\00:method\\00GET\\00:path\\00/\\00:authority\\00a\\00";
const PAIRS_AT: usize = TEXTS_AT + 16 * TEXTS.len();

/// The first of the texts in [`TEXTS`] that are named by the last values of arguments.
const LATER_TEXTS: usize = 16;

/// The host functions with their parameters: `i` for 32 bits, `l` for 64.
const FUNCTIONS: [(&str, &str); 38] = [
    ("proxy_log", "iii"),
    ("proxy_get_log_level", "i"),
    ("proxy_get_current_time_nanoseconds", "i"),
    ("proxy_set_tick_period_milliseconds", "i"),
    ("proxy_get_buffer_bytes", "iiiii"),
    ("proxy_get_buffer_status", "iii"),
    ("proxy_set_buffer_bytes", "iiiii"),
    ("proxy_get_header_map_size", "ii"),
    ("proxy_get_header_map_pairs", "iii"),
    ("proxy_set_header_map_pairs", "iii"),
    ("proxy_get_header_map_value", "iiiii"),
    ("proxy_add_header_map_value", "iiiii"),
    ("proxy_replace_header_map_value", "iiiii"),
    ("proxy_remove_header_map_value", "iii"),
    ("proxy_get_property", "iiii"),
    ("proxy_set_property", "iiii"),
    ("proxy_continue_stream", "i"),
    ("proxy_close_stream", "i"),
    ("proxy_send_local_response", "iiiiiiii"),
    ("proxy_get_shared_data", "iiiii"),
    ("proxy_set_shared_data", "iiiii"),
    ("proxy_register_shared_queue", "iii"),
    ("proxy_resolve_shared_queue", "iiiii"),
    ("proxy_enqueue_shared_queue", "iii"),
    ("proxy_dequeue_shared_queue", "iii"),
    ("proxy_http_call", "iiiiiiiiii"),
    ("proxy_define_metric", "iiii"),
    ("proxy_increment_metric", "il"),
    ("proxy_record_metric", "il"),
    ("proxy_get_metric", "ii"),
    ("proxy_set_effective_context", "i"),
    ("proxy_done", ""),
    ("proxy_call_foreign_function", "iiiiii"),
    ("proxy_grpc_call", "iiiiiiiiiiii"),
    ("proxy_grpc_stream", "iiiiiiiii"),
    ("proxy_grpc_send", "iiii"),
    ("proxy_grpc_cancel", "i"),
    ("proxy_get_status", "iii"),
];

/// Functions of WASI, which libraries of languages call.
const WASI_FUNCTIONS: [(&str, &str); 11] = [
    ("environ_sizes_get", "ii"),
    ("environ_get", "ii"),
    ("args_sizes_get", "ii"),
    ("clock_time_get", "ili"),
    ("random_get", "ii"),
    ("fd_write", "iiii"),
    ("fd_fdstat_get", "ii"),
    ("fd_close", "i"),
    ("clock_res_get", "ii"),
    ("poll_oneoff", "iiii"),
    ("sched_yield", ""),
];

/// Instructions after those that call functions, with the number of their arguments.
const OTHER_INSTRUCTIONS: [(&str, usize); 6] = [
    ("(unreachable)", 0),
    // What callbacks return from here on.
    ("(global.set $result (call $value (local.get $at)))", 1),
    // What the allocator does from here on.
    ("(global.set $allocator (call $value (local.get $at)))", 1),
    ("(drop (memory.grow (call $value (local.get $at))))", 1),
    ("(call $proc_exit (call $value (local.get $at)))", 1),
    // What follows are texts.
    ("(return)", 0),
];

/// Callbacks that run the script, with the number of their parameters and whether they have a result.
const CALLBACKS: [(&str, usize, bool); 11] = [
    ("proxy_on_tick", 1, false),
    ("proxy_on_queue_ready", 2, false),
    ("proxy_on_request_headers", 3, true),
    ("proxy_on_request_trailers", 2, true),
    ("proxy_on_response_headers", 3, true),
    ("proxy_on_response_body", 3, true),
    ("proxy_on_response_trailers", 2, true),
    ("proxy_on_http_call_response", 5, false),
    ("proxy_on_done", 1, true),
    ("proxy_on_log", 1, false),
    ("proxy_on_delete", 1, false),
];

/// The text of the module.
pub fn guest_module() -> String {
    let mut text = String::from("(module\n");
    let functions = FUNCTIONS.iter().map(|function| ("env", function));
    let wasi = WASI_FUNCTIONS
        .iter()
        .map(|function| ("wasi_snapshot_preview1", function));
    let functions: Vec<_> = functions.chain(wasi).collect();
    for (module, (name, parameters)) in &functions {
        let types: String = parameters
            .chars()
            .map(|kind| format!(" {}", wide(kind)))
            .collect();
        let _ = writeln!(
            text,
            "(import \"{module}\" \"{name}\" (func ${name} (param{types}) (result i32)))"
        );
    }
    text.push_str(
        "(import \"wasi_snapshot_preview1\" \"proc_exit\" (func $proc_exit (param i32)))\n",
    );
    text.push_str(&memory());
    let calls = functions.iter().map(|(_, (name, parameters))| {
        let call = format!("(drop (call ${name}{}))", arguments(parameters));
        (call, parameters.len())
    });
    let others = OTHER_INSTRUCTIONS.map(|(code, arguments)| (code.to_owned(), arguments));
    let instructions: Vec<_> = calls.chain(others).collect();
    text.push_str(&interpreter(&instructions));
    text.push_str(&callbacks());
    text + ")"
}

/// The function that runs the script: a byte is the number of an instruction.
fn interpreter(instructions: &[(String, usize)]) -> String {
    let mut text = String::from("(func $run (local $at i32) (local $function i32)\n(loop $next\n");
    text.push_str("(if (i32.ge_u (local.get $at) (global.get $end)) (then return))\n");
    let count = instructions.len();
    let _ = writeln!(
        text,
        "(local.set $function (i32.rem_u (i32.load8_u offset={SCRIPT_AT} (local.get $at)) (i32.const {count})))"
    );
    text.push_str("(local.set $at (i32.add (local.get $at) (i32.const 1)))\n");
    for (index, (code, arguments)) in instructions.iter().enumerate() {
        let _ = writeln!(
            text,
            "(if (i32.eq (local.get $function) (i32.const {index})) (then {code} (local.set $at (i32.add (local.get $at) (i32.const {arguments})))))"
        );
    }
    text.push_str("(br $next)))\n");
    text
}

fn wide(kind: char) -> &'static str {
    match kind {
        'l' => "i64",
        _ => "i32",
    }
}

fn arguments(parameters: &str) -> String {
    let arguments = parameters.chars().enumerate().map(|(at, kind)| {
        let value = format!("(call $value (i32.add (local.get $at) (i32.const {at})))");
        match kind {
            'l' => format!(" (i64.extend_i32_s {value})"),
            _ => format!(" {value}"),
        }
    });
    arguments.collect()
}

/// The memory with its data, its allocator, and the function that reads an argument.
fn memory() -> String {
    let mut text =
        format!("(memory (export \"memory\") 2)\n(global $heap (mut i32) (i32.const {HEAP_AT}))\n");
    for name in ["end", "result", "allocator"] {
        let _ = writeln!(text, "(global ${name} (mut i32) (i32.const 0))");
    }
    for (index, content) in TEXTS.iter().enumerate() {
        let at = TEXTS_AT + 16 * index;
        let _ = writeln!(text, "(data (i32.const {at}) \"{content}\")");
    }
    let _ = writeln!(text, "(data (i32.const {PAIRS_AT}) \"{PAIRS}\")");
    let bytes = values().into_iter().flat_map(u32::to_le_bytes);
    let bytes: String = bytes.map(|byte| format!("\\{byte:02x}")).collect();
    let _ = writeln!(text, "(data (i32.const {VALUES_AT}) \"{bytes}\")");
    let _ = writeln!(
        text,
        "(func $value (param $at i32) (result i32) (i32.load offset={VALUES_AT} (i32.mul (i32.load8_u offset={SCRIPT_AT} (local.get $at)) (i32.const 4))))"
    );
    // The heap begins again instead of growing, so that results overwrite each other.
    let _ = writeln!(
        text,
        "(func (export \"malloc\") (param $size i32) (result i32) (local $at i32)
            (if (i32.eq (global.get $allocator) (i32.const 1)) (then (return (i32.const 0))))
            (if (i32.eq (global.get $allocator) (i32.const 2)) (then (return (i32.const {MEMORY_BYTES}))))
            (if (i32.eq (global.get $allocator) (i32.const 3)) (then (return (i32.const {HEAP_AT}))))
            (if (i32.eq (global.get $allocator) (i32.const 4))
                (then (drop (call $proxy_get_buffer_bytes (i32.const 7) (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 4)))))
            (if (i32.eq (global.get $allocator) (i32.const 5)) (then (unreachable)))
            (local.set $at (global.get $heap))
            (if (i32.gt_u (i32.add (local.get $at) (local.get $size)) (i32.const {MEMORY_BYTES}))
                (then (local.set $at (i32.const {HEAP_AT}))))
            (global.set $heap (i32.add (local.get $at) (local.get $size)))
            (local.get $at))"
    );
    text
}

/// What an argument stands for: small numbers, texts and their lengths, places in the script and in the heap, limits.
fn values() -> [u32; 256] {
    std::array::from_fn(|index| {
        let index = index as u32;
        match index {
            0..64 => index,
            64..80 => TEXTS_AT as u32 + 16 * (index - 64),
            80 => PAIRS_AT as u32,
            // The size of the map.
            81 => 28 + 39,
            82..128 => HEAP_AT as u32 + 64 * (index - 82),
            128..224 => SCRIPT_AT as u32 + index - 128,
            224 => MEMORY_BYTES,
            225 => MEMORY_BYTES - 1,
            226 => MEMORY_BYTES - 4,
            227 => i32::MAX as u32,
            228 => 1 << 31,
            229..240 => 1 << (index - 220),
            240..252 => TEXTS_AT as u32 + 16 * (LATER_TEXTS as u32 + index - 240),
            _ => index.wrapping_sub(256),
        }
    })
}

fn callbacks() -> String {
    let mut text = String::from(
        "(func (export \"proxy_abi_version_0_2_1\"))\n(func (export \"proxy_on_context_create\") (param i32 i32))\n",
    );
    // The script is the configuration of the machine, and then the first piece of the body.
    text.push_str(&loading("proxy_on_vm_start", 2, 6, 1));
    text.push_str(&loading("proxy_on_request_body", 3, 0, 0));
    for (name, parameters, has_result) in CALLBACKS {
        let types = " i32".repeat(parameters);
        let result = ["", "(result i32)"][usize::from(has_result)];
        let value = match name {
            // Nobody calls `proxy_done` for a stream that has not ended.
            "proxy_on_done" => "(i32.const 1)",
            _ if has_result => "(global.get $result)",
            _ => "",
        };
        let _ = writeln!(
            text,
            "(func (export \"{name}\") (param{types}) {result} (call $run) {value})"
        );
    }
    text
}

/// A callback that runs what a buffer has, which the host allocates where the interpreter reads it.
fn loading(name: &str, parameters: usize, buffer: u32, result: u32) -> String {
    let types = " i32".repeat(parameters);
    format!(
        "(func (export \"{name}\") (param{types}) (result i32)
            (global.set $allocator (i32.const 0))
            (global.set $heap (i32.const {SCRIPT_AT}))
            (drop (call $proxy_get_buffer_bytes (i32.const {buffer}) (i32.const 0) (i32.const {SCRIPT_BYTES_MAX}) (i32.const 0) (i32.const 4)))
            (global.set $heap (i32.const {HEAP_AT}))
            (global.set $end (i32.load (i32.const 4)))
            (call $run) (i32.or (global.get $result) (i32.const {result})))\n"
    )
}
