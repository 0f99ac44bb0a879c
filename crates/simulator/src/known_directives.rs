//! Every directive by its name, with what it does.

/// Every directive, with what it does: the list an unknown name is answered with.
pub const KNOWN: [(&str, &str); 33] = [
    (
        "body_bytes",
        "answer text, image or video of this many bytes",
    ),
    ("code", "code of the error, or of a task that fails"),
    (
        "cut",
        "cut the connection: after the head of a stream, half-way through any other body",
    ),
    ("cut_after", "cut a stream after this many content events"),
    (
        "delay",
        "wait before the head of the answer, what was asked for being done",
    ),
    (
        "echo_credential",
        "put the received credential into an error body and a header (401 by default)",
    ),
    (
        "end_after_bytes",
        "end a stream after this many bytes, as if that were all",
    ),
    (
        "end_after_events",
        "end a stream after this many events, as if that were all",
    ),
    (
        "ends",
        "how a video task ends: succeeded, failed, expired, cancelled or unknown",
    ),
    ("error_body", "answer with an error, but with status 200"),
    (
        "error_event_after",
        "an error event after this many content events ends the stream",
    ),
    ("error_event_first", "an error event is all of the stream"),
    ("event_bytes", "bytes of text in each content event"),
    ("events", "number of content events"),
    (
        "html",
        "an HTML page instead of JSON, what was asked for being done unless `status` refuses it",
    ),
    ("malformed", "truncated JSON"),
    ("message", "message of the error, or of a task that fails"),
    ("no_id", "make the video task, but tell no id"),
    ("no_url", "a video task succeeds without a video"),
    ("no_usage", "leave the usage out"),
    ("only", "obey this text only for requests of this method"),
    ("pace", "time between content events"),
    ("queue", "time a video task is queued"),
    ("retry_after", "seconds for the Retry-After header"),
    ("run", "time a video task runs"),
    ("slow_query", "time each query of a video task takes"),
    (
        "stall",
        "do what was asked for, but never send even the head",
    ),
    (
        "stall_after",
        "send nothing more after this many content events, nor close",
    ),
    (
        "stamp",
        "t=<nanoseconds of CLOCK_MONOTONIC>; at the start of each content event",
    ),
    ("status", "answer with an error of this status"),
    (
        "takes_response_format",
        "image edits take `response_format`, as few accounts do",
    ),
    ("times", "obey this text only the first n times it is seen"),
    (
        "unknown_status",
        "the status of a video task while it runs, in a word of no table",
    ),
];
