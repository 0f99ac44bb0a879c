//! Callers: their keys, the models they may use, and their limits.

pub mod client_certificate;
pub mod external_callers;

use super::caller_key::CallerKey;
use super::limits::CallerLimits;
use super::verified_keys::VerifiedKeys;
use super::webhook_secret::CallerDeliverySigningKey;
use crate::scalar::model_pattern::ModelPattern;
use client_certificate::CallerCertificate;
use external_callers::ExternalCallers;
use headgate_protocol::hex::{self, HexDisplay};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The SHA-256 of a gateway key. Keys are stored in no other form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest([u8; 32]);

/// A holder of gateway keys, with its permissions. A caller of a request has those of the key that the request came with.
#[derive(Clone, Debug)]
pub struct Caller {
    pub name: Arc<str>,
    pub limits: CallerLimits,
    /// Each of them signs the deliveries to this caller; without any they are not signed.
    pub webhook_secrets: Vec<CallerDeliverySigningKey>,
    /// Where the ends of the caller's videos of OpenAI's format are delivered, unless their create names another URL.
    pub webhook_url: Option<Arc<str>>,
    /// Its name in metrics, if that is another one: a claimed or external caller may have that of all others.
    pub metric_label: Option<Arc<str>>,
    /// The caller of the configuration whose models and limits a claimed one has.
    pub like: Option<Arc<str>>,
    /// The key of the request; `None` if the caller has one key without a name, or is named without a request.
    pub key: Option<Arc<CallerKey>>,
    models: Arc<[ModelPattern]>,
}

/// All callers, by the digests of their keys and by name: those of `routes.yaml`, and the external ones, whose names and keys
/// differ from these.
#[derive(Debug, Default)]
pub struct Callers {
    by_digest: HashMap<KeyDigest, Arc<Caller>>,
    /// Each caller with all of its permissions.
    by_name: HashMap<Arc<str>, Arc<Caller>>,
    verified: VerifiedKeys<Caller>,
    /// The first caller in the file.
    first: Option<Arc<Caller>>,
    external: ExternalCallers,
}

/// A client certificate has names of two callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousCertificate;

impl KeyDigest {
    /// The digest of a key as the caller sends it.
    pub fn from_key(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// What stands for a name in a client certificate. No header has a NUL, so that nobody can send a key of this digest.
    pub fn from_certificate_name(name: &str) -> Self {
        let digest = Sha256::new_with_prefix(b"\0certificate\0");
        Self(digest.chain_update(name).finalize().into())
    }

    /// Parses 64 hex digits; `None` for any other text.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digest = hex::parse(hex.as_bytes())?;
        digest.try_into().ok().map(Self)
    }

    /// Whether the digests are equal, in a time that does not depend on where they differ.
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Prints 64 lower-case hex digits.
    pub fn to_hex(self) -> String {
        HexDisplay(&self.0).to_string()
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[digest]")
    }
}

impl Caller {
    pub fn new(name: &str, models: &[String]) -> Self {
        Self {
            name: name.into(),
            limits: CallerLimits::default(),
            webhook_secrets: Vec::new(),
            webhook_url: None,
            metric_label: None,
            like: None,
            key: None,
            models: models
                .iter()
                .map(|model| ModelPattern::new(model))
                .collect(),
        }
    }

    /// The models that it may use, to share them with another caller.
    pub fn models(&self) -> &Arc<[ModelPattern]> {
        &self.models
    }

    /// Shares equal models with other callers.
    pub fn with_models(mut self, models: Arc<[ModelPattern]>) -> Self {
        self.models = models;
        self
    }

    /// Sets the caller's limits.
    pub fn with_limits(mut self, limits: CallerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The caller with the permissions that this key of it leaves.
    pub fn with_key(&self, key: Arc<CallerKey>) -> Self {
        Self {
            key: Some(key),
            ..self.clone()
        }
    }

    /// Another caller with the same models and limits, which are counted apart. It has no webhooks.
    pub fn claimed_as(&self, name: Arc<str>, metric_label: Arc<str>) -> Self {
        Self {
            limits: self.limits.for_caller(&name),
            name,
            webhook_secrets: Vec::new(),
            webhook_url: None,
            metric_label: Some(metric_label),
            like: Some(self.name.clone()),
            key: None,
            models: self.models.clone(),
        }
    }

    /// Whether a token has claimed the caller's name, which the configuration does not have.
    pub fn is_claimed(&self) -> bool {
        self.like.is_some()
    }

    /// The name of the caller in metrics.
    pub fn metric_name(&self) -> &str {
        self.metric_label.as_deref().unwrap_or(&self.name)
    }

    /// Whether this caller may use this platform model.
    pub fn may_use_model(&self, model: &str) -> bool {
        let may_use = self.models.iter().any(|pattern| pattern.matches(model));
        may_use
            && self
                .key_models()
                .is_none_or(|mut models| models.any(|pattern| pattern.matches(model)))
    }

    /// Whether this caller may use some model that `pattern` matches.
    pub fn may_use_some(&self, pattern: &ModelPattern) -> bool {
        let mut own = self.models.iter();
        let may_use = own.any(|own| own.may_overlap(pattern));
        may_use
            && self
                .key_models()
                .is_none_or(|mut models| models.any(|model| model.may_overlap(pattern)))
    }

    /// Whether this caller may use the model by a pattern, or a name, that says more of it than `literal_len` bytes.
    pub fn names_model(&self, model: &str, literal_len: usize) -> bool {
        let mut matching = self.models.iter().filter(|pattern| pattern.matches(model));
        matching.any(|pattern| pattern.literal_len() > literal_len)
    }

    /// The models that the key is restricted to.
    fn key_models(&self) -> Option<std::slice::Iter<'_, ModelPattern>> {
        let models = self.key.as_ref()?.models.as_ref()?;
        Some(models.iter())
    }
}

