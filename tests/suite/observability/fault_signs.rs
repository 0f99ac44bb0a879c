//! What each surface shows of each fault, and the sentence that names its cause.

use super::planted_fault::FaultSigns;

pub const CHANNEL_DOWN: FaultSigns = FaultSigns {
    name: "A channel is down",
    code: "unhealthy",
    severity: "warning",
    cause: &[
        "Channel down gets no requests for another",
        "no connection to the provider could be made",
    ],
    overview: &[r#""reason":"connect_error""#],
    top: &["down cool-down", "connect_error"],
    status: &["down      not usable; channel in cool-down (connect_error)"],
    exit_code: 1,
    metrics: &[
        ("headgate_channel_usable", &[("channel", "down")], 0.0),
        (
            "headgate_attempts_total",
            &[("channel", "down"), ("outcome", "connect_error")],
            1.0,
        ),
        (
            "headgate_cool_downs_total",
            &[("channel", "down"), ("reason", "connect_error")],
            1.0,
        ),
    ],
    log: Some((
        "cool-down started",
        &[("channel", "down"), ("reason", "connect_error")],
    )),
    access_log: &[("failed_attempts", "down: connect_error")],
};

pub const KEY_REVOKED: FaultSigns = FaultSigns {
    name: "A key is revoked",
    code: "unhealthy",
    severity: "warning",
    cause: &[
        "redential 1 of channel openai ",
        "the provider refuses the credential, last status 401",
    ],
    overview: &[r#""code":"model_unavailable""#],
    top: &[
        "critical No channel can serve model `demo-large` with protocol `chat` or `responses` now",
        "openai credential 1 ",
    ],
    status: &["credential 1 ", "(refused_credential)"],
    exit_code: 1,
    metrics: &[
        (
            "headgate_credential_refused",
            &[("channel", "openai"), ("credential", "1")],
            1.0,
        ),
        (
            "headgate_attempts_total",
            &[("channel", "openai"), ("outcome", "refused_credential")],
            1.0,
        ),
    ],
    log: Some((
        "provider refused a credential",
        &[("channel", "openai"), ("credential", "1")],
    )),
    access_log: &[("failed_attempts", "openai: refused_credential, status 401")],
};

pub const PROVIDER_429: FaultSigns = FaultSigns {
    name: "A provider responds with 429",
    code: "unhealthy",
    severity: "warning",
    cause: &[
        "Model demo-large on channel openai ",
        "the provider's rate limit was reached, last status 429",
    ],
    overview: &[r#""code":"model_unavailable""#],
    top: &["openai model demo-large cool-down"],
    status: &[
        "model demo-large in cool-down (rate_limited)",
        "No channel can serve model `demo-large` with protocol `chat` or `responses`",
    ],
    exit_code: 1,
    metrics: &[
        (
            "headgate_attempts_total",
            &[("channel", "openai"), ("outcome", "rate_limited")],
            1.0,
        ),
        (
            "headgate_cool_downs_total",
            &[("channel", "openai"), ("reason", "rate_limited")],
            1.0,
        ),
    ],
    log: Some((
        "cool-down started",
        &[("channel", "openai"), ("reason", "rate_limited")],
    )),
    access_log: &[("failed_attempts", "openai: rate_limited, status 429")],
};

pub const CALLER_429: FaultSigns = FaultSigns {
    name: "A caller runs into its limits",
    code: "rate_limited",
    severity: "warning",
    cause: &[
        "Limits of callers refused 25 of 30 requests of the last minute with status 429, 25 of them from caller `bob`",
    ],
    overview: &[r#""rate_limited":25"#],
    top: &["429 bob"],
    status: &[],
    exit_code: 1,
    metrics: &[("headgate_rate_limited_total", &[("caller", "bob")], 25.0)],
    log: None,
    access_log: &[("caller", "bob"), ("error_code", "rate_limit_exceeded")],
};

pub const SLOW_UPSTREAM: FaultSigns = FaultSigns {
    name: "A provider is slow",
    code: "slow_upstream",
    severity: "warning",
    cause: &[
        "The provider of channel `openai` takes ",
        " to the first byte on average, ",
        " in the half hour before",
    ],
    overview: &[r#""code":"slow_upstream""#],
    top: &["openai healthy"],
    status: &[],
    exit_code: 1,
    metrics: &[
        (
            "headgate_first_byte_seconds_sum",
            &[("channel", "openai")],
            12.0,
        ),
        (
            "headgate_wait_seconds_sum",
            &[("channel", "openai"), ("side", "upstream")],
            12.0,
        ),
    ],
    log: None,
    access_log: &[("channel", "openai"), ("settlement", "complete")],
};

pub const SILENT_UPSTREAM: FaultSigns = FaultSigns {
    name: "A provider falls silent within a stream",
    code: "upstream_silent",
    severity: "warning",
    cause: &[
        "The provider of channel `openai` has sent nothing within a stream for ",
        " of caller `ann`); 1 of 1 requests in flight on the channel wait so long",
    ],
    overview: &[r#""waits_for":"upstream""#],
    top: &["upstream 3", "stream chat"],
    status: &["1 in flight"],
    exit_code: 1,
    metrics: &[("headgate_in_flight", &[], 1.0)],
    log: None,
    access_log: &[],
};

pub const SLOW_CLIENT: FaultSigns = FaultSigns {
    name: "A client does not read",
    code: "client_silent",
    severity: "warning",
    cause: &[
        "The client of caller `ann` has not read its response for ",
        "it is the only such request in flight",
    ],
    overview: &[r#""waits_for":"client""#],
    top: &["client 1", "stream chat"],
    status: &[],
    exit_code: 1,
    metrics: &[
        (
            "headgate_settlements_total",
            &[("route", "chat"), ("settlement", "write_timeout")],
            1.0,
        ),
        (
            "headgate_longest_wait_seconds_sum",
            &[("channel", "openai"), ("side", "client")],
            18.0,
        ),
    ],
    log: None,
    access_log: &[
        ("settlement", "write_timeout"),
        ("error_code", "write_timeout"),
        ("caller", "ann"),
    ],
};

pub const SLOW_UPLOAD: FaultSigns = FaultSigns {
    name: "A client does not send its body",
    code: "client_silent",
    severity: "warning",
    cause: &["The client of caller `ann` has not sent the body of its request for "],
    overview: &[r#""waits_for":"client""#],
    top: &["client 1"],
    status: &[],
    exit_code: 1,
    metrics: &[("headgate_caller_in_flight", &[("caller", "ann")], 1.0)],
    log: None,
    access_log: &[("error_code", "request_timeout"), ("caller", "ann")],
};

pub const REDIS_DEAD: FaultSigns = FaultSigns {
    name: "Redis is unreachable",
    code: "store_down",
    severity: "warning",
    cause: &["The state store `redis` is unreachable since 2"],
    overview: &[r#""store":{"kind":"redis","up":false}"#],
    top: &["Limits of callers are not checked meanwhile"],
    status: &[
        "redis, unreachable since 2",
        "Limits of callers are not checked meanwhile",
    ],
    exit_code: 1,
    metrics: &[
        ("headgate_state_up", &[("store", "redis")], 0.0),
        ("headgate_limits_unchecked_total", &[("caller", "ann")], 1.0),
    ],
    log: Some(("Redis is unreachable; ", &[])),
    access_log: &[],
};

pub const SPOOL_FULL: FaultSigns = FaultSigns {
    name: "The disk of the spool folder is full",
    code: "spool_failing",
    severity: "critical",
    cause: &[
        "A large request body could not be written to the spool folder `",
        "(os error ",
        "request got status 503 for that since the start",
    ],
    overview: &[r#""gateway":1"#],
    top: &["1 gateway", "503 ann"],
    status: &[],
    exit_code: 1,
    metrics: &[("headgate_spool_failures_total", &[], 1.0)],
    log: Some((
        "cannot write a request body to the spool folder",
        &[("folder", "disk")],
    )),
    access_log: &[
        ("error_code", "overloaded"),
        ("error_detail", "cannot write to the spool folder"),
    ],
};

pub const BAD_RELOAD: FaultSigns = FaultSigns {
    name: "A configuration is refused",
    code: "reload_refused",
    severity: "warning",
    cause: &[
        "The configuration on disk was refused at 2",
        "stays in use: unknown value `telepathy` at ",
        "routes.yaml:",
    ],
    overview: &[r#""last_rejection":{"at":"2"#, "routes.yaml:"],
    top: &["Configuration refused at "],
    status: &["routes.yaml at 2", "stays in use", "telepathy"],
    exit_code: 1,
    metrics: &[
        ("headgate_config_last_reload_successful", &[], 0.0),
        (
            "headgate_config_reloads_total",
            &[("result", "refused")],
            1.0,
        ),
    ],
    log: Some((
        "configuration rejected; the previous one stays in use",
        &[("file", "routes.yaml")],
    )),
    access_log: &[],
};

pub const CALLER_HOGS: FaultSigns = FaultSigns {
    name: "A caller occupies a channel",
    code: "channel_at_limit",
    severity: "warning",
    cause: &[
        "Channel `openai` has reached its limit `concurrent`, with 20 requests in flight",
        "18 of them of caller `ann`",
    ],
    overview: &[
        r#""code":"caller_holds""#,
        r#""limits_reached":["concurrent"]"#,
    ],
    top: &[
        "notice Caller `ann` has 18 of 20 requests in flight.",
        "openai at limit concurrent",
    ],
    status: &[
        "at its limits concurrent; 20 in flight",
        "Caller `ann` has 18 of 20 requests in flight.",
    ],
    exit_code: 1,
    metrics: &[
        ("headgate_caller_in_flight", &[("caller", "ann")], 18.0),
        ("headgate_in_flight", &[], 20.0),
    ],
    log: None,
    access_log: &[],
};

pub const CERTIFICATE_EXPIRES: FaultSigns = FaultSigns {
    name: "A certificate expires soon",
    code: "certificate_expires",
    severity: "warning",
    cause: &["The certificate of `server.tls` expires at 2"],
    overview: &[],
    top: &["warning The certificate of `server.tls`"],
    status: &["Renew it"],
    exit_code: 1,
    metrics: &[(
        "headgate_certificate_expiry_timestamp_seconds",
        &[("setting", "server.tls")],
        1.0,
    )],
    log: None,
    access_log: &[],
};

pub const ALL: [&FaultSigns; 13] = [
    &CHANNEL_DOWN,
    &KEY_REVOKED,
    &PROVIDER_429,
    &CALLER_429,
    &SLOW_UPSTREAM,
    &SILENT_UPSTREAM,
    &SLOW_CLIENT,
    &SLOW_UPLOAD,
    &REDIS_DEAD,
    &SPOOL_FULL,
    &BAD_RELOAD,
    &CALLER_HOGS,
    &CERTIFICATE_EXPIRES,
];
