//! The query that an operator sets on every request to a provider.

use crate::task::family::path_template::add_to_query;
use headgate_protocol::credential_names::member_names_credential;
use headgate_protocol::percent_encoding::{decoded, decoded_bytes};
use headgate_protocol::secret_shape::MASK;
use std::borrow::Cow;
use std::fmt;

/// Members of a query that replace those of the same name, such as `api-version=2024-10-21`.
#[derive(Clone, Default)]
pub struct FixedQuery {
    /// Encoded, without `?`.
    text: String,
    /// Decoded and in lower case.
    names: Vec<Vec<u8>>,
    /// The encoded members whose name is that of a credential.
    secrets: Vec<String>,
}

/// The query has two members of this name.
#[derive(Debug, PartialEq, Eq)]
pub struct DuplicateMember(pub String);

impl FixedQuery {
    /// The members of an encoded query, and those of names and values in plain text.
    ///
    /// # Errors
    /// Two members have the same name, in any case.
    pub fn new<'m>(
        encoded: Option<&str>,
        members: impl IntoIterator<Item = (&'m str, &'m str)>,
    ) -> Result<Self, DuplicateMember> {
        let mut query = Self::default();
        let encoded = encoded.into_iter().flat_map(|text| text.split('&'));
        for member in encoded.filter(|member| !member.is_empty()) {
            query.push(member.to_owned())?;
        }
        for (name, value) in members {
            let mut member = String::new();
            add_to_query(&mut member, name, value);
            query.push(member.split_off(1))?;
        }
        Ok(query)
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The values that no response may reveal, decoded.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let values = self
            .secrets
            .iter()
            .filter_map(|member| member.split_once('='));
        values.map(|(_, value)| decoded(value).into_owned())
    }

    /// Sets the members in the query of a path, in place of those with their names, however they are written.
    pub fn set_in(&self, path: &mut String) {
        if self.is_empty() {
            return;
        }
        if let Some((before, query)) = path.split_once('?') {
            // Some servers accept a semicolon as separator too.
            let members = query.split_inclusive(['&', ';']);
            let others: String = members.filter(|member| !self.has(member)).collect();
            let others = others.trim_end_matches(['&', ';']);
            *path = match others {
                "" => before.to_owned(),
                others => format!("{before}?{others}"),
            };
        }
        path.push(if path.contains('?') { '&' } else { '?' });
        path.push_str(&self.text);
    }

    /// A target with the secret values masked.
    pub fn masked<'t>(&self, target: &'t str) -> Cow<'t, str> {
        let Some((path, query)) = target.split_once('?').filter(|_| !self.secrets.is_empty())
        else {
            return Cow::Borrowed(target);
        };
        let members = query.split('&').map(|member| match member.split_once('=') {
            Some((name, _)) if self.secrets.iter().any(|secret| secret == member) => {
                Cow::Owned(format!("{name}={MASK}"))
            }
            _ => Cow::Borrowed(member),
        });
        Cow::Owned(format!("{path}?{}", members.collect::<Vec<_>>().join("&")))
    }

    fn push(&mut self, member: String) -> Result<(), DuplicateMember> {
        let name = folded_name(&member);
        if self.names.contains(&name) {
            return Err(DuplicateMember(String::from_utf8_lossy(&name).into_owned()));
        }
        let (written, value) = member.split_once('=').unwrap_or((&member, ""));
        if !value.is_empty() && member_names_credential(written, &mut Vec::new()) {
            self.secrets.push(member.clone());
        }
        if !self.text.is_empty() {
            self.text.push('&');
        }
        self.text.push_str(&member);
        self.names.push(name);
        Ok(())
    }

    fn has(&self, member: &str) -> bool {
        let name = folded_name(member.trim_end_matches(['&', ';']));
        self.names.contains(&name)
    }
}

/// The name of a member of a query as servers may read it: decoded, in lower case, and without an index in brackets.
pub fn folded_name(member: &str) -> Vec<u8> {
    let name = member.split_once('=').map_or(member, |(name, _)| name);
    let mut name = decoded_bytes(name.as_bytes());
    if let Some(bracket) = name.iter().position(|byte| *byte == b'[') {
        name.truncate(bracket);
    }
    name.make_ascii_lowercase();
    name
}

/// Values may be secrets.
impl fmt::Debug for FixedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked(&format!("?{}", self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::{DuplicateMember, FixedQuery};

    fn query(encoded: &str, members: &[(&'static str, &'static str)]) -> FixedQuery {
        FixedQuery::new(Some(encoded), members.iter().copied()).unwrap()
    }

    #[test]
    fn the_operators_members_replace_those_of_the_same_name() {
        let fixed = query("api-version=2024-10-21", &[("tier", "a b&c")]);
        for (path, expected) in [
            ("/a", "/a?"),
            ("/a?", "/a?"),
            ("/a?x=1", "/a?x=1&"),
            ("/a?api-version=evil&x=1", "/a?x=1&"),
            ("/a?x=1&API-Version=evil", "/a?x=1&"),
            ("/a?x=1;api%2Dversion=evil", "/a?x=1&"),
            ("/a?api-version", "/a?"),
            ("/a?api-version[]=evil&tier%5B0%5D=1", "/a?"),
            ("/a?api-versions=1", "/a?api-versions=1&"),
            ("/a?tier=1&tier=2;Tier=3&y", "/a?y&"),
        ] {
            let mut changed = path.to_owned();
            fixed.set_in(&mut changed);
            let expected = format!("{expected}api-version=2024-10-21&tier=a%20b%26c");
            assert_eq!(changed, expected, "{path}");
        }
        let mut unchanged = "/a?api-version=1&&".to_owned();
        FixedQuery::default().set_in(&mut unchanged);
        assert_eq!(unchanged, "/a?api-version=1&&");
    }

    #[test]
    fn a_name_stands_once() {
        for (encoded, members) in [
            ("a=1&A=2", &[][..]),
            ("a=1", &[("a", "2")]),
            ("api%2Dversion=1", &[("api-version", "2")]),
        ] {
            let members = members.iter().copied();
            assert!(matches!(
                FixedQuery::new(Some(encoded), members),
                Err(DuplicateMember(_))
            ));
        }
    }

    #[test]
    fn values_of_credentials_are_masked() {
        let fixed = query("api-version=1", &[("key", "sk/secret value")]);
        assert_eq!(fixed.secrets().collect::<Vec<_>>(), ["sk/secret value"]);
        let mut path = "/a".to_owned();
        fixed.set_in(&mut path);
        assert_eq!(fixed.masked(&path), "/a?api-version=1&key=[secret]");
        assert_eq!(format!("{fixed:?}"), "?api-version=1&key=[secret]");
        assert_eq!(fixed.masked("/a?key=other"), "/a?key=other");
    }
}
