//! Models that callers name in the path, for providers that read them in the body or have a path of their own.

use super::model_member::{MODEL, ModelMember};
use headgate_core::catalog::path_segment::refused_part;
use headgate_core::filter::body_edit::{CheckedBodyEditor, edited_document};
use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::{CloudEndpoint, CloudRequestFormat, Protocol};

/// Requests with the model in the caller's path, for providers that read it in the body.
pub struct PathModel {
    pub member: ModelMember,
    paths: Vec<PathAroundModel>,
    editor: CheckedBodyEditor,
}

/// A path of the route that names the model.
struct PathAroundModel {
    /// What precedes the first parameter.
    start: String,
    /// What follows the model.
    end: String,
    /// What the provider gets in place of the path.
    provider_path: String,
    /// The format of the cloud whose path this is, and its endpoint.
    cloud: Option<(&'static CloudRequestFormat, CloudEndpoint)>,
}

impl PathModel {
    /// `None` if no path of the route names the model.
    ///
    /// # Errors
    /// The path at the provider cannot be known.
    pub fn new(
        filter: &'static str,
        protocol: Protocol,
        context: &BuildContext<'_>,
    ) -> Result<Option<Self>, InvalidSettings> {
        let paths = context.paths.iter().map(|path| &*path.path);
        let mut paths = paths
            .filter_map(|path| PathAroundModel::new(path, protocol).transpose())
            .collect::<Result<Vec<_>, _>>()?;
        // The longest end first: a shorter one may be the end of it.
        paths.sort_by_key(|path| usize::MAX - path.end.len());
        Ok((!paths.is_empty()).then(|| Self {
            member: ModelMember::for_protocol(protocol),
            paths,
            editor: context.body_editor(filter),
        }))
    }

    /// Makes the request one that names the model of its path in the body, for this filter and all later ones: in place of
    /// another model, which the body may name.
    ///
    /// # Errors
    /// The body has no place for the model, or an earlier filter refuses the edited body.
    pub fn move_to_body(&self, request: &mut RequestView) -> Result<(), Fault> {
        let Some(name) = request.param(MODEL) else {
            return Ok(());
        };
        let document = request.body.scanned();
        let is_form = request.body.form().is_some();
        // The edits of a form are not those of its description.
        let mut edits = match is_form {
            true => JsonEdits::default(),
            false => request.edits.clone(),
        };
        let mut is_edited = self.member.set(document, is_form, name, &mut edits)?;
        let mut paths = self.paths.iter();
        let path = paths.find(|known| known.matches(&request.path));
        if let Some((format, endpoint)) = path.and_then(|path| path.cloud)
            && !is_form
        {
            let version = request.protocol.map(Protocol::descriptor);
            let version = version.and_then(|it| it.headers.version.as_ref());
            let headers = &mut request.headers;
            format.convert(endpoint, version, document, &mut edits, headers);
            is_edited = true;
        }
        if is_edited {
            let edited = edited_document(document.body(), &edits, request.body_limit)?;
            let checked = self.editor.check(request, edited)?;
            match is_form {
                true => request.replace_description(checked),
                false => request.replace_body(checked),
            }
        }
        if request.upstream_path.is_none() {
            request.upstream_path = path.map(|path| path.provider_path.clone());
            // It is one of the API whose path this is, such as its version.
            request.query = None;
        }
        Ok(())
    }
}

impl PathAroundModel {
    /// `None` if the path does not name the model.
    fn new(path: &str, protocol: Protocol) -> Result<Option<Self>, InvalidSettings> {
        let Some((before, end)) = split_at_model(path)? else {
            return Ok(None);
        };
        if end.contains('{') {
            return Err(InvalidSettings::new(format!(
                "the path at the provider is what follows the model in `{path}`, and that has another parameter"
            ))
            .hint("place other parameters before `{model}`"));
        }
        let descriptor = protocol.descriptor();
        let clouds = descriptor.clouds;
        let cloud = clouds.and_then(|format| {
            let mut endpoints = format.endpoints.iter();
            let endpoint = endpoints.find(|endpoint| endpoint.end == end)?;
            Some((format, *endpoint))
        });
        let (own, is_own) = (descriptor.path, end.starts_with('/') && cloud.is_none());
        if !is_own && own.is_empty() {
            return Err(InvalidSettings::new(format!(
                "`{path}` ends with the model, and the declaration of `{}` has no `path` for the provider",
                protocol.name()
            ))
            .hint("add `path` to the protocol in `protocols`"));
        }
        Ok(Some(Self {
            start: before.split('{').next().unwrap_or_default().to_owned(),
            end: end.to_owned(),
            provider_path: if is_own { end } else { own }.to_owned(),
            cloud,
        }))
    }

    fn matches(&self, path: &str) -> bool {
        path.starts_with(&self.start) && path.ends_with(&self.end)
    }
}

/// The name of the model in the path of a request; `None` if the path has none.
///
/// # Errors
/// The name could lead to another path of a provider.
pub fn name_in_path(request: &RequestView) -> Result<Option<&str>, Fault> {
    let name = request.param(MODEL);
    name.map_or(Ok(()), check_name)?;
    Ok(name)
}

/// # Errors
/// The name could lead to another path of a provider.
pub fn check_name(name: &str) -> Result<(), Fault> {
    match refused_part(name) {
        None => Ok(()),
        Some(refused) => Err(Fault::new(
            FaultKind::Invalid,
            format!("`model` in the path must not {refused}; check the name"),
        )
        .param(MODEL)),
    }
}

/// What precedes and follows the model in the path of a route; `None` if the path does not name it.
///
/// # Errors
/// The model takes every path.
pub fn split_at_model(path: &str) -> Result<Option<(&str, &str)>, InvalidSettings> {
    match path.split_once("{model}").or(path.split_once("{+model}")) {
        Some(("/", _)) if path.starts_with("/{+") => Err(InvalidSettings::new(format!(
            "`{path}` begins with the model, so that the path of each other endpoint would be one"
        ))
        .hint("put a segment before it, such as `/models/{+model}`")),
        split => Ok(split),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::task::family::path_template::PathTemplate;
    use headgate_protocol::percent_encoding::push_encoded;
    use headgate_protocol::request_path::{normalised, segment_text};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_that_may_stand_in_a_path_is_the_same_after_each_way_through_one(name in r"[\PC/%.;:]{0,24}") {
            let mut sent = String::from("/deployments/");
            push_encoded(&mut sent, &name);
            let received = match refused_part(&name) {
                Some(_) => return Ok(()),
                None => normalised(&sent).expect("a name without dot segments"),
            };
            let segment = received.strip_prefix("/deployments/").unwrap();
            prop_assert_eq!(segment.matches('/').count(), 0);
            prop_assert_eq!(&*segment_text(segment), &*name);
            for template in ["/models/{model}:run", "/models/{+model}:run"] {
                let template = PathTemplate::parse(template).unwrap();
                let filled = template.fill_task("", &name).unwrap();
                let there = normalised(&filled).expect("a path of the provider");
                let value = there.strip_prefix("/models/").unwrap();
                let value = value.strip_suffix(":run").unwrap();
                let texts: Vec<_> = value.split('/').map(segment_text).collect();
                prop_assert_eq!(texts.join("/"), &*name);
            }
        }
    }
}
