//! Where the provider's proofs of thoughts belong: they stand on calls and texts, also where no thoughts are shown.
//!
//! A caller gets such a proof as thoughts that only the provider can read, in the place where its protocol has them.

use crate::escaped_text::EscapedText;

/// The part of a turn that a proof belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignaturePlace {
    /// A call, by its number among those of the turn.
    Call(u32),
    /// A text, by its number among those of the turn.
    Text(u32),
    /// A part of its own, without a text.
    Alone,
}

impl SignaturePlace {
    /// The proof with its place, as one text.
    pub fn mark(self, signature: &EscapedText<'_>) -> EscapedText<'static> {
        let place = match self {
            Self::Call(number) => format!("call.{number}:"),
            Self::Text(number) => format!("text.{number}:"),
            Self::Alone => "alone:".to_owned(),
        };
        let mut marked = EscapedText::plain(&place);
        marked.push(signature);
        marked
    }

    /// The place and the proof; `None` for a text that is not of this form.
    pub fn split<'a>(marked: &EscapedText<'a>) -> Option<(Self, EscapedText<'a>)> {
        let written = marked.as_written();
        let (place, _) = written.split_once(':')?;
        let signature = marked.slice(place.len() + 1..written.len());
        let place = match place.split_once('.') {
            None if place == "alone" => Self::Alone,
            Some(("call", number)) => Self::Call(number.parse().ok()?),
            Some(("text", number)) => Self::Text(number.parse().ok()?),
            Some(_) | None => return None,
        };
        Some((place, signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_keeps_its_place() {
        let signature = EscapedText::literal(r"CiQ:a\/b+==");
        for place in [
            SignaturePlace::Call(0),
            SignaturePlace::Text(17),
            SignaturePlace::Alone,
        ] {
            let marked = place.mark(&signature);
            assert_eq!(
                SignaturePlace::split(&marked),
                Some((place, signature.clone()))
            );
        }
        for other in [
            "",
            "CiQ",
            "call:a",
            "call.x:a",
            "text.-1:a",
            "other.1:a",
            "alone.1:a",
        ] {
            assert_eq!(
                SignaturePlace::split(&EscapedText::plain(other)),
                None,
                "{other}"
            );
        }
    }
}
