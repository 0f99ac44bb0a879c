//! All declared protocols of the process, by what is declared.

use super::{DeclarationScope, DeclaredProtocol, InvalidProtocol, ProtocolConfig};
use crate::protocols::ProtocolDescriptor;
use std::sync::{Mutex, PoisonError};

/// A declaration, and the protocol that was made of it.
struct InternedProtocol {
    scope: DeclarationScope,
    config: ProtocolConfig,
    protocol: DeclaredProtocol,
}

static INTERNED: Mutex<Vec<InternedProtocol>> = Mutex::new(Vec::new());

/// The protocol of this declaration: the one that an equal declaration made before, or a new one by `build`.
pub(super) fn intern(
    scope: DeclarationScope,
    name: &str,
    config: &ProtocolConfig,
    build: impl FnOnce() -> Result<&'static ProtocolDescriptor, Vec<InvalidProtocol>>,
) -> Result<DeclaredProtocol, Vec<InvalidProtocol>> {
    let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = interned.iter().find(|known| {
        known.scope == scope && known.protocol.descriptor().name == name && known.config == *config
    });
    if let Some(known) = known {
        return Ok(known.protocol);
    }
    let protocol = DeclaredProtocol(build()?);
    interned.push(InternedProtocol {
        scope,
        config: config.clone(),
        protocol,
    });
    Ok(protocol)
}
