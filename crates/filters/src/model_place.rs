//! Where the requests of a protocol name their model: a member of the body, a field of a form, or a segment of the path.

use super::model_member::{MODEL, ModelMember};
use super::path_model::{PathModel, name_in_path};
use super::provider_path::ProviderPath;
use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_core::filter::view::RequestView;
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;

/// Where a request names its model.
pub enum ModelPlace {
    Member(ModelMember),
    /// The parameter of the path where a path of the route has it, otherwise a member of the body.
    PathOrMember(PathModel),
    /// The parameter of the path, which the provider has in its path, too.
    ProviderPath(ProviderPath),
    /// The parameter of the path of a family's API, of which a later filter makes the provider's path.
    Path,
}

impl ModelPlace {
    /// The place for the route of the filter `filter`.
    ///
    /// # Errors
    /// The API has the model in its paths, and those of the route do not, or it cannot be moved to where the API has it.
    pub fn new(
        filter: &'static str,
        protocol: Protocol,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let Some(family) = context.tasks.native_families(protocol).next() else {
            if let Some(path) = ProviderPath::for_route(protocol, context)? {
                return Ok(Self::ProviderPath(path));
            }
            return Ok(match PathModel::new(filter, protocol, context)? {
                Some(path) => Self::PathOrMember(path),
                None => Self::Member(ModelMember::for_protocol(protocol)),
            });
        };
        match family.model_member() {
            Some(pointer) if !family.native_api().names_model_in_path() => {
                let names = pointer.split('/').skip(1).map(str::to_owned);
                Ok(Self::Member(ModelMember::new(names)))
            }
            _ if (context.has_parameter)(MODEL) => Ok(Self::Path),
            _ => Err(InvalidSettings::new(
                "the API of this protocol has the model in its paths, and the route's path has no `{model}`",
            )
            .hint("add `{model}` or `{+model}` to the path of `match`")),
        }
    }

    /// The member of the body as later filters and providers read it; `None` if they find the model in the path.
    pub fn member(&self) -> Option<&ModelMember> {
        match self {
            Self::Member(member) => Some(member),
            Self::PathOrMember(path) => Some(&path.member),
            Self::ProviderPath(_) | Self::Path => None,
        }
    }

    /// The model that the path of a request names; `None` if its body does.
    ///
    /// # Errors
    /// The name could lead to another path of a provider.
    pub fn named_in_path<'r>(&self, request: &'r RequestView) -> Result<Option<&'r str>, Fault> {
        match self {
            Self::Member(_) => Ok(None),
            Self::PathOrMember(_) | Self::ProviderPath(_) => name_in_path(request),
            Self::Path => Ok(Some(request.param(MODEL).unwrap_or_default())),
        }
    }
    /// Prepares a request that names the model in its path for later filters and the provider.
    ///
    /// # Errors
    /// The model cannot be moved to the body, or the query asks for a response in a format that the protocol does not have.
    pub fn prepare(&self, request: &mut RequestView) -> Result<(), Fault> {
        match self {
            Self::Member(_) | Self::Path => Ok(()),
            Self::PathOrMember(path) => path.move_to_body(request),
            Self::ProviderPath(path) => path.set_endpoint(request),
        }
    }
}
