//! The list of fuzz targets; each is a file in the folder `targets`.

mod chunk_bodies;
mod edits;
mod expressions;
mod families;
mod forms;
mod http2;
mod json;
mod plugin_calls;
mod request_translations;
mod requests;
mod responses;
mod routes;
mod schemas;
mod sse;
mod task_ids;
mod translations;

/// What turns requests of callers into those of providers. Tables of fields and dialects are read once, from texts of this
/// repository, and do not count.
const REQUEST_SOURCES: &[&str] = &[
    "crates/translate/src/request.rs",
    "crates/translate/src/*/request_*",
    "crates/translate/src/answer_instruction.rs",
    "crates/translate/src/cache_marks.rs",
    "crates/translate/src/token_count.rs",
    "crates/translate/src/tool_names.rs",
    "crates/translate/src/converse/model_family.rs",
    "crates/translate/src/gemini/models.rs",
    "crates/translate/src/responses/thoughts.rs",
    "crates/translate/src/thinking/kept.rs",
    "crates/translate/src/thinking/re*.rs",
    "crates/translate/src/thinking/summary.rs",
    "crates/translate/src/fields/[alm]*.rs",
];
/// What turns responses and streams of providers into those of callers.
const STREAM_SOURCES: &[&str] = &[
    "crates/translate/src/stream.rs",
    "crates/translate/src/response.rs",
    "crates/translate/src/*/response_*",
    "crates/translate/src/*/stream_*",
    "crates/translate/src/gemini/parts.rs",
    "crates/translate/src/gemini/signatures.rs",
    "crates/translate/src/responses/out*.rs",
    "crates/translate/src/thinking/handle.rs",
    "crates/translate/src/thinking/seal*.rs",
    "crates/translate/src/fields/audit.rs",
];

/// A function that takes any bytes, and panics if a property does not hold.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// Also the name of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// The sources under test, whose coverage counts: files and folders from the root of the repository, as patterns of a shell.
    pub sources: &'static [&'static str],
    /// Number of mutated inputs in each run of the tests; a slow target has fewer.
    pub mutations: u32,
    pub run: fn(&[u8]),
}

/// All targets, in alphabetical order.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget {
        name: "chunk_bodies",
        sources: &["crates/http_body/src/chunk_grammar.rs"],
        mutations: 3000,
        run: chunk_bodies::run,
    },
    FuzzTarget {
        name: "edits",
        sources: &[
            "crates/protocol/src/json/edit.rs",
            "crates/protocol/src/json/edit/",
            "crates/protocol/src/json/pointer_edit.rs",
            "crates/protocol/src/json/pointer.rs",
        ],
        mutations: 2000,
        run: edits::run,
    },
    FuzzTarget {
        name: "expressions",
        sources: &["crates/expression/src/"],
        mutations: 600,
        run: expressions::run,
    },
    FuzzTarget {
        name: "families",
        sources: &[
            "crates/task/src/family/",
            "crates/task/src/family.rs",
            "crates/task/src/generic.rs",
            "crates/task/src/generic/",
            "crates/task/src/status.rs",
        ],
        mutations: 400,
        run: families::run,
    },
    FuzzTarget {
        name: "forms",
        sources: &[
            "crates/protocol/src/form.rs",
            "crates/protocol/src/form/boundary.rs",
            "crates/protocol/src/form/part_head.rs",
        ],
        mutations: 3000,
        run: forms::run,
    },
    FuzzTarget {
        name: "http2",
        sources: &["crates/http2_inspection/src/"],
        mutations: 3000,
        run: http2::run,
    },
    FuzzTarget {
        name: "json",
        sources: &[
            "crates/protocol/src/json/scan.rs",
            "crates/protocol/src/json/string_scan.rs",
            "crates/protocol/src/json/string_block.rs",
            "crates/protocol/src/json/number.rs",
            "crates/protocol/src/json/keys.rs",
            "crates/protocol/src/json/tape.rs",
            "crates/protocol/src/json/node.rs",
        ],
        mutations: 3000,
        run: json::run,
    },
    FuzzTarget {
        name: "plugin_calls",
        sources: &["crates/wasm/src/abi/", "crates/wasm/src/guest_state/"],
        mutations: 60,
        run: plugin_calls::run,
    },
    FuzzTarget {
        name: "request_translations",
        sources: REQUEST_SOURCES,
        mutations: 300,
        run: request_translations::run,
    },
    FuzzTarget {
        name: "requests",
        sources: &[
            "crates/gateway/src/downstream/http1/head_scan.rs",
            "crates/gateway/src/downstream/http1/request_head.rs",
            "crates/gateway/src/downstream/http1/request_body.rs",
            "crates/gateway/src/head.rs",
        ],
        mutations: 1000,
        run: requests::run,
    },
    FuzzTarget {
        name: "responses",
        sources: &[
            "crates/gateway/src/upstream/http1/response_head.rs",
            "crates/gateway/src/upstream/http1/response_body.rs",
        ],
        mutations: 1500,
        run: responses::run,
    },
    FuzzTarget {
        name: "routes",
        sources: &[
            "crates/config/src/check.rs",
            "crates/config/src/document.rs",
            "crates/config/src/expand.rs",
            "crates/config/src/explain.rs",
            "crates/config/src/mask.rs",
            "crates/config/src/node.rs",
            "crates/config/src/s[iy]*.rs",
            "crates/config/src/snapshot/",
        ],
        mutations: 20,
        run: routes::run,
    },
    FuzzTarget {
        name: "schemas",
        sources: &["crates/schema/src/"],
        mutations: 1000,
        run: schemas::run,
    },
    FuzzTarget {
        name: "sse",
        sources: &["crates/protocol/src/sse.rs", "crates/protocol/src/sse/"],
        mutations: 2000,
        run: sse::run,
    },
    FuzzTarget {
        name: "task_ids",
        sources: &[
            "crates/task/src/id.rs",
            "crates/task/src/id/",
            "crates/task/src/token.rs",
        ],
        mutations: 400,
        run: task_ids::run,
    },
    FuzzTarget {
        name: "translations",
        sources: STREAM_SOURCES,
        mutations: 300,
        run: translations::run,
    },
];

/// The target of this name.
pub fn find_target(name: &str) -> Option<FuzzTarget> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
