//! The names that expressions use, and the phase from which each is known.

/// When an expression is evaluated. Later phases know what earlier ones know, except that [`EvaluationPhase::Event`] does not
/// know what [`EvaluationPhase::ResponseBody`] adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvaluationPhase {
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
pub(crate) enum NamedVariable {
    Variable(Variable),
    Map(MapVariable),
}

/// Every name with what it stands for and the phase from which it is known.
pub(crate) const NAMES: &[(&str, NamedVariable, EvaluationPhase)] = &[
    (
        "request.method",
        NamedVariable::Variable(Variable::Method),
        EvaluationPhase::Head,
    ),
    (
        "request.path",
        NamedVariable::Variable(Variable::Path),
        EvaluationPhase::Head,
    ),
    (
        "request.query_string",
        NamedVariable::Variable(Variable::QueryString),
        EvaluationPhase::Head,
    ),
    (
        "request.id",
        NamedVariable::Variable(Variable::RequestId),
        EvaluationPhase::Head,
    ),
    (
        "request.headers",
        NamedVariable::Map(MapVariable::RequestHeaders),
        EvaluationPhase::Head,
    ),
    (
        "request.params",
        NamedVariable::Map(MapVariable::RequestParams),
        EvaluationPhase::Head,
    ),
    (
        "request.query",
        NamedVariable::Map(MapVariable::RequestQuery),
        EvaluationPhase::Head,
    ),
    (
        "client.address",
        NamedVariable::Variable(Variable::ClientAddress),
        EvaluationPhase::Head,
    ),
    (
        "caller",
        NamedVariable::Variable(Variable::Caller),
        EvaluationPhase::Head,
    ),
    (
        "route",
        NamedVariable::Variable(Variable::Route),
        EvaluationPhase::Head,
    ),
    (
        "protocol",
        NamedVariable::Variable(Variable::Protocol),
        EvaluationPhase::Head,
    ),
    (
        "now.hour",
        NamedVariable::Variable(Variable::Hour),
        EvaluationPhase::Head,
    ),
    (
        "now.minute",
        NamedVariable::Variable(Variable::Minute),
        EvaluationPhase::Head,
    ),
    (
        "now.weekday",
        NamedVariable::Variable(Variable::Weekday),
        EvaluationPhase::Head,
    ),
    (
        "now.unix",
        NamedVariable::Variable(Variable::UnixTime),
        EvaluationPhase::Head,
    ),
    (
        "model",
        NamedVariable::Variable(Variable::Model),
        EvaluationPhase::Body,
    ),
    (
        "request.size",
        NamedVariable::Variable(Variable::RequestSize),
        EvaluationPhase::Body,
    ),
    (
        "channel",
        NamedVariable::Variable(Variable::Channel),
        EvaluationPhase::Attempt,
    ),
    (
        "channel_model",
        NamedVariable::Variable(Variable::ChannelModel),
        EvaluationPhase::Attempt,
    ),
    (
        "attempt",
        NamedVariable::Variable(Variable::Attempt),
        EvaluationPhase::Attempt,
    ),
    (
        "response.status",
        NamedVariable::Variable(Variable::Status),
        EvaluationPhase::ResponseHead,
    ),
    (
        "response.headers",
        NamedVariable::Map(MapVariable::ResponseHeaders),
        EvaluationPhase::ResponseHead,
    ),
    (
        "response.size",
        NamedVariable::Variable(Variable::ResponseSize),
        EvaluationPhase::ResponseBody,
    ),
    (
        "usage.input_tokens",
        NamedVariable::Variable(Variable::UsageInputTokens),
        EvaluationPhase::ResponseBody,
    ),
    (
        "usage.output_tokens",
        NamedVariable::Variable(Variable::UsageOutputTokens),
        EvaluationPhase::ResponseBody,
    ),
    (
        "usage.total_tokens",
        NamedVariable::Variable(Variable::UsageTotalTokens),
        EvaluationPhase::ResponseBody,
    ),
    (
        "event.type",
        NamedVariable::Variable(Variable::EventType),
        EvaluationPhase::Event,
    ),
];

impl EvaluationPhase {
    /// Whether a name that is known from `since` on is known in this phase.
    pub(crate) fn knows_since(self, since: EvaluationPhase) -> bool {
        match since {
            Self::ResponseBody | Self::Event => self == since,
            _ => self >= since,
        }
    }

    /// Whether this phase knows a variable.
    pub fn knows(self, variable: Variable) -> bool {
        NAMES.iter().any(|(_, known, since)| {
            *known == NamedVariable::Variable(variable) && self.knows_since(*since)
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
    pub(crate) fn since(self) -> EvaluationPhase {
        match self {
            Self::Request => EvaluationPhase::Body,
            Self::Response => EvaluationPhase::ResponseBody,
            Self::Event => EvaluationPhase::Event,
        }
    }
}

impl Variable {
    /// The name in expressions.
    pub fn name(self) -> &'static str {
        display_name(NamedVariable::Variable(self))
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
        display_name(NamedVariable::Map(self))
    }

    /// Whether the names of the entries are the same in any case.
    pub fn is_headers(self) -> bool {
        matches!(self, Self::RequestHeaders | Self::ResponseHeaders)
    }
}

fn display_name(known: NamedVariable) -> &'static str {
    let mut names = NAMES.iter();
    let found = names.find(|(_, other, _)| *other == known);
    found.expect("every variable has a name").0
}
