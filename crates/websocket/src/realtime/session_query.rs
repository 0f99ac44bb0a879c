//! The query of the handshake of a session, which names the model.

use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::percent_encoding::decoded;

/// The member that names the model.
const MODEL: &str = "model";
/// Members that say what a session is of, as some server may read them.
const RESERVED: [&str; 4] = [MODEL, "call_id", "deployment", "intent"];

/// A query, without the member that names the model.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionQuery {
    pub model: String,
    /// `None` if there are no other members.
    pub others: Option<String>,
}

impl SessionQuery {
    /// Reads a query.
    ///
    /// # Errors
    /// It names no model or several, or asks for what is no session of a model.
    pub fn parse(query: &str) -> Result<Self, Fault> {
        let (mut models, mut others) = (Vec::new(), Vec::new());
        for member in query.split('&').filter(|member| !member.is_empty()) {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            check_name(&decoded(name), member)?;
            let refusal = match &*decoded(name) {
                MODEL => {
                    models.push(decoded(value).into_owned());
                    continue;
                }
                "call_id" => Some("sessions of calls are not served here; connect with `model`"),
                "deployment" => Some("the model is named by `model`; connect without `deployment`"),
                "intent" if decoded(value) != "conversation" => Some(
                    "sessions that only transcribe are not served here; connect without `intent`",
                ),
                _ => None,
            };
            if let Some(message) = refusal {
                let name = decoded(name).into_owned();
                return Err(Fault::new(FaultKind::Invalid, message).param(name));
            }
            others.push(member);
        }
        let (kind, message) = match models.as_slice() {
            [model] if !model.is_empty() => {
                return Ok(Self {
                    model: models.swap_remove(0),
                    others: (!others.is_empty()).then(|| others.join("&")),
                });
            }
            [] | [_] => (
                FaultKind::Missing,
                "the query must name the model, as in `/v1/realtime?model=NAME`",
            ),
            _ => (FaultKind::Invalid, "the query names more than one model"),
        };
        Err(Fault::new(kind, message).param(MODEL))
    }
}

/// Refuses what a server could read as the name of a member that is checked here.
///
/// # Errors
/// The name of the member has other characters than those of names, or is spelled otherwise; or the member has a semicolon,
/// which some servers take for `&`.
fn check_name(name: &str, member: &str) -> Result<(), Fault> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let is_misspelled = |reserved: &str| name.eq_ignore_ascii_case(reserved) && name != reserved;
    if name.bytes().all(is_plain)
        && !RESERVED.into_iter().any(is_misspelled)
        && !member.contains(';')
    {
        return Ok(());
    }
    let message = "the query has a member that servers read differently; write `model=NAME` and plain names, separated by `&`";
    Err(Fault::new(FaultKind::Invalid, message).param(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_names_exactly_one_model_however_it_is_written() {
        for (query, model, others) in [
            ("model=voice", "voice", None),
            ("a=b&model=gpt%2Drealtime&c", "gpt-realtime", Some("a=b&c")),
            (
                "mod%65l=voice&&intent=conversation",
                "voice",
                Some("intent=conversation"),
            ),
        ] {
            let parsed = SessionQuery::parse(query).unwrap();
            assert_eq!(parsed.model, model, "{query}");
            assert_eq!(parsed.others.as_deref(), others, "{query}");
        }
        for (query, kind, param) in [
            ("", FaultKind::Missing, "model"),
            ("model=", FaultKind::Missing, "model"),
            ("model=a&mod%65l=b", FaultKind::Invalid, "model"),
            ("model=a&call_id=rtc_1", FaultKind::Invalid, "call_id"),
            ("intent=transcription", FaultKind::Invalid, "intent"),
            ("model=a&intent=Transcription", FaultKind::Invalid, "intent"),
            ("model=a&deployment=b", FaultKind::Invalid, "deployment"),
            ("model=a&Model=b", FaultKind::Invalid, "Model"),
            ("model=a&model[]=b", FaultKind::Invalid, "model[]"),
            ("model=a&+model=b", FaultKind::Invalid, "+model"),
            ("model=a&mod%2565l=b", FaultKind::Invalid, "mod%65l"),
            ("model=a&b=c;model=d", FaultKind::Invalid, "b"),
        ] {
            let fault = SessionQuery::parse(query).unwrap_err();
            let found = (fault.kind, fault.param.as_deref());
            assert_eq!(found, (kind, Some(param)), "{query}");
        }
    }
}
