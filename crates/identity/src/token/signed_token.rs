//! The strict parse of a token in the compact form of RFC 7515, before anything of it is trusted.

use super::algorithm::SignatureAlgorithm;
use super::refusal::{TOKEN_BYTES_MAX, TokenPart, TokenRefusal};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};
use memchr::memchr_iter;

/// Members of a header that bring keys, or that change how the rest is read.
const REFUSED_MEMBERS: [&str; 10] = [
    "jku", "jwk", "x5u", "x5c", "crit", "zip", "cty", "b64", "enc", "epk",
];
/// The longest id of a key, in bytes.
pub(super) const KEY_ID_BYTES_MAX: usize = 256;
/// The longest signature is that of RSA with 8192 bits.
const SIGNATURE_BYTES_MAX: usize = 1024;
const LIMITS: JsonLimits = JsonLimits {
    depth: 16,
    values: 2_048,
};

/// A token whose form is valid; its signature and its claims are not checked.
pub(crate) struct SignedToken<'t> {
    pub algorithm: SignatureAlgorithm,
    /// The `kid` of the header.
    pub key_id: Option<Box<str>>,
    pub claims: JsonDocument,
    /// What is signed: the first two parts, as they were sent.
    pub signed: &'t [u8],
    pub signature: Vec<u8>,
}

/// Whether a credential has the form of a token: three parts between dots. Keys that the gateway makes have none.
pub(crate) fn has_token_form(credential: &[u8]) -> bool {
    memchr_iter(b'.', credential).count() == 2
}

impl<'t> SignedToken<'t> {
    /// Parses a token.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub fn parse(token: &'t [u8]) -> Result<Self, TokenRefusal> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenRefusal::TooLong);
        }
        let mut dots = memchr_iter(b'.', token);
        let (Some(first), Some(second), None) = (dots.next(), dots.next(), dots.next()) else {
            return Err(TokenRefusal::Parts);
        };
        let header = parse_part(&token[..first], TokenPart::Header)?;
        let (algorithm, key_id) = check_header(header.root())?;
        let claims = parse_part(&token[first + 1..second], TokenPart::Claims)?;
        let signature = decode(&token[second + 1..], TokenPart::Signature)?;
        if signature.is_empty() || signature.len() > SIGNATURE_BYTES_MAX {
            return Err(TokenRefusal::Signature);
        }
        Ok(Self {
            algorithm,
            key_id,
            claims,
            signed: &token[..second],
            signature,
        })
    }

    /// The claim `iss`.
    pub fn issuer(&self) -> Option<std::borrow::Cow<'_, str>> {
        self.claims.root().get("iss")?.as_str()
    }
}

fn check_header(
    header: DocumentNode<'_>,
) -> Result<(SignatureAlgorithm, Option<Box<str>>), TokenRefusal> {
    for name in REFUSED_MEMBERS {
        if header.get(name).is_some() {
            return Err(TokenRefusal::HeaderMember(name));
        }
    }
    let algorithm = header.get("alg").and_then(DocumentNode::as_str);
    let algorithm = algorithm.and_then(|name| SignatureAlgorithm::from_name(&name));
    let algorithm = algorithm.ok_or(TokenRefusal::Algorithm)?;
    if let Some(node) = header.get("typ") {
        let name = node.as_str().ok_or(TokenRefusal::Type)?;
        let name = name.strip_prefix("application/").unwrap_or(&name);
        let is_known = |known: &&str| name.eq_ignore_ascii_case(known);
        ["JWT", "at+jwt"]
            .iter()
            .find(|known| is_known(known))
            .ok_or(TokenRefusal::Type)?;
    }
    let key_id = header.get("kid").map(key_id).transpose()?;
    Ok((algorithm, key_id))
}

fn key_id(node: DocumentNode<'_>) -> Result<Box<str>, TokenRefusal> {
    let text = node.as_str().ok_or(TokenRefusal::KeyId)?;
    match text.is_empty() || text.len() > KEY_ID_BYTES_MAX {
        true => Err(TokenRefusal::KeyId),
        false => Ok(text.into()),
    }
}

fn parse_part(text: &[u8], part: TokenPart) -> Result<JsonDocument, TokenRefusal> {
    let json = decode(text, part)?;
    let document = JsonDocument::parse(json.into(), &LIMITS);
    let document = document.map_err(|_| TokenRefusal::Json(part))?;
    match document.root().kind() {
        ValueKind::Object => Ok(document),
        _ => Err(TokenRefusal::Json(part)),
    }
}

/// Decodes base64url. Padding, other characters and bits after the last byte are refused: each token has one form.
fn decode(text: &[u8], part: TokenPart) -> Result<Vec<u8>, TokenRefusal> {
    let decoded = URL_SAFE_NO_PAD.decode(text);
    decoded.map_err(|_| TokenRefusal::Encoding(part))
}
