//! Masks a secret in a body that passes in pieces, wherever the pieces are cut.

use bytes::{Bytes, BytesMut};
use memchr::memmem::{self, Finder};

/// Shorter secrets are not looked for: they would be found in ordinary text.
const SECRET_BYTES_MIN: usize = 8;

/// Replaces a secret by as many asterisks, so that lengths told before stay true.
///
/// Pieces pass as they are unless the secret is in them. What is held back is only what may be the
/// secret's beginning at the end of a piece; an ordinary event ends with a blank line, and is not.
#[derive(Debug)]
pub struct Masker {
    finder: Option<Finder<'static>>,
    held: Bytes,
}

impl Masker {
    pub fn new(secret: Option<&str>) -> Self {
        let secret = secret.filter(|secret| secret.len() >= SECRET_BYTES_MIN);
        Self {
            finder: secret.map(|secret| Finder::new(secret).into_owned()),
            held: Bytes::new(),
        }
    }

    /// What may go out of the next piece.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        let Some(finder) = &self.finder else {
            return piece;
        };
        let mut piece = match self.held.is_empty() {
            true => piece,
            false => [&std::mem::take(&mut self.held)[..], &piece]
                .concat()
                .into(),
        };
        if finder.find(&piece).is_some() {
            piece = masked(&piece, finder);
        }
        self.held = piece.split_off(piece.len() - begun(&piece, finder.needle()));
        piece
    }

    /// What was held back, once no more will come.
    pub fn finish(&mut self) -> Bytes {
        std::mem::take(&mut self.held)
    }
}

fn masked(piece: &[u8], finder: &Finder<'_>) -> Bytes {
    let mut masked = BytesMut::from(piece);
    for at in memmem::find_iter(piece, finder.needle()) {
        masked[at..at + finder.needle().len()].fill(b'*');
    }
    masked.freeze()
}

/// Bytes at the end of `piece` that the secret begins with.
fn begun(piece: &[u8], secret: &[u8]) -> usize {
    let longest = piece.len().min(secret.len() - 1);
    (1..=longest)
        .rev()
        .find(|length| piece.ends_with(&secret[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "sk-sk-secret";

    #[test]
    fn the_secret_is_masked_wherever_the_pieces_are_cut() {
        let body = format!("a {SECRET}{SECRET} b sk-sk-sk-secret sk-sk-secre");
        let expected = body.replace(SECRET, &"*".repeat(SECRET.len()));
        for first in 0..body.len() {
            for second in first..body.len() {
                let mut masker = Masker::new(Some(SECRET));
                let mut out = Vec::new();
                for piece in [&body[..first], &body[first..second], &body[second..]] {
                    out.extend_from_slice(&masker.push(Bytes::copy_from_slice(piece.as_bytes())));
                }
                out.extend_from_slice(&masker.finish());
                assert_eq!(
                    String::from_utf8(out).unwrap(),
                    expected,
                    "{first} {second}"
                );
            }
        }
    }

    #[test]
    fn an_ordinary_piece_passes_at_once_and_uncopied() {
        let mut masker = Masker::new(Some(SECRET));
        let piece = Bytes::from_static(b"data: {\"text\":\"sk-\"}\n\n");
        let passed = masker.push(piece.clone());
        assert_eq!(passed.as_ptr(), piece.as_ptr());
        assert_eq!(passed, piece);
        assert!(masker.finish().is_empty());
    }

    #[test]
    fn without_a_secret_everything_passes() {
        for secret in [None, Some(""), Some("short")] {
            let mut masker = Masker::new(secret);
            assert_eq!(masker.push(Bytes::from_static(b"short")), "short");
        }
    }
}
