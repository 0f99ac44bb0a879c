//! Which bytes of a configuration file are secret: by where they stand, typos of keys included, and by their looks.
//!
//! The schema knows its secrets exactly, but a misspelt key is outside it and a broken file has none.

use super::node::{YamlContent, YamlNode};
use headgate_protocol::nearest::is_close;
use headgate_protocol::secret_shape;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Keys beneath a credential that hold no secret.
const OPEN_KEYS: [&str; 29] = [
    "file",
    "lifetime",
    "name",
    "source",
    "match",
    "region",
    "service",
    "token_url",
    "client_authentication",
    "scope",
    "audience",
    "resource",
    "tenant",
    "certificate",
    "federated_token_file",
    "managed_identity",
    "authority",
    "credentials_file",
    "metadata_server",
    "container",
    "instance",
    "web_identity",
    "role_arn",
    "token_file",
    "session_name",
    "key_file",
    "key_id",
    "subject",
    "profile",
];
/// Keys that people write beneath a credential; whatever else stands there may be the credential itself.
const CREDENTIAL_KEYS: [&str; 56] = [
    "access_key_id",
    "api_key",
    "assume_role",
    "audience",
    "authority",
    "authorization",
    "aws",
    "azure",
    "basic",
    "bearer",
    "certificate",
    "client_authentication",
    "client_id",
    "client_secret",
    "container",
    "credentials_file",
    "env",
    "external_id",
    "federated_token_file",
    "file",
    "gcp",
    "header",
    "instance",
    "issuer",
    "jwt",
    "key",
    "key_file",
    "key_id",
    "lifetime",
    "managed_identity",
    "match",
    "metadata_server",
    "name",
    "oauth2",
    "password",
    "profile",
    "region",
    "resource",
    "role_arn",
    "scheme",
    "scope",
    "secret",
    "secret_access_key",
    "service",
    "session_name",
    "session_token",
    "source",
    "subject",
    "tenant",
    "token",
    "token_file",
    "token_url",
    "type",
    "username",
    "value",
    "web_identity",
];
/// Keys of a caller that hold no secret.
const CALLER_KEYS: [&str; 4] = ["name", "models", "limits", "group"];
/// Keys of a caller's named key that hold no secret.
const NAMED_KEY_KEYS: [&str; 7] = [
    "label",
    "not_before",
    "not_after",
    "models",
    "routes",
    "networks",
    "budget",
];

/// A key and the white space after its colon.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([A-Za-z0-9_-]+)["']?[ \t]*:(?:[ \t]+|$)"#).expect("the pattern is constant")
});

/// What a file has that nobody may see.
#[derive(Default)]
pub struct SecretSpans {
    pub ranges: Vec<Range<usize>>,
    /// The scalars and keys as they were read, which is not always as they are written.
    pub texts: Vec<String>,
}

/// The secrets of a tree that was read from this text, but for what merely looks like one.
pub fn in_tree(root: &YamlNode, text: &str) -> SecretSpans {
    let mut found = SecretSpans::default();
    found.collect(root, text, SecretScanContext::Plain);
    found
}

/// The scalars of a value that is secret as a whole.
pub fn in_secret(node: &YamlNode, text: &str) -> SecretSpans {
    let mut found = SecretSpans::default();
    found.collect(node, text, SecretScanContext::Secret);
    found
}

/// What stands in a secret's place in a text that is not valid YAML. Rather too much than too little.
pub fn in_text(text: &str) -> SecretSpans {
    let mut found = SecretSpans::default();
    let mut start = 0;
    let mut block: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        let indent = content.len() - content.trim_start().len();
        let mut secret = None;
        match block {
            Some(outer) if indent > outer || content.is_empty() || line.starts_with('\t') => {
                secret = Some(first_value(content));
            }
            _ => {
                block = None;
                if let Some(value) = secret_value(content) {
                    block = Some(indent);
                    secret = Some(value);
                }
            }
        }
        if let Some(value) = secret.filter(|value| *value < content.len()) {
            found.ranges.push(start + value..start + content.len());
            let words =
                content[value..].split(|c: char| c.is_whitespace() || "\"'{}[],:".contains(c));
            let words = words.filter(|word| !CREDENTIAL_KEYS.contains(word));
            found.texts.extend(words.map(str::to_owned));
        }
        start += line.len();
    }
    found
}

