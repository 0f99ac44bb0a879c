//! Checks data URIs: size, kind and base64, in one pass that keeps nothing but a digest.

use super::found::{FoundDataUri, invalid};
use crate::{
    ContentDescriptor, ContentHasher, MediaProperties, declared_kind, detect_content_type,
};
use headgate_core::task::media_kind::MediaKind;
use headgate_protocol::data_uri::{DataUriPieceIndex, DataUriReader};
use headgate_protocol::fault::{Fault, FaultKind};

/// Bytes by which the kind of content is recognised.
const START_BYTES: usize = 4 << 10;
/// White space that a small file may have in its base64.
const TEXT_BYTES_SPARE: u64 = 64 << 10;

/// A data URI that may be sent, or stored.
pub(super) struct CheckedDataUri {
    pub found: FoundDataUri,
    pub content: ContentDescriptor,
    pub properties: MediaProperties,
}

/// Checks data URIs; decodes each as a whole, but keeps no more than a piece of it.
///
/// # Errors
/// The first one that is malformed, too large, or of another kind than its role requires.
pub(super) fn check_all(found: Vec<FoundDataUri>) -> Result<Vec<CheckedDataUri>, Fault> {
    let checked = found.into_iter().map(|found| {
        let (content, properties) = check(&found)?;
        Ok(CheckedDataUri {
            found,
            content,
            properties,
        })
    });
    checked.collect()
}

fn check(found: &FoundDataUri) -> Result<(ContentDescriptor, MediaProperties), Fault> {
    let FoundDataUri {
        param, rule, uri, ..
    } = found;
    check_declared_kind(found)?;
    // An escape has at most six bytes; more than that is white space.
    let longest = rule.max_size.bytes().div_ceil(3) * 4 * 6 + TEXT_BYTES_SPARE;
    if uri.text_bytes() as u64 > longest {
        return Err(too_large(found));
    }
    let (mut hasher, mut size) = (ContentHasher::default(), 0);
    let (mut start, mut text) = (Vec::new(), StreamingUtf8Check::default());
    let (mut decoder, mut piece) = (uri.decoder(), Vec::new());
    let mut index = DataUriPieceIndex::default();
    loop {
        index.begin_piece(&decoder);
        decoder
            .next_piece(&mut piece)
            .map_err(|error| invalid(param, error))?;
        if piece.is_empty() {
            break;
        }
        index.end_piece(piece.len());
        size += piece.len() as u64;
        if size > rule.max_size.bytes() {
            return Err(too_large(found));
        }
        if start.len() < START_BYTES {
            let wanted = START_BYTES - start.len();
            start.extend_from_slice(&piece[..wanted.min(piece.len())]);
        }
        hasher.update(&piece);
        if rule.kind == MediaKind::Document {
            text.push(&piece);
        }
    }
    let shown = detect_content_type(rule.kind, &start, &uri.media_type);
    let content_type = shown.map_err(|received| match received {
        Some(received) if received != rule.kind => wrong_content(found, received),
        Some(_) => wrong_kind(
            found,
            "its content is of another format than its media type",
        ),
        None => wrong_kind(
            found,
            "its content has none of the formats that are supported",
        ),
    })?;
    if content_type.starts_with("text/") && !text.is_whole() {
        return Err(wrong_kind(found, "its content is not text in UTF-8"));
    }
    let mut file = DataUriReader::new(uri, &index);
    let properties = MediaProperties::read(content_type, &mut file);
    if let Some(received) = properties.kind.filter(|received| *received != rule.kind) {
        return Err(wrong_content(found, received));
    }
    let content = ContentDescriptor {
        digest: hasher.digest(),
        size,
        content_type: content_type.to_owned(),
    };
    Ok((content, properties))
}

/// Checks the media type of a data URI against the kind of its role; which of a kind's types it is does not matter.
fn check_declared_kind(found: &FoundDataUri) -> Result<(), Fault> {
    match declared_kind(&found.uri.media_type) {
        Some(declared) if declared == found.rule.kind => Ok(()),
        Some(declared) => {
            let received = format!("its media type is that of {}", declared.with_article());
            Err(wrong_kind(found, &received))
        }
        None => Err(wrong_kind(found, "its media type is that of another file")),
    }
}

fn wrong_content(found: &FoundDataUri, received: MediaKind) -> Fault {
    wrong_kind(
        found,
        &format!("its content is {}", received.with_article()),
    )
}

fn wrong_kind(found: &FoundDataUri, what: &str) -> Fault {
    let FoundDataUri {
        param, role, rule, ..
    } = found;
    let kind = rule.kind.with_article();
    let message = format!("`{param}` must be {kind} for the role `{role}`, but {what}");
    Fault::new(FaultKind::Invalid, message).param(param)
}

fn too_large(found: &FoundDataUri) -> Fault {
    let FoundDataUri {
        param, role, rule, ..
    } = found;
    let most = rule.max_size;
    let message = format!(
        "`{param}` is too large: {} in the role `{role}` may have {most}; send a smaller file, or an http or https URL",
        rule.kind.with_article()
    );
    Fault::new(FaultKind::TooLarge, message).param(param)
}

/// Whether content that comes in pieces is UTF-8.
#[derive(Default)]
struct StreamingUtf8Check {
    is_invalid: bool,
    /// The start of a character whose end is in the next piece.
    open: Vec<u8>,
}

impl StreamingUtf8Check {
    fn push(&mut self, piece: &[u8]) {
        if self.is_invalid {
            return;
        }
        let mut rest = piece;
        // A character has at most four bytes.
        while !self.open.is_empty() && self.open.len() < 4 && !rest.is_empty() {
            self.open.push(rest[0]);
            rest = &rest[1..];
            match std::str::from_utf8(&self.open) {
                Ok(_) => self.open.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => self.is_invalid = true,
            }
        }
        match std::str::from_utf8(rest) {
            Ok(_) => {}
            Err(error) if error.error_len().is_none() => {
                self.open.extend_from_slice(&rest[error.valid_up_to()..]);
            }
            Err(_) => self.is_invalid = true,
        }
    }

    fn is_whole(&self) -> bool {
        !self.is_invalid && self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::StreamingUtf8Check;

    #[test]
    fn text_is_recognised_however_it_is_cut() {
        for (content, expected) in [
            ("größer → 終 😀".as_bytes(), true),
            (b"", true),
            (b"plain", true),
            (b"\xff", false),
            (b"a\xc3", false),
            (b"\xe7\xb5", false),
            (b"\xf0\x9f\x98\x80\x80", false),
        ] {
            for size in 1..6 {
                let mut check = StreamingUtf8Check::default();
                content.chunks(size).for_each(|piece| check.push(piece));
                assert_eq!(check.is_whole(), expected, "{content:?} by {size}");
            }
        }
    }
}
