//! Why a WebSocket ends, with the codes of RFC 6455, section 7.4.1.

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEnd {
    /// The peer closed it, or it broke.
    Peer,
    /// The client did not read what was sent to it.
    WriteTimeout,
    /// The client did not answer a ping.
    IdleTimeout,
    /// The gateway closes it.
    Gateway(CloseReason),
}

impl SocketEnd {
    /// The name in metrics, of the end of a client's WebSocket.
    pub fn name(self) -> &'static str {
        match self {
            Self::Peer => "client",
            Self::WriteTimeout => "write_timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::Gateway(reason) => reason.name(),
        }
    }
}

/// The reason of a close frame that the gateway sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The gateway stops.
    Stopping,
    /// The WebSocket has reached its maximum age.
    Aged,
    /// A frame is malformed.
    Malformed,
    /// A message is binary.
    Binary,
    /// A text is no UTF-8.
    InvalidText,
    /// The key of the caller is no longer valid, its budget is used up, or a response was refused that a provider had begun.
    Refused,
    /// A message is larger than the route allows.
    TooLarge,
    /// The provider has ended its WebSocket of the same session.
    ProviderEnded,
    /// The client has left, so that the provider's WebSocket of the same session ends.
    ClientLeft,
}

impl CloseReason {
    pub fn code(self) -> u16 {
        match self {
            Self::ClientLeft => 1000,
            Self::Stopping | Self::Aged => 1001,
            Self::Malformed => 1002,
            Self::Binary => 1003,
            Self::InvalidText => 1007,
            Self::Refused => 1008,
            Self::TooLarge => 1009,
            Self::ProviderEnded => 1011,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Stopping => "stopping",
            Self::Aged => "age",
            Self::Malformed => "malformed",
            Self::Binary => "binary",
            Self::InvalidText => "invalid_text",
            Self::Refused => "refused",
            Self::TooLarge => "too_large",
            Self::ProviderEnded => "provider",
            Self::ClientLeft => "client",
        }
    }

    /// Whether the gateway closes the connection of its own accord; otherwise for what the client has sent.
    pub fn is_of_gateway(self) -> bool {
        match self {
            Self::Stopping
            | Self::Aged
            | Self::Refused
            | Self::ProviderEnded
            | Self::ClientLeft => true,
            Self::Malformed | Self::Binary | Self::InvalidText | Self::TooLarge => false,
        }
    }

    /// The text of the close frame; at most 123 bytes.
    pub fn text(self) -> &'static str {
        match self {
            Self::Stopping => "the gateway is restarting; connect again",
            Self::Aged => "the connection has reached its maximum age; connect again",
            Self::Malformed => "malformed frame",
            Self::Binary => "messages must be text",
            Self::InvalidText => "a text message must be UTF-8",
            Self::Refused => {
                "the last request was refused, as its error says, and no further one is taken"
            }
            Self::TooLarge => "the message is larger than this path allows",
            Self::ProviderEnded => "the provider has ended the session; connect again",
            Self::ClientLeft => "the client has left",
        }
    }
}