/// Whether a scalar is nothing but a variable's name, which may be shown.
pub fn is_reference(scalar: &str) -> bool {
    let inner = scalar.trim_matches(['"', '\'', ' ']);
    let name = inner
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| {
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        !name.is_empty() && name.chars().all(is_word)
    })
}

/// Whether a scalar is a date, perhaps with a time, which stands where a caller is said to expire.
fn is_date(scalar: &str) -> bool {
    let (date, time) = scalar.split_at_checked(10).unwrap_or((scalar, ""));
    let has_form = date.bytes().zip(*b"0000-00-00").all(|(byte, form)| {
        if form == b'-' {
            byte == b'-'
        } else {
            byte.is_ascii_digit()
        }
    });
    let is_of_time = |byte: u8| byte.is_ascii_digit() || b"TtZz:.+- ".contains(&byte);
    date.len() == 10 && has_form && time.len() <= 25 && time.bytes().all(is_of_time)
}

/// What the place of a value says of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretScanContext {
    Plain,
    /// Every scalar is a secret, and a key that nobody knows may be one.
    Secret,
    /// The list of callers, whose items are mappings.
    Callers,
    /// A caller: what its known keys do not hold is likely its key.
    Caller,
    /// The named keys of a caller, or one of them.
    NamedKey,
    /// Certificates: `key` is a path.
    Tls,
}

impl SecretScanContext {
    /// Those of the value under a key.
    fn under(self, key: &str) -> Self {
        match self {
            Self::Secret if OPEN_KEYS.contains(&key) => Self::Plain,
            Self::Secret => Self::Secret,
            Self::Callers if CALLER_KEYS.contains(&key) => Self::Plain,
            Self::Callers => Self::Caller,
            Self::Caller if key == "keys" => Self::NamedKey,
            Self::NamedKey if NAMED_KEY_KEYS.contains(&key) => Self::Plain,
            Self::NamedKey => Self::Secret,
            Self::Caller if CALLER_KEYS.iter().any(|known| is_close(key, known, 1)) => Self::Plain,
            Self::Caller => Self::Secret,
            Self::Tls if key == "key" => Self::Plain,
            Self::Plain | Self::Tls if key == "tls" => Self::Tls,
            Self::Plain | Self::Tls if is_close(key, "callers", 2) => Self::Callers,
            Self::Plain | Self::Tls if is_secret_key(key) => Self::Secret,
            Self::Plain | Self::Tls => Self::Plain,
        }
    }

    /// Those of the items of a list.
    fn for_items(self) -> Self {
        match self {
            Self::Callers => Self::Caller,
            other => other,
        }
    }
}

impl SecretSpans {
    fn collect(&mut self, node: &YamlNode, text: &str, surroundings: SecretScanContext) {
        match &node.content {
            YamlContent::Map(entries) => {
                for entry in entries.iter() {
                    let may_be_secret =
                        surroundings == SecretScanContext::Secret && !is_credential_key(&entry.key);
                    if may_be_secret || secret_shape::is_in(&entry.key) {
                        self.add(entry.key_range.clone(), &entry.key, text);
                    }
                    self.collect(&entry.value, text, surroundings.under(&entry.key));
                }
            }
            YamlContent::List(items) => {
                for item in items {
                    self.collect(item, text, surroundings.for_items());
                }
            }
            YamlContent::Null | YamlContent::Bool(_) => {}
            YamlContent::Number(number) => {
                if surroundings.is_secret() {
                    self.add(node.range.clone(), &number.to_string(), text);
                }
            }
            YamlContent::Text(read) => {
                let written = text.get(node.range.clone()).unwrap_or_default();
                let is_secret =
                    surroundings.is_secret() && !is_reference(written) && !is_date(read);
                // What is written with escapes or over several lines looks like nothing before it is read.
                let is_disguised =
                    read != written.trim_matches(['"', '\'']) && secret_shape::is_in(read);
                if is_secret || is_disguised {
                    self.add(node.range.clone(), read, text);
                }
            }
        }
    }

