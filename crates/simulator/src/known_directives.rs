//! The list of all directives with their descriptions.

/// Every directive with its description. The error for an unknown directive lists them.
pub const KNOWN: [(&str, &str); 34] = [
    (
        "body_bytes",
        "respond with text, an image or a video of this many bytes",
    ),
    (
        "callback_fault",
        "what happens to the callbacks of a video task: lost, doubled or reordered",
    ),
    ("code", "code of the error, or of a task that fails"),
    (
        "cut",
        "close the connection: after the response header of a stream, halfway through any other body",
    ),
    ("cut_after", "cut a stream after this many content events"),
    (
        "delay",
        "delay before the response header, after the request was processed",
    ),
    (
        "echo_credential",
        "echo the received credential in an error body and a header (401 by default)",
    ),
    (
        "end_after_bytes",
        "end a stream cleanly after this many bytes",
    ),
    (
        "end_after_events",
        "end a stream cleanly after this many events",
    ),
    (
        "ends",
        "how a video task ends: succeeded, failed, filtered (by the content policy), expired, cancelled or unknown",
    ),
    ("error_body", "respond with an error body and status 200"),
    (
        "error_event_after",
        "end the stream with an error event after this many content events",
    ),
    (
        "error_event_first",
        "send an error event as the only event of the stream",
    ),
    ("event_bytes", "bytes of text in each content event"),
    ("events", "number of content events"),
    (
        "html",
        "respond with an HTML page instead of JSON, after the request was processed unless `status` refuses it",
    ),
    ("malformed", "truncated JSON"),
    ("message", "message of the error, or of a task that fails"),
    ("no_id", "create the video task, but return no id"),
    ("no_url", "a video task succeeds without a video"),
    ("no_usage", "omit the usage"),
    ("only", "apply this text only to requests of this method"),
    ("pace", "time between content events"),
    ("queue", "time a video task is queued"),
    ("retry_after", "seconds for the Retry-After header"),
    ("run", "time a video task runs"),
    ("slow_query", "delay of each query of a video task"),
    ("stall", "process the request, but never send a response"),
    (
        "stall_after",
        "stop sending after this many content events, without closing",
    ),
    (
        "stamp",
        "t=<nanoseconds of CLOCK_MONOTONIC>; at the start of each content event",
    ),
    ("status", "respond with an error of this status"),
    (
        "takes_response_format",
        "image edits accept `response_format`",
    ),
    (
        "times",
        "apply this text only the first n times it is received",
    ),
    (
        "unknown_status",
        "report an unknown status of a video task while it runs",
    ),
];

#[cfg(test)]
mod tests {
    use super::KNOWN;

    #[test]
    fn the_documentation_has_all_directives() {
        let page = include_str!("../../../docs/simulator.md");
        let (_, table) = page
            .split_once("| directive | effect |\n|---|---|\n")
            .unwrap();
        let documented: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
        let rows = KNOWN.map(|(name, effect)| format!("| `{name}` | {effect} |"));
        assert_eq!(documented, rows);
    }
}
