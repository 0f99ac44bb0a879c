//! Documents of text that a caller sends as a file.

use crate::Media;
use crate::escaped_text::EscapedText;
use bytes::Bytes;
use headgate_protocol::data_uri::DataUri;

/// The text of a file of type `text/…` in UTF-8; `None` for other files.
pub fn decoded_text(media: &Media<'_>) -> Option<EscapedText<'static>> {
    let media_type = media.media_type.decoded();
    if !media_type.get(..5)?.eq_ignore_ascii_case("text/") {
        return None;
    }
    let base64 = Bytes::copy_from_slice(media.base64.as_written().as_bytes());
    let mut decoder = DataUri::from_base64(base64).decoder();
    let (mut text, mut piece) = (Vec::new(), Vec::new());
    loop {
        decoder.next_piece(&mut piece).ok()?;
        if piece.is_empty() {
            return Some(EscapedText::plain(std::str::from_utf8(&text).ok()?));
        }
        text.extend_from_slice(&piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_in_utf_8_is_decoded() {
        for (media_type, base64, text) in [
            ("text/plain", "YQoiYiI=", Some("a\n\"b\"")),
            ("Text/markdown", r"w6k\u003d", Some("é")),
            ("text/plain", "", Some("")),
            ("text/plain", "/w==", None),
            ("text/plain", "not base64", None),
            ("application/pdf", "YQ==", None),
            ("text", "YQ==", None),
        ] {
            let media = Media {
                media_type: EscapedText::literal(media_type),
                base64: EscapedText::literal(base64),
            };
            let decoded = decoded_text(&media);
            assert_eq!(decoded.as_ref().map(EscapedText::decoded).as_deref(), text);
        }
    }
}
