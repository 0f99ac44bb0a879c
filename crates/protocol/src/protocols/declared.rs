//! Protocols that a configuration declares: from what is written to the same descriptor that built-in ones have.

mod build;
mod config;
mod errors;
mod leaked;
mod paths;
mod pointers;
mod registry;
mod shapes;
#[cfg(test)]
mod tests;
mod usage;

pub use config::{
    BuiltInProtocolName, ErrorBodyTemplateConfig, ErrorFormatConfig, ProtocolConfig,
    ProtocolHeadersConfig, RetrySafetyConfig, StreamFormatConfig, UsageConfig,
};

use super::{Protocol, ProtocolDescriptor};
use build::DescriptorBuilder;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Characters of a declared name at most: it is the label of metrics and the name of a file.
const NAME_LENGTH_MAX: usize = 48;

/// A protocol that a configuration declares.
///
/// It is a reference to a descriptor that lives as long as the process, so that a copy costs nothing. Declared protocols are
/// equal by name.
#[derive(Clone, Copy)]
pub struct DeclaredProtocol(&'static ProtocolDescriptor);

/// What is wrong with a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidProtocol {
    /// JSON pointer within the declaration; empty for the whole, and for its name.
    pub pointer: String,
    pub reason: String,
    pub hint: Option<String>,
}

/// What a declaration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeclarationScope {
    /// An endpoint of `protocols`.
    Endpoint,
    /// The native API of a video family.
    VideoFamily,
}

impl ProtocolConfig {
    /// The protocol `name` of an endpoint that is declared so.
    ///
    /// An unchanged declaration is the same protocol after a reload; each edited one takes a few KiB until the process ends.
    ///
    /// # Errors
    /// All that is wrong with the declaration.
    pub fn build(&self, name: &str) -> Result<Protocol, Vec<InvalidProtocol>> {
        self.build_in(DeclarationScope::Endpoint, name)
    }

    /// The native protocol of a video family: as [`Self::build`], with the formats of video tasks.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_for_family(&self, name: &str) -> Result<Protocol, Vec<InvalidProtocol>> {
        self.build_in(DeclarationScope::VideoFamily, name)
    }

    fn build_in(
        &self,
        scope: DeclarationScope,
        name: &str,
    ) -> Result<Protocol, Vec<InvalidProtocol>> {
        check_name(name).map_err(|invalid| vec![invalid])?;
        let build = || DescriptorBuilder::new(self, scope).build(name);
        registry::intern(scope, name, self, build).map(Protocol::Declared)
    }
}

impl DeclaredProtocol {
    /// What the gateway knows of this protocol.
    pub fn descriptor(self) -> &'static ProtocolDescriptor {
        self.0
    }
}

impl PartialEq for DeclaredProtocol {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0) || self.0.name == other.0.name
    }
}

impl Eq for DeclaredProtocol {}

impl Hash for DeclaredProtocol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl Ord for DeclaredProtocol {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.name.cmp(other.0.name)
    }
}

impl PartialOrd for DeclaredProtocol {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for DeclaredProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

fn check_name(name: &str) -> Result<(), InvalidProtocol> {
    let invalid = |reason: String, hint: &str| InvalidProtocol {
        pointer: String::new(),
        reason,
        hint: Some(hint.to_owned()),
    };
    if Protocol::built_in(name).is_some() {
        let reason = format!("`{name}` is a built-in protocol and cannot be declared");
        return Err(invalid(reason, "choose another name"));
    }
    let is_allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
    };
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    match starts_well && name.bytes().all(is_allowed) && name.len() <= NAME_LENGTH_MAX {
        true => Ok(()),
        false => Err(invalid(
            format!("`{name}` is not a name of a protocol"),
            "use 1 to 48 lower-case letters, digits, `_` and `-`, a letter first",
        )),
    }
}
