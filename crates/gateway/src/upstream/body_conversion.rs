//! What is done to the bytes of a response's body before anyone reads them: decoding, and events in place of frames.

use super::decoded_response::{response_decoder, undecodable};
use bytes::Bytes;
use headgate_event_stream::{FramedEvents, InvalidFrame};
use headgate_http_body::content_decoder::{ContentCoding, ContentDecoder};
use headgate_protocol::fault::{Fault, FaultKind};

/// Converts a body, chunk by chunk. Most bodies have no conversion, so that it takes a word.
#[derive(Default)]
pub(super) struct BodyBytesConversion {
    steps: Option<Box<ConversionSteps>>,
}

#[derive(Default)]
struct ConversionSteps {
    /// Decodes the body, if its provider compresses it.
    decoder: Option<Box<ContentDecoder>>,
    /// Makes events of frames, if the channel's protocol has those.
    frames: Option<FramedEvents>,
}

impl BodyBytesConversion {
    /// Decodes this coding from here on.
    pub(super) fn decode(&mut self, coding: ContentCoding) {
        self.steps.get_or_insert_default().decoder = Some(response_decoder(coding));
    }

    /// Reads the body as frames.
    pub(super) fn read_frames(&mut self) {
        let steps = self.steps.get_or_insert_default();
        steps.frames.get_or_insert_default();
    }

    pub(super) fn is_decoded(&self) -> bool {
        let steps = self.steps.as_ref();
        steps.is_some_and(|steps| steps.decoder.is_some())
    }

    /// Whether chunks stay as they are.
    pub(super) fn is_identity(&self) -> bool {
        self.steps.is_none()
    }

    /// What was wrong after the last chunk, so that nothing more must be received.
    ///
    /// # Errors
    /// The body is not what its head says.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let frames = self.steps.as_ref().and_then(|steps| steps.frames.as_ref());
        frames.map_or(Ok(()), |frames| frames.check().map_err(damaged))
    }

    /// A chunk as it is read, or the end; `None` if more must be received for one. `is_coding_open` is whether the first
    /// byte of the body decides if it is compressed, since its head says nothing.
    ///
    /// # Errors
    /// The body is not what its head says.
    pub(super) fn convert(
        &mut self,
        chunk: Option<Bytes>,
        is_coding_open: &mut bool,
    ) -> Result<Option<Option<Bytes>>, Fault> {
        if chunk.as_ref().is_none_or(|chunk| !chunk.is_empty())
            && std::mem::take(is_coding_open)
            && let Some(coding) = chunk.as_deref().and_then(ContentCoding::sniffed)
        {
            self.decode(coding);
        }
        match &mut self.steps {
            Some(steps) => steps.convert(chunk),
            None => Ok(Some(chunk)),
        }
    }
}

impl ConversionSteps {
    fn convert(&mut self, chunk: Option<Bytes>) -> Result<Option<Option<Bytes>>, Fault> {
        match self.decoded(chunk)? {
            Some(chunk) if self.frames.is_some() => self.unframed(chunk),
            chunk => Ok(chunk),
        }
    }

    fn decoded(&mut self, chunk: Option<Bytes>) -> Result<Option<Option<Bytes>>, Fault> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(Some(chunk));
        };
        let decoded = match &chunk {
            Some(chunk) => decoder.decode(chunk),
            None => decoder.finish(),
        };
        let decoded = decoded.map_err(|error| undecodable(&error))?;
        Ok(match (decoded.is_empty(), chunk) {
            (false, _) => Some(Some(decoded)),
            (true, Some(_)) => None,
            (true, None) => Some(None),
        })
    }

    fn unframed(&mut self, chunk: Option<Bytes>) -> Result<Option<Option<Bytes>>, Fault> {
        let Some(frames) = &mut self.frames else {
            return Ok(Some(chunk));
        };
        let Some(chunk) = chunk else {
            frames.finish().map_err(damaged)?;
            return Ok(Some(None));
        };
        let events = frames.push(&chunk);
        if events.is_empty() {
            frames.check().map_err(damaged)?;
            return Ok(None);
        }
        Ok(Some(Some(events)))
    }
}

fn damaged(invalid: InvalidFrame) -> Fault {
    let message = "the provider's stream is damaged; try again";
    Fault::new(FaultKind::Upstream, message).source(invalid)
}
