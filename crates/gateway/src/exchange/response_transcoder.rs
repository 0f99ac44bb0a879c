//! Converts a provider's response, in the channel's protocol, to the caller's protocol: between the provider's bytes and
//! the response chain.
//!
//! Metering, settlement, error classes, the commit and the health of channels read the provider's side. The response
//! chain, output checks, keep-alive comments, error events and the end of the caller's stream belong to the caller's side.

#[cfg(test)]
mod tests;

use super::translation::{ResponseTranslation, TRANSLATION};
use super::translation_summary::TranslationSummary;
use bytes::Bytes;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::sse::SseEvent;
use headgate_protocol::stream::StreamProgress;
use headgate_translate::{
    Ledger, StreamTranslator, UnreadableResponse, caller_status, error_body, translate_response,
    translate_token_count,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::slice;

/// Converts the response of one exchange.
#[derive(Debug)]
pub(super) enum ResponseTranscoder {
    /// Both sides speak one protocol, or none: everything passes as it is.
    Identity,
    Translated(Box<ResponseTranslator>),
}

/// Translates a response into the caller's protocol.
#[derive(Debug)]
pub(super) struct ResponseTranslator {
    translation: ResponseTranslation,
    /// Members of the response that the caller's protocol cannot say.
    ledger: Ledger,
    stream: Option<TranslatedStream>,
}

/// A stream that is translated.
#[derive(Debug)]
struct TranslatedStream {
    translator: StreamTranslator,
    /// How far the stream has come for the caller.
    progress: StreamProgress,
    /// The events of the last step.
    events: Vec<SseEvent>,
    /// Events before these.
    sent: u64,
}

impl ResponseTranscoder {
    /// What makes a response the caller's; nothing if the request was not translated.
    pub(super) fn new(translation: Option<Box<ResponseTranslation>>) -> Self {
        match translation {
            None => Self::Identity,
            Some(translation) => Self::Translated(Box::new(ResponseTranslator {
                translation: *translation,
                ledger: Ledger::default(),
                stream: None,
            })),
        }
    }

    /// Whether the caller may get bytes before they are decoded. Otherwise events and bodies are converted whole.
    pub(super) fn passes_bytes(&self) -> bool {
        match self {
            Self::Identity => true,
            Self::Translated(_) => false,
        }
    }

    /// The caller's body for a whole body of a success.
    ///
    /// # Errors
    /// The body is not of the channel's protocol.
    pub(super) fn body(&mut self, received: Bytes) -> Result<Bytes, Fault> {
        match self {
            Self::Identity => Ok(received),
            Self::Translated(translator) => {
                let ResponseTranslation {
                    pair,
                    context,
                    is_token_count,
                    ..
                } = &translator.translation;
                if *is_token_count {
                    let count = translate_token_count(*pair, &received);
                    return count.map(Bytes::from).map_err(unreadable);
                }
                let body = translate_response(*pair, &received, context, &mut translator.ledger);
                body.map(Bytes::from).map_err(unreadable)
            }
        }
    }

    /// The caller's body for that of an error.
    pub(super) fn error_body(&self, status: StatusCode, received: Bytes, id: &str) -> Bytes {
        match self {
            Self::Identity => received,
            Self::Translated(translator) => {
                error_body(translator.translation.caller, status, &received, id)
            }
        }
    }

    /// The caller's status for that of an error.
    pub(super) fn error_status(&self, received: StatusCode) -> StatusCode {
        match self {
            Self::Identity => received,
            Self::Translated(translator) => caller_status(translator.translation.caller, received),
        }
    }

    /// The caller's events for one of the provider.
    ///
    /// # Errors
    /// The event is not of the channel's protocol: the stream ends here.
    pub(super) fn events<'e>(
        &'e mut self,
        received: &'e SseEvent,
    ) -> Result<&'e [SseEvent], Fault> {
        match self {
            Self::Identity => Ok(slice::from_ref(received)),
            Self::Translated(translator) => translator
                .stream()
                .step(|stream, events| stream.translate(received, events)),
        }
    }

    /// The caller's events at the end of a provider's stream that is whole.
    ///
    /// # Errors
    /// What the provider sent is not whole in the caller's protocol.
    pub(super) fn last_events(&mut self) -> Result<&[SseEvent], Fault> {
        match self {
            Self::Identity => Ok(&[]),
            Self::Translated(translator) => translator.stream().step(|stream, events| {
                stream.finish(events);
                Ok(())
            }),
        }
    }

    /// What was translated, and what the request lost by that, in a header for the caller and in the log.
    pub(super) fn describe(&self, headers: &mut HeaderMap, request: &mut RequestView) {
        if let Self::Translated(translator) = self {
            let ResponseTranslation { pair, ledger, .. } = &translator.translation;
            let summary = ledger.header(*pair);
            if let Ok(summary) = HeaderValue::try_from(&*summary) {
                headers.insert(TRANSLATION, summary);
            }
            let summary = TranslationSummary::for_request(*pair, summary, ledger);
            request.state.set(summary);
        }
    }

    /// Adds what the response lost, once it is over, to what is logged of the translation.
    pub(super) fn note_losses(&self, request: &mut RequestView) {
        if let Self::Translated(translator) = self
            && let Some(mut summary) = request.state.take::<TranslationSummary>()
        {
            let stream = translator.stream.as_ref();
            summary.add_response(
                stream.map_or(&translator.ledger, |stream| &stream.translator.ledger),
            );
            request.state.set(summary);
        }
    }

    /// How far the stream has come in the caller's protocol, if that is not the provider's, and the number of its events.
    pub(super) fn progress(&self) -> Option<(&StreamProgress, u64)> {
        match self {
            Self::Identity => None,
            Self::Translated(translator) => {
                let stream = translator.stream.as_ref()?;
                Some((&stream.progress, stream.sent + stream.events.len() as u64))
            }
        }
    }
}

impl ResponseTranslator {
    fn stream(&mut self) -> &mut TranslatedStream {
        let translation = &self.translation;
        self.stream.get_or_insert_with(|| TranslatedStream {
            translator: StreamTranslator::new(translation.pair, translation.context.clone()),
            progress: StreamProgress::new(&translation.caller.descriptor().streams, 1),
            events: Vec::new(),
            sent: 0,
        })
    }
}

impl TranslatedStream {
    fn step(
        &mut self,
        step: impl FnOnce(&mut StreamTranslator, &mut Vec<SseEvent>) -> Result<(), UnreadableResponse>,
    ) -> Result<&[SseEvent], Fault> {
        self.sent += self.events.len() as u64;
        self.events.clear();
        step(&mut self.translator, &mut self.events).map_err(unreadable)?;
        for event in &self.events {
            self.progress.note(event, false);
        }
        Ok(&self.events)
    }
}

fn unreadable(error: UnreadableResponse) -> Fault {
    Fault::new(
        FaultKind::UnreadableResponse,
        "the provider's response does not follow its protocol; try again, and tell the operator of this gateway if the error persists",
    )
    .source(error)
}
