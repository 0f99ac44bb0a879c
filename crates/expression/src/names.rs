//! The names that expressions use, and the phase from which each is known.

/// When an expression is evaluated. Later phases know what earlier ones know, except that [`Phase::Event`] does not
/// know what [`Phase::ResponseBody`] adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The request head has arrived.
    Head,
    /// The request body has arrived.
    Body,
    /// A channel has been chosen.
    Attempt,
    /// The response head has arrived.
    ResponseHead,
    /// The whole response body has arrived.
    ResponseBody,
    /// An event of a streamed response has arrived.
    Event,
}

/// The JSON documents that expressions read by pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// The request body: `json("/pointer")`.
    Request,
    /// The response body: `response_json("/pointer")`.
    Response,
    /// The data of an event: `event_json("/pointer")`.
    Event,
}

/// A variable with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    Method,
    Path,
    QueryString,
    RequestId,
    ClientAddress,
    Caller,
    Route,
    Protocol,
    Hour,
    Minute,
    Weekday,
    UnixTime,
    Model,
    RequestSize,
    Channel,
    ChannelModel,
    Attempt,
    Status,
    ResponseSize,
    UsageInputTokens,
    UsageOutputTokens,
    UsageTotalTokens,
    EventType,
}

/// A variable whose entries are read by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapVariable {
    RequestHeaders,
    RequestParams,
    RequestQuery,
    ResponseHeaders,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownName {
    Variable(Variable),
    Map(MapVariable),
}

/// Every name with what it stands for and the phase from which it is known.
pub(crate) const NAMES: &[(&str, KnownName, Phase)] = &[
    (
        "request.method",
        KnownName::Variable(Variable::Method),
        Phase::Head,
    ),
    (
        "request.path",
        KnownName::Variable(Variable::Path),
        Phase::Head,
    ),
    (
        "request.query_string",
        KnownName::Variable(Variable::QueryString),
        Phase::Head,
    ),
    (
        "request.id",
        KnownName::Variable(Variable::RequestId),
        Phase::Head,
    ),
    (
        "request.headers",
        KnownName::Map(MapVariable::RequestHeaders),
        Phase::Head,
    ),
    (
        "request.params",
        KnownName::Map(MapVariable::RequestParams),
        Phase::Head,
    ),
    (
        "request.query",
        KnownName::Map(MapVariable::RequestQuery),
        Phase::Head,
    ),
    (
        "client.address",
        KnownName::Variable(Variable::ClientAddress),
        Phase::Head,
    ),
    ("caller", KnownName::Variable(Variable::Caller), Phase::Head),
    ("route", KnownName::Variable(Variable::Route), Phase::Head),
    (
        "protocol",
        KnownName::Variable(Variable::Protocol),
        Phase::Head,
    ),
    ("now.hour", KnownName::Variable(Variable::Hour), Phase::Head),
    (
        "now.minute",
        KnownName::Variable(Variable::Minute),
        Phase::Head,
    ),
    (
        "now.weekday",
        KnownName::Variable(Variable::Weekday),
        Phase::Head,
    ),
    (
        "now.unix",
        KnownName::Variable(Variable::UnixTime),
        Phase::Head,
    ),
    ("model", KnownName::Variable(Variable::Model), Phase::Body),
    (
        "request.size",
        KnownName::Variable(Variable::RequestSize),
        Phase::Body,
    ),
    (
        "channel",
        KnownName::Variable(Variable::Channel),
        Phase::Attempt,
    ),
    (
        "channel_model",
        KnownName::Variable(Variable::ChannelModel),
        Phase::Attempt,
    ),
    (
        "attempt",
        KnownName::Variable(Variable::Attempt),
        Phase::Attempt,
    ),
    (
        "response.status",
        KnownName::Variable(Variable::Status),
        Phase::ResponseHead,
    ),
    (
        "response.headers",
        KnownName::Map(MapVariable::ResponseHeaders),
        Phase::ResponseHead,
    ),
    (
        "response.size",
        KnownName::Variable(Variable::ResponseSize),
        Phase::ResponseBody,
    ),
    (
        "usage.input_tokens",
        KnownName::Variable(Variable::UsageInputTokens),
        Phase::ResponseBody,
    ),
    (
        "usage.output_tokens",
        KnownName::Variable(Variable::UsageOutputTokens),
        Phase::ResponseBody,
    ),
    (
        "usage.total_tokens",
        KnownName::Variable(Variable::UsageTotalTokens),
        Phase::ResponseBody,
    ),
    (
        "event.type",
        KnownName::Variable(Variable::EventType),
        Phase::Event,
    ),
];

impl Phase {
    /// Whether a name that is known from `since` on is known in this phase.
    pub(crate) fn knows_since(self, since: Phase) -> bool {
        match since {
            Self::ResponseBody | Self::Event => self == since,
            _ => self >= since,
        }
    }

    /// Whether this phase knows a variable.
    pub fn knows(self, variable: Variable) -> bool {
        NAMES.iter().any(|(_, known, since)| {
            *known == KnownName::Variable(variable) && self.knows_since(*since)
        })
    }

    /// What must have happened for the names of this phase to be known.
    pub(crate) fn event(self) -> &'static str {
        match self {
            Self::Head => "before the request",
            Self::Body => "before the request body is read",
            Self::Attempt => "before a channel is chosen",
            Self::ResponseHead => "before the response",
            Self::ResponseBody => "before the whole response body",
            Self::Event => "outside of the events of a stream",
        }
    }
}

impl DocumentKind {
    /// The function that reads the document.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Self::Request => "json",
            Self::Response => "response_json",
            Self::Event => "event_json",
        }
    }

    /// The phase from which the document is known.
    pub(crate) fn since(self) -> Phase {
        match self {
            Self::Request => Phase::Body,
            Self::Response => Phase::ResponseBody,
            Self::Event => Phase::Event,
        }
    }
}

impl Variable {
    /// The name in expressions.
    pub fn name(self) -> &'static str {
        display_name(KnownName::Variable(self))
    }

    /// Whether the value is a whole number or null; the others are texts.
    pub fn is_number(self) -> bool {
        use Variable as V;
        matches!(
            self,
            V::Hour
                | V::Minute
                | V::Weekday
                | V::UnixTime
                | V::RequestSize
                | V::Attempt
                | V::Status
                | V::ResponseSize
                | V::UsageInputTokens
                | V::UsageOutputTokens
                | V::UsageTotalTokens
        )
    }
}

impl MapVariable {
    /// The name in expressions.
    pub fn name(self) -> &'static str {
        display_name(KnownName::Map(self))
    }

    /// Whether the names of the entries are the same in any case.
    pub fn is_headers(self) -> bool {
        matches!(self, Self::RequestHeaders | Self::ResponseHeaders)
    }
}

fn display_name(known: KnownName) -> &'static str {
    let mut names = NAMES.iter();
    let found = names.find(|(_, other, _)| *other == known);
    found.expect("every variable has a name").0
}