    fn add(&mut self, range: Range<usize>, read: &str, text: &str) {
        let written = text.get(range.clone()).unwrap_or_default();
        // A block scalar reaches into the indentation of the line below it.
        let range = range.start..range.start + written.trim_end().len();
        self.ranges.push(range);
        for text in [read, read.trim(), written.trim()] {
            if !CREDENTIAL_KEYS.contains(&text) {
                self.texts.push(text.to_owned());
            }
        }
    }
}

impl SecretScanContext {
    /// Whether a scalar here is a secret; one in the place of a caller is likely its key.
    fn is_secret(self) -> bool {
        matches!(
            self,
            Self::Secret | Self::Callers | Self::Caller | Self::NamedKey
        )
    }
}

/// Whether values under this key are secrets, the key perhaps misspelt.
fn is_secret_key(key: &str) -> bool {
    // A key's hash is none, but the key itself is often pasted in its place.
    const WHOLE: [(&str, usize); 6] = [
        ("credential", 2),
        ("credentials", 2),
        ("bearer", 1),
        ("api_key", 1),
        ("key_sha256", 2),
        ("password", 2),
    ];
    let key = key.to_ascii_lowercase();
    // `code` and `auth` are words of their own in a configuration.
    let by_name = secret_shape::is_secret_name(&key) && !matches!(&*key, "code" | "auth");
    by_name
        || WHOLE
            .iter()
            .any(|(word, edits)| is_close(&key, word, *edits))
}

/// Whether somebody may have meant this as a key beneath a credential.
fn is_credential_key(key: &str) -> bool {
    let known = CREDENTIAL_KEYS.iter();
    let key = key.to_ascii_lowercase();
    let edits = if key.len() > 5 { 2 } else { 1 };
    key.starts_with("x-") && key.ends_with("-key") && key.len() < 32
        || known.into_iter().any(|known| is_close(&key, known, edits))
}

/// Where the secret of a line starts, if one of its keys announces a secret.
fn secret_value(line: &str) -> Option<usize> {
    let mut within_secret = None;
    for found in KEY.captures_iter(line) {
        let key = &found[1];
        let (key_start, start) = (found.get(0)?.start(), found.get(0)?.end());
        // A key that nobody knows may be the credential itself.
        if within_secret.is_some() && !is_credential_key(key) {
            return Some(key_start);
        }
        let is_open = OPEN_KEYS.contains(&key);
        let is_secret =
            !is_open && (within_secret.is_some() || key == "value" || is_secret_key(key));
        let value = &line[start..];
        // What an anchor names may be a secret where its alias stands.
        let is_anchored = value.starts_with('&');
        if !is_secret && !is_anchored {
            continue;
        }
        if value.starts_with('{') {
            within_secret.get_or_insert(start);
            continue;
        }
        let is_path = key == "key"
            && [".pem", ".key", ".crt"]
                .iter()
                .any(|end| value.ends_with(end));
        let value = value.trim_end_matches(['}', ' ']);
        let is_shown = is_reference(value) || is_reference(&format!("{value}}}"));
        if !is_shown && !is_path {
            return Some(start);
        }
    }
    // A mapping of which no key is known may hold the credential as a key.
    within_secret.filter(|start| !KEY.is_match(&line[*start..]))
}

/// Where the value of a line within a secret starts; a line without a known key is all value.
fn first_value(line: &str) -> usize {
    let indent = line.len() - line.trim_start_matches(['-', ' ', '\t']).len();
    let key = KEY.captures(line).filter(|found| {
        let starts_line = found
            .get(0)
            .is_some_and(|whole| whole.start() <= indent + 1);
        starts_line && is_credential_key(&found[1])
    });
    key.and_then(|found| found.get(0))
        .map_or(indent, |whole| whole.end())
}

#[cfg(test)]
mod tests;
