//! The figures that are counted, and what each is compared with.

use super::load::{Load, RequestKind, StreamLoad};
use super::programs::Program;
use headgate_budget::conversation::Conversation;
use headgate_budget::request::CHAT;
use headgate_budget::setup::{
    CACHE, CALLOUT, COMPUTED_VIDEO_MODEL, CONDITION, EDIT, PLAIN_VIDEO_MODEL, PLUGIN_ON_BODIES,
    PLUGIN_ON_HEADERS,
};

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;
const STREAMS: usize = 5;
const MORE_EVENTS: usize = 1000;

/// A figure: its name in the budget, what the longer run has more of, and how much more.
pub struct Figure {
    pub name: String,
    pub program: Program,
    pub counted: Counted,
    pub reference: Reference,
}

/// What a figure counts.
#[derive(Clone, Copy)]
pub enum Counted {
    Requests(RequestKind, usize),
    Events(RequestKind),
}

/// What a figure is compared with.
#[derive(Clone, Copy)]
pub enum Reference {
    /// The same request through a bare Pingora proxy.
    BarePingora,
    /// The figure at this index: the same request on a route without the filter, or to a channel of the caller's protocol.
    Figure(usize),
    /// The figure is the reference of others.
    Itself,
}

/// The figures with a budget.
pub fn with_budget() -> Vec<Figure> {
    let chat = |name: &str, path, body_bytes, more, reference| {
        requests(name, RequestKind::chat(path, body_bytes), more, reference)
    };
    let video = |name: &str, model| Figure {
        program: Program::VideoHeadgate,
        ..requests(
            name,
            RequestKind::Video { model },
            900,
            Reference::Figure(0),
        )
    };
    let signed = |name: &str, body_bytes, more, reference| Figure {
        program: Program::SigningHeadgate,
        ..chat(name, CHAT, body_bytes, more, reference)
    };
    let messages = |name: &str, channel, reference| {
        let kind = conversation(Conversation::Messages, channel, KB);
        Figure {
            program: Program::TranslatingHeadgate,
            ..requests(name, kind, 1000, reference)
        }
    };
    vec![
        chat("chat_1_kb", CHAT, KB, 1500, Reference::BarePingora),
        chat("chat_16_kb", CHAT, 16 * KB, 1000, Reference::BarePingora),
        events("stream_event", RequestKind::CHAT, Reference::BarePingora),
        chat("condition_1_kb", CONDITION, KB, 1000, Reference::Figure(0)),
        chat("edit_16_kb", EDIT, 16 * KB, 500, Reference::Figure(1)),
        chat("callout_1_kb", CALLOUT, KB, 500, Reference::Figure(0)),
        chat("cache_hit_1_kb", CACHE, KB, 1000, Reference::Figure(0)),
        video("video_create", PLAIN_VIDEO_MODEL),
        video("video_create_computed", COMPUTED_VIDEO_MODEL),
        Figure {
            program: Program::TracingHeadgate,
            ..chat("traced_1_kb", CHAT, KB, 1500, Reference::Figure(0))
        },
        messages("messages_1_kb", Conversation::Messages, Reference::Itself),
        messages(
            "messages_to_chat_1_kb",
            Conversation::Chat,
            Reference::Figure(10),
        ),
        chat("chat_1_mb", CHAT, MB, 30, Reference::BarePingora),
        signed("signed_1_kb", KB, 1000, Reference::Figure(0)),
        signed("signed_1_mb", MB, 30, Reference::Figure(12)),
    ]
}

/// What plugins cost. They have no budget, since a program with plugins takes minutes longer to build.
pub fn with_plugins() -> Vec<Figure> {
    let bodies = RequestKind::chat(PLUGIN_ON_BODIES, 16 * KB);
    let headers = RequestKind::chat(PLUGIN_ON_HEADERS, KB);
    let streams = RequestKind::chat(PLUGIN_ON_BODIES, KB);
    let long = RequestKind::chat(CHAT, 16 * KB);
    vec![
        requests("chat_1_kb", RequestKind::CHAT, 1000, Reference::BarePingora),
        requests("chat_16_kb", long, 500, Reference::BarePingora),
        events("stream_event", RequestKind::CHAT, Reference::BarePingora),
        requests("plugin_headers_1_kb", headers, 1000, Reference::Figure(0)),
        requests("plugin_bodies_16_kb", bodies, 500, Reference::Figure(1)),
        events("plugin_stream_event", streams, Reference::Figure(2)),
    ]
}

/// What translation costs between each two protocols, beside the same request without. They have no budget but one.
pub fn with_translation() -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for caller in Conversation::ALL {
        for (size, body_bytes) in [("1_kb", KB), ("16_kb", 16 * KB), ("event", 0)] {
            let own = figures.len();
            let others = Conversation::ALL.into_iter().filter(|one| *one != caller);
            for channel in [caller].into_iter().chain(others) {
                let (name, reference) = match channel == caller {
                    true => (format!("{}_{size}", caller.name()), Reference::Itself),
                    false => (
                        format!("{}_to_{}_{size}", caller.name(), channel.name()),
                        Reference::Figure(own),
                    ),
                };
                let figure = match body_bytes {
                    0 => events(&name, conversation(caller, channel, KB), reference),
                    _ => {
                        let kind = conversation(caller, channel, body_bytes);
                        requests(&name, kind, 500, reference)
                    }
                };
                figures.push(Figure {
                    program: Program::TranslatingHeadgate,
                    ..figure
                });
            }
        }
    }
    figures
}

/// The shorter run of a program for these figures: some of each kind that is counted.
pub fn base(figures: &[Figure], program: Program) -> Load {
    let mut base = Load::default();
    // A bare Pingora has each figure that is compared with it.
    let counted = figures.iter().filter(|figure| match program {
        Program::BarePingora => matches!(figure.reference, Reference::BarePingora),
        _ => figure.program == program,
    });
    for figure in counted {
        match figure.counted {
            Counted::Requests(kind, more) => base.requests.push((kind, more.min(600) / 6)),
            Counted::Events(kind) => base.streams.push(StreamLoad {
                kind,
                streams: STREAMS,
                events_per_stream: 100,
            }),
        }
    }
    base
}

impl Figure {
    /// A run that has more of what is counted.
    pub fn longer(&self, base: Load) -> Load {
        match self.counted {
            Counted::Requests(kind, more) => base.with_more_requests(kind, more),
            Counted::Events(kind) => base.with_more_events(kind, MORE_EVENTS),
        }
    }

    /// By how many requests or events the longer run is longer.
    pub fn count(&self) -> usize {
        match self.counted {
            Counted::Requests(_, more) => more,
            Counted::Events(_) => STREAMS * MORE_EVENTS,
        }
    }
}

fn conversation(caller: Conversation, channel: Conversation, body_bytes: usize) -> RequestKind {
    RequestKind::Conversation {
        caller,
        channel,
        body_bytes,
    }
}

/// The figure of one of the kinds of requests.
fn requests(name: &str, kind: RequestKind, more: usize, reference: Reference) -> Figure {
    Figure {
        name: name.to_owned(),
        program: Program::Headgate,
        counted: Counted::Requests(kind, more),
        reference,
    }
}

/// The figure of the events of streams.
fn events(name: &str, kind: RequestKind, reference: Reference) -> Figure {
    Figure {
        name: name.to_owned(),
        program: Program::Headgate,
        counted: Counted::Events(kind),
        reference,
    }
}
