//! The protocols that a configuration may name.

use super::Protocol;

/// Protocols by name: the built-in ones, and those that a configuration declares.
#[derive(Clone, Debug, Default)]
pub struct ProtocolTable {
    declared: Vec<Protocol>,
}

impl ProtocolTable {
    /// The built-in protocols and these.
    pub fn with_declared(declared: Vec<Protocol>) -> Self {
        Self { declared }
    }

    /// The protocol with this name.
    pub fn get(&self, name: &str) -> Option<Protocol> {
        let mut all = self.iter();
        all.find(|protocol| protocol.name() == name)
    }

    /// All protocols: the built-in ones first.
    pub fn iter(&self) -> impl Iterator<Item = Protocol> + '_ {
        Protocol::BUILT_IN.iter().chain(&self.declared).copied()
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.iter().map(Protocol::name)
    }
}
