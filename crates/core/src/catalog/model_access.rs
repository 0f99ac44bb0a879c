//! Whether a caller may use the model that a request names: the one decision, wherever the name stands.

use super::Catalog;
use super::caller::Caller;
use super::model::Model;
use headgate_protocol::fault::FaultKind;
use std::sync::Arc;

/// The longest name of a model in an error, in characters.
const NAME_CHARS_MAX: usize = 128;

/// Why a caller gets no model by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelRefusal {
    Unknown,
    /// A pattern of a channel matches the name, and is not served because it has no price.
    Unpriced,
    Forbidden,
}

impl Catalog {
    /// The model of this name, for a request of `caller`; without one, for anybody.
    ///
    /// # Errors
    /// There is no such model, or it is not the caller's.
    pub fn usable_model(
        &self,
        name: &str,
        caller: Option<&Caller>,
    ) -> Result<Arc<Model>, ModelRefusal> {
        let may_use = |name: &str| caller.is_none_or(|caller| caller.may_use_model(name));
        match self.get(name) {
            Some(model) if may_use(&model.name) => Ok(model),
            Some(_) => Err(ModelRefusal::Forbidden),
            None if may_use(name) && self.by_pattern().lacks_price(name) => {
                Err(ModelRefusal::Unpriced)
            }
            None => Err(ModelRefusal::Unknown),
        }
    }

    /// The names of the models that the configuration names and that `caller` may use.
    pub fn usable_models(&self, caller: Option<&Caller>) -> impl Iterator<Item = &Arc<Model>> {
        self.models()
            .filter(move |model| caller.is_none_or(|caller| caller.may_use_model(&model.name)))
    }
}

impl ModelRefusal {
    /// The kind of a fault that is about the model alone.
    pub fn kind(self) -> FaultKind {
        match self {
            Self::Unknown | Self::Unpriced => FaultKind::UnknownModel,
            Self::Forbidden => FaultKind::Forbidden,
        }
    }

    /// The sentence for the caller; `hint` is what to do about a name that does not exist.
    pub fn sentence(self, name: &str, hint: impl FnOnce() -> String) -> String {
        let name = shortened(name);
        match self {
            Self::Unknown => format!("model `{name}` does not exist; {}", hint()),
            Self::Unpriced => format!(
                "model `{name}` has no price on this gateway and is not served; ask the operator of this gateway to add it"
            ),
            Self::Forbidden => format!(
                "this API key has no access to model `{name}`; ask the operator of this gateway for access"
            ),
        }
    }

    /// What the operator can do about it, for the log.
    pub fn detail(self, name: &str) -> Option<String> {
        let name = shortened(name);
        (self == Self::Unpriced).then(|| {
            format!(
                "model `{name}` matches a pattern of a channel: add it to `prices.models`, or write `unpriced: allow` in the channel"
            )
        })
    }
}

/// The start of a name, which callers choose: values in errors are bounded.
fn shortened(name: &str) -> &str {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}
