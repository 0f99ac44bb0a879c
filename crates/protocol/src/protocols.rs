//! The protocols of the gateway's API. Each built-in one is one file, whose [`ProtocolDescriptor`] has all that differs between
//! protocols; nothing else in the gateway distinguishes them. `declared` makes the same of one that a configuration declares.

mod channel_protocol;
mod cloud_requests;
mod declared;
mod descriptor;
mod provider_cloud;
mod shipped;
mod table;
#[cfg(test)]
mod tests;

pub use channel_protocol::ChannelProtocol;
pub use cloud_requests::{CloudEndpoint, CloudRequestFormat};
pub use declared::{
    BuiltInProtocolName, DeclaredProtocol, ErrorBodyTemplateConfig, ErrorFormatConfig,
    InvalidProtocol, ProtocolConfig, ProtocolHeadersConfig, RetrySafetyConfig, StreamFormatConfig,
    UsageConfig,
};
pub use descriptor::{
    DuplicateRequestCost, FormReading, GenAiTraceNames, GenerationMedium, ProtocolDescriptor,
    ProtocolHeaders, ProviderResponseStorage, TaskApiFormat, WebSocketMessages,
};
pub use provider_cloud::ProviderCloud;
pub use shipped::SHIPPED_PROTOCOLS;
pub use table::ProtocolTable;

use http::{HeaderMap, HeaderName};

/// Declares the built-in protocols: a variant, and the file with its descriptor.
macro_rules! protocols {
    ($($(#[$doc:meta])* $variant:ident in $file:ident,)*) => {
        $(mod $file;)*

        /// A protocol of the gateway's API: a built-in one, or one that a configuration declares.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Protocol {
            $($(#[$doc])* $variant,)*
            /// Declared in a configuration, see [`ProtocolConfig`]
            Declared(DeclaredProtocol),
        }

        impl Protocol {
            /// All built-in protocols, in the order of the documentation.
            pub const BUILT_IN: &[Self] = &[$(Self::$variant),*];

            /// The protocol whose requests are messages of a WebSocket, as `response.create`.
            pub const OVER_WEBSOCKETS: Self = Self::Responses;

            /// What the gateway knows of this protocol.
            pub fn descriptor(self) -> &'static ProtocolDescriptor {
                match self {
                    $(Self::$variant => &$file::DESCRIPTOR,)*
                    Self::Declared(declared) => declared.descriptor(),
                }
            }
        }
    };
}

protocols! {
    /// `POST /v1/chat/completions`
    Chat in chat,
    /// `POST /v1/messages`
    Messages in messages,
    /// `POST /v1/responses`
    Responses in responses,
    /// `POST /v1beta/models/{model}:generateContent` of Gemini
    Gemini in gemini,
    /// `POST /model/{model}/converse` of Amazon Bedrock
    Converse in converse,
    /// `GET /v1/realtime`, as a WebSocket
    Realtime in realtime,
    /// `POST /v1/images/edits`
    ImageEdit in image_edit,
    /// `POST /v1/video/generations`, for channels of any family
    Video in video,
    /// `POST /v1/videos`, as in OpenAI's API, for channels of any family
    Videos in videos,
    /// Video tasks with a list of content elements
    FamilyA in family_a,
    /// Video tasks with `input` and `parameters`
    FamilyB in family_b,
}

impl Protocol {
    /// The built-in protocol with this name; [`ProtocolTable`] has the declared ones as well.
    pub fn built_in(name: &str) -> Option<Self> {
        let mut built_in = Self::BUILT_IN.iter().copied();
        built_in.find(|protocol| protocol.name() == name)
    }

    /// Whether the program has this protocol, and no configuration declares it.
    pub fn is_built_in(self) -> bool {
        !matches!(self, Self::Declared(_))
    }

    /// The name in configuration, metrics and logs.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// The descriptor for a route. Routes without a protocol have the formats of chat.
    pub fn descriptor_for(protocol: Option<Self>) -> &'static ProtocolDescriptor {
        protocol.unwrap_or(Self::Chat).descriptor()
    }

    /// The protocol of the channels that serve callers of this one: itself, unless a filter converts its requests.
    pub fn on_channels(self) -> Self {
        self.descriptor().served_by.unwrap_or(self)
    }

    /// Whether its requests are WebSockets, which providers serve as such.
    pub fn has_sessions(self) -> bool {
        self.descriptor().websocket == Some(WebSocketMessages::SessionEvents)
    }

    /// Whether requests create what is paid for one by one: videos and images.
    pub fn creates_paid_work(self) -> bool {
        self.descriptor().cost == DuplicateRequestCost::PaidWork
    }

    /// The headers, beside `Authorization`, in which callers of a protocol may send the key; of any built-in protocol on
    /// routes without one.
    pub fn key_headers(protocol: Option<Self>) -> impl Iterator<Item = &'static HeaderName> {
        let any = match protocol {
            Some(_) => &[][..],
            None => Self::BUILT_IN,
        };
        let protocols = protocol.into_iter().chain(any.iter().copied());
        protocols.filter_map(|protocol| protocol.descriptor().headers.api_key.as_ref())
    }

    /// The protocol of a request that no route shows, by headers that only its callers send.
    pub fn detect(headers: &HeaderMap) -> Option<Self> {
        Self::find(|known| known.headers.has_any(headers))
    }

    /// The protocols that `detect` can find.
    pub fn detectable() -> impl Iterator<Item = Self> {
        let all = Self::BUILT_IN.iter().copied();
        all.filter(|known| known.descriptor().headers.can_identify())
    }

    /// The protocol of which the request names a version.
    pub fn detect_version(headers: &HeaderMap) -> Option<Self> {
        Self::find(|known| known.headers.has_version(headers))
    }

    /// The protocol whose callers name its version in a header.
    pub fn find_versioned() -> Option<Self> {
        Self::find(|known| known.headers.version.is_some())
    }

    /// The protocol whose providers keep responses, files and conversations under ids.
    pub fn find_storing() -> Option<Self> {
        let cost = DuplicateRequestCost::Tokens(ProviderResponseStorage::ByDefault);
        Self::find(|known| known.cost == cost)
    }

    fn find(is_meant: impl Fn(&ProtocolDescriptor) -> bool) -> Option<Self> {
        let mut all = Self::BUILT_IN.iter().copied();
        all.find(|protocol| is_meant(protocol.descriptor()))
    }
}
