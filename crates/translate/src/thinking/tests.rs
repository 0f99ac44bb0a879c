//! Tests of seals.

mod handles;

use super::*;
use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use headgate_protocol::conversation::ConversationFormat;
use seal::{ForeignSeal, SealedThoughts, ThoughtText};
use std::sync::Arc;

/// Reverses bytes, and puts a byte of its own before them.
#[derive(Debug)]
struct Reversing(u8);

impl ThinkingSealer for Reversing {
    fn seal(&self, content: &[u8]) -> Vec<u8> {
        [self.0]
            .into_iter()
            .chain(content.iter().rev().copied())
            .collect()
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (own, content) = sealed.split_first()?;
        (*own == self.0).then(|| content.iter().rev().copied().collect())
    }
}

fn thoughts(proof: Option<&str>, text: ThoughtText) -> SealedThoughts {
    SealedThoughts {
        position: 3,
        proof: proof.map(str::to_owned),
        text,
    }
}

#[test]
fn a_seal_opens_to_what_it_was_made_of() {
    for thoughts in [
        thoughts(None, ThoughtText::Digest([7; 32])),
        thoughts(
            Some("sig\"1"),
            ThoughtText::Whole("I think \u{1f600}".into()),
        ),
        thoughts(Some(""), ThoughtText::Unreadable),
    ] {
        let seal = thoughts.seal(&Reversing(1)).unwrap();
        assert_eq!(
            SealedThoughts::open(&seal, &Reversing(1)),
            Ok(Some(thoughts))
        );
        assert_eq!(SealedThoughts::open(&seal, &Reversing(2)), Err(ForeignSeal));
        let cut = seal.as_written()[..seal.as_written().len() - 2].to_owned();
        assert_eq!(
            SealedThoughts::open(&EscapedText::plain(&cut), &Reversing(1)),
            Err(ForeignSeal)
        );
    }
}

#[test]
fn texts_of_others_are_no_seals() {
    for text in ["", "sig", "EqQBCgYIARgCKkA=", "hgt2.abc"] {
        assert_eq!(
            SealedThoughts::open(&EscapedText::plain(text), &Reversing(1)),
            Ok(None)
        );
    }
    for text in ["hgt1.", "hgt1.?", "hgt1.AQ"] {
        assert_eq!(
            SealedThoughts::open(&EscapedText::plain(text), &Reversing(1)),
            Err(ForeignSeal)
        );
    }
}

#[test]
fn thoughts_larger_than_a_seal_have_none() {
    let text = ThoughtText::Whole("x".repeat(1 << 20));
    assert_eq!(thoughts(None, text).seal(&Reversing(1)), None);
}

#[test]
fn a_stream_has_the_seal_directly_behind_the_thoughts() {
    let text = |part, text: &'static str| StreamPiece::Text {
        part,
        text: EscapedText::literal(text),
    };
    let think = |part, text: &'static str| StreamPiece::Thinking {
        part,
        text: EscapedText::literal(text),
    };
    let mut sealing =
        StreamSealing::new(ConversationFormat::Messages, Some(Arc::new(Reversing(1))));
    let mut pieces = Vec::new();
    for piece in [
        think(0, "I "),
        think(0, "think"),
        StreamPiece::Usage(crate::superset::Usage::default()),
        StreamPiece::PartEnd { part: 0 },
        text(1, "Hello"),
        think(2, "More"),
        text(3, "!"),
    ] {
        sealing.apply(piece, &mut pieces);
    }
    let kinds: Vec<String> = pieces
        .iter()
        .map(|piece| match piece {
            StreamPiece::Thinking { part, .. } => format!("thinking {part}"),
            StreamPiece::Signature { part, .. } => format!("seal {part}"),
            StreamPiece::Text { part, .. } => format!("text {part}"),
            StreamPiece::PartEnd { part } => format!("end {part}"),
            _ => "other".to_owned(),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "thinking 0",
            "thinking 0",
            "other",
            "seal 0",
            "end 0",
            "text 1",
            "thinking 2",
            "seal 2",
            "text 3"
        ]
    );
    let StreamPiece::Signature { signature, .. } = &pieces[3] else {
        panic!("a seal");
    };
    let opened = SealedThoughts::open(signature, &Reversing(1))
        .unwrap()
        .unwrap();
    assert_eq!(opened.position, 0);
    assert!(matches!(opened.text, ThoughtText::Digest(_)));
}
