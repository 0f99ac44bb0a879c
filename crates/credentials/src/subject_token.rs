//! Tokens of another issuer, which are exchanged for tokens of a cloud: they are in a file, or come from a server.

use crate::issuer::CredentialIssuer;
use crate::token_file::read_token_file;
use crate::token_response::refusal;
use headgate_core::callout::ServiceClient;
use headgate_core::credentials::temporary_credential::CredentialSourceError;
use http::{HeaderMap, Method};
use serde_json::Value;
use std::path::PathBuf;

/// Where a token of another issuer is. It is read for each exchange.
pub enum SubjectToken {
    /// A file that is written anew before the token in it expires.
    File {
        path: PathBuf,
        format: SubjectTokenFormat,
    },
    Server {
        issuer: Box<CredentialIssuer>,
        /// Path and query.
        path: Box<str>,
        headers: HeaderMap,
        format: SubjectTokenFormat,
    },
}

/// What surrounds a token.
pub enum SubjectTokenFormat {
    /// Blanks at most.
    Text,
    /// A JSON object with the token in this member.
    Json(Box<str>),
}

impl SubjectToken {
    /// # Errors
    /// The file cannot be read, the server refuses, or there is no token in the format.
    pub(crate) async fn read(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<String, CredentialSourceError> {
        match self {
            Self::File { path, format } => {
                let text = read_token_file(path).await?;
                format.token_in(&text, &path.display().to_string())
            }
            Self::Server {
                issuer,
                path,
                headers,
                format,
            } => {
                let asked = issuer.request(client, Method::GET, Some(path), &[], headers.clone());
                let response = asked.await?;
                if !response.content.status.is_success() {
                    return Err(refusal(&response, &[]));
                }
                format.token_in(
                    &String::from_utf8_lossy(&response.content.body),
                    response.host,
                )
            }
        }
    }
}

impl SubjectTokenFormat {
    fn token_in(&self, text: &str, place: &str) -> Result<String, CredentialSourceError> {
        let member = match self {
            Self::Text => return usable(text.trim().to_owned(), place),
            Self::Json(member) => member,
        };
        let object: Value = serde_json::from_str(text).unwrap_or_default();
        match object[&**member].as_str() {
            Some(token) => usable(token.to_owned(), place),
            None => Err(CredentialSourceError(format!(
                "{place} has no JSON object with the token in `{member}`"
            ))),
        }
    }
}

fn usable(token: String, place: &str) -> Result<String, CredentialSourceError> {
    match token.is_empty() {
        true => Err(CredentialSourceError(format!(
            "{place}: the token is empty"
        ))),
        false => Ok(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_text_or_a_member_of_an_object() {
        let json = || SubjectTokenFormat::Json("value".into());
        for (format, text, expected) in [
            (SubjectTokenFormat::Text, " a.b.c\n", Ok("a.b.c")),
            (SubjectTokenFormat::Text, " \n", Err("empty")),
            (json(), r#"{"count":1,"value":"a.b.c"}"#, Ok("a.b.c")),
            (json(), r#"{"value":""}"#, Err("empty")),
            (json(), r#"{"value":7}"#, Err("`value`")),
            (json(), r#"{"token":"a"}"#, Err("`value`")),
            (json(), "a.b.c", Err("`value`")),
        ] {
            match (format.token_in(text, "/run/token"), expected) {
                (Ok(token), Ok(expected)) => assert_eq!(token, expected),
                (Err(error), Err(reason)) => {
                    assert!(
                        error.0.contains("/run/token") && error.0.contains(reason),
                        "{error}"
                    );
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