impl Callers {
    /// Adds a caller under its name, with all of its permissions. The first of a name stays.
    pub fn add(&mut self, caller: &Arc<Caller>) {
        self.first.get_or_insert_with(|| caller.clone());
        let known = self.by_name.entry(caller.name.clone());
        known.or_insert_with(|| caller.clone());
    }

    /// Adds a key with the caller that its requests have, and that caller if none has its name; returns `false` if the key
    /// was there.
    pub fn insert(&mut self, digest: KeyDigest, caller: Arc<Caller>) -> bool {
        self.add(&caller);
        self.by_digest.insert(digest, caller).is_none()
    }

    /// The caller whose key is `key`.
    ///
    /// The digest of a key is computed at its first use; it is compared in constant time, also if no caller has the key.
    pub fn find_by_key(&self, key: &[u8]) -> Option<Arc<Caller>> {
        let verified = self.verified.find_by_key(key);
        let verified = verified.or_else(|| self.external.find_verified(key));
        if verified.is_some() {
            return verified;
        }
        let digest = KeyDigest::from_key(key);
        let Some(caller) = self.find_by_digest(digest) else {
            return self.external.find_by_key(key, digest);
        };
        self.verified.add(key, caller);
        Some(caller.clone())
    }

    /// The caller who has a client certificate with one of these names.
    ///
    /// # Errors
    /// Two callers have one.
    pub fn find_by_certificate(
        &self,
        certificate: &CallerCertificate,
    ) -> Result<Option<Arc<Caller>>, AmbiguousCertificate> {
        let mut found: Option<Arc<Caller>> = None;
        for name in certificate.names() {
            let declared = self.find_by_digest(name.digest).cloned();
            let Some(caller) = declared.or_else(|| self.external.holder(name.digest)) else {
                continue;
            };
            match &found {
                Some(other) if other.name != caller.name => return Err(AmbiguousCertificate),
                Some(_) => {}
                None => found = Some(caller),
            }
        }
        Ok(found)
    }

    /// The caller of `routes.yaml` that requests with a key of this digest have.
    pub fn holder(&self, digest: KeyDigest) -> Option<&Arc<Caller>> {
        self.by_digest.get(&digest)
    }

    fn find_by_digest(&self, digest: KeyDigest) -> Option<&Arc<Caller>> {
        let (held, caller) = match self.by_digest.get_key_value(&digest) {
            Some((held, caller)) => (*held, Some(caller)),
            None => (KeyDigest([0; 32]), None),
        };
        let is_equal = held.is(&digest);
        caller.filter(|_| is_equal)
    }

    /// The caller of this name; the first one in the file if `name` is `None`.
    pub fn by_name(&self, name: Option<&str>) -> Option<Arc<Caller>> {
        let Some(name) = name else {
            return self.first.clone();
        };
        let external = || Some(self.external.by_name(name)?.caller.clone());
        self.find_declared(name).cloned().or_else(external)
    }

    /// The caller of this name in `routes.yaml`.
    pub fn find_declared(&self, name: &str) -> Option<&Arc<Caller>> {
        self.by_name.get(name)
    }

    /// Whether no other caller than this one is known.
    pub fn is_sole(&self, name: &str) -> bool {
        let mut others = self.by_name.keys();
        self.external.is_empty() && others.all(|other| **other == *name)
    }

    /// The callers of `routes.yaml`, each once with all of its permissions, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Caller>> {
        self.by_name.values()
    }

    /// The callers that `routes.yaml` does not name.
    pub fn external(&self) -> &ExternalCallers {
        &self.external
    }

    /// Shows the callers that requests can have, by name and by key, in no particular order: some twice.
    pub fn for_each_holder(&self, see: &mut impl FnMut(&Caller)) {
        let declared = self.by_name.values().chain(self.by_digest.values());
        declared.for_each(|caller| see(caller));
        self.external.for_each(&mut |external| {
            see(&external.caller);
            external.keys.iter().for_each(|(_, holder)| see(holder));
        });
    }

    /// The keys in `routes.yaml` that have a name, each with its caller, in no particular order.
    pub fn keys(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<CallerKey>)> {
        let callers = self.by_digest.values();
        callers.filter_map(|caller| Some((&caller.name, caller.key.as_ref()?)))
    }

    /// The number of callers.
    pub fn len(&self) -> usize {
        self.by_name.len() + self.external.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_holder_of_a_key_is_found() {
        let mut callers = Callers::default();
        callers.insert(
            KeyDigest::from_key(b"sk-a"),
            Arc::new(Caller::new("a", &[])),
        );
        assert_eq!(&*callers.find_by_key(b"sk-a").unwrap().name, "a");
        assert!(callers.find_by_key(b"sk-b").is_none());
        assert!(callers.find_by_key(b"").is_none());
    }

    #[test]
    fn digests_survive_the_way_through_hex() {
        let digest = KeyDigest::from_key(b"sk-a");
        assert!(KeyDigest::from_hex(&digest.to_hex()) == Some(digest));
        assert!(KeyDigest::from_hex("zz").is_none());
        assert!(KeyDigest::from_hex(&"g".repeat(64)).is_none());
    }
}
