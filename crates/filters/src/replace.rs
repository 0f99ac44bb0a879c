//! `replace`: replaces what a regular expression matches in headers, in the upstream path, and in texts of JSON bodies.

mod replacement;

use super::rewrite_path::is_forwarded;
use bytes::Bytes;
use headgate_core::filter::body_edit::{CheckedBodyEditor, edited_document};
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::header_name::header_name;
use headgate_core::filter::view::{RequestView, ResponseView, UpstreamHeaderRewriter};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_protocol::credential_names::names_credential;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::pointer::JsonPointer;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use replacement::{Replacement, ReplacementBudget, TextBudgetError};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "replace",
    summary: "Replaces what a regular expression matches: a list of `{in, match, with}`, where `in` is a header, `path`, or a JSON pointer to texts of the body.",
    side: ChainSide::Either,
    placement: FilterChainRules {
        before: &["callbacks", "copy_files", "force_usage", "store_media"],
        needs: &[FilterPrerequisite::Body],
        reason: ", which changes the body that it reads",
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<Vec<ReplacementConfig>>),
    bare: false,
    build: |settings, context| {
        Ok(Arc::new(ReplaceFilter::build(
            read_settings(settings)?,
            context,
        )?))
    },
};

/// A replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplacementConfig {
    /// What is searched: the name of a header, `path` (of the request to the provider), or a JSON pointer to texts of
    /// the body, such as `/messages/*/content`, in which the step `*` stands for every member or element. Values that
    /// are not texts stay as they are.
    r#in: String,
    /// Regular expression, unanchored. All matches are replaced.
    r#match: String,
    /// The text in place of each match, with `$1` or `$name` for capture groups of `match`. Write `$${1}x` for group
    /// `1` followed by `x`.
    with: String,
}

/// Maximum size of a header or path with its replacements, in bytes.
const LINE_BYTES_MAX: usize = 8 << 10;

struct ReplaceFilter {
    side: ChainSide,
    headers: Arc<HeaderReplacements>,
    path: Vec<Replacement>,
    fields: Vec<(JsonPointer, Replacement)>,
    editor: CheckedBodyEditor,
}

/// The replacements in headers, in order.
#[derive(Default)]
struct HeaderReplacements(Vec<(HeaderName, Replacement)>);

impl Filter for ReplaceFilter {
    fn declare(&self) -> FilterDeclaration {
        let is_response = self.side == ChainSide::Response;
        let has_fields = !self.fields.is_empty();
        FilterDeclaration {
            ignores_body: is_response || !has_fields,
            changes_model: !is_response && self.changes_model(),
            response_body: match is_response && has_fields {
                true => ResponseBodyAccess::Replace,
                false => ResponseBodyAccess::None,
            },
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::from(self.replace_in_path(request))
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let HeaderReplacements(headers) = &*self.headers;
        if !headers.is_empty() {
            request.header_edits.rewrite(self.headers.clone());
        }
        match self.fields.is_empty() {
            true => HookResult::next(),
            false => HookResult::from(self.replace_in_body(request)),
        }
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if self.side != ChainSide::Response {
            return HookResult::done();
        }
        if let Err(header) = self.headers.replace_in(response.headers) {
            let id = &*response.request.id;
            tracing::warn!(id, %header, "text is too long for a replacement");
        }
        HookResult::done()
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let Ok(document) = JsonDocument::parse(body.clone(), &JsonLimits::default()) else {
            return HookResult::done();
        };
        match replacement::edits(&self.fields, &document) {
            Ok(edits) if edits.is_empty() => {}
            Ok(edits) => *body = edits.apply(body).to_bytes(),
            Err((at, TextBudgetError)) => {
                tracing::warn!(
                    id = &*response.request.id,
                    at,
                    "text is too long for a replacement"
                );
            }
        }
        HookResult::done()
    }
}

impl ReplaceFilter {
    fn build(
        rules: Vec<ReplacementConfig>,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        if rules.is_empty() {
            let hint = "add a replacement: `{in: …, match: …, with: …}`";
            return Err(InvalidSettings::new("must not be empty").hint(hint));
        }
        let mut filter = Self {
            side: context.side,
            headers: Arc::default(),
            path: Vec::new(),
            fields: Vec::new(),
            editor: context.body_editor(DESCRIPTOR.name),
        };
        let mut headers = HeaderReplacements::default();
        for (index, rule) in rules.iter().enumerate() {
            filter.add(rule, &mut headers).map_err(|invalid| {
                let at = format!("/{index}{}", invalid.pointer);
                invalid.at(at)
            })?;
        }
        filter.headers = Arc::new(headers);
        Ok(filter)
    }

    fn add(
        &mut self,
        rule: &ReplacementConfig,
        headers: &mut HeaderReplacements,
    ) -> Result<(), InvalidSettings> {
        let replacement = Replacement::build(&rule.r#match, &rule.with)?;
        match rule.r#in.as_str() {
            "path" if self.side == ChainSide::Response => {
                return Err(InvalidSettings::new("a response has no path")
                    .at("/in")
                    .hint("move the replacement to `request`"));
            }
            "path" => self.path.push(replacement),
            pointer if pointer.starts_with('/') => {
                let pointer = JsonPointer::parse(pointer).map_err(|error| {
                    InvalidSettings::new(format!("`{pointer}` {error}")).at("/in")
                })?;
                self.fields.push((pointer, replacement));
            }
            name => {
                let name = header_name(name).map_err(|invalid| invalid.at("/in"))?;
                if names_credential(name.as_str().as_bytes()) {
                    let reason = format!("`{name}` carries a credential, which is not forwarded");
                    return Err(InvalidSettings::new(reason).at("/in"));
                }
                headers.0.push((name, replacement));
            }
        }
        Ok(())
    }

    fn changes_model(&self) -> bool {
        let mut pointers = self.fields.iter().map(|(pointer, _)| pointer.steps());
        pointers.any(|steps| matches!(steps, [only] if only == "model" || only == "*"))
    }

    fn replace_in_path(&self, request: &mut RequestView) -> Result<(), Fault> {
        for replacement in &self.path {
            let path = request.upstream_path.as_deref().unwrap_or(&request.path);
            let mut budget = ReplacementBudget::for_line(path, LINE_BYTES_MAX);
            let replaced = replacement.replaced(path, &mut budget);
            match replaced.map_err(|TextBudgetError| too_long("path"))? {
                Some(path) if path.starts_with('/') && path.chars().all(is_forwarded) => {
                    request.upstream_path = Some(path);
                }
                Some(_) => return Err(bad_path()),
                None => {}
            }
        }
        Ok(())
    }

    fn replace_in_body(&self, request: &mut RequestView) -> Result<(), Fault> {
        let limit = request.body_limit;
        let Some(document) = request.editable_body()? else {
            return Ok(());
        };
        // Texts are searched as earlier filters leave them.
        let settled = match request.edits.is_empty() {
            true => None,
            false => Some(edited_document(document.body(), &request.edits, limit)?),
        };
        let document = settled.as_ref().unwrap_or(document);
        let edits = replacement::edits(&self.fields, document);
        let edits: JsonEdits = edits.map_err(|(at, TextBudgetError)| too_long(&at))?;
        if !edits.is_empty() {
            let edited = edited_document(document.body(), &edits, limit)?;
            let checked = self.editor.check(request, edited)?;
            request.replace_body(checked);
        }
        Ok(())
    }
}

impl HeaderReplacements {
    /// Replaces in each value of the headers. The error is a header that is too long.
    fn replace_in(&self, headers: &mut HeaderMap) -> Result<(), HeaderName> {
        for (name, replacement) in &self.0 {
            let values = headers.get_all(name).iter();
            let replaced = values.map(|value| replaced_header(value, replacement));
            let replaced = replaced.collect::<Result<Vec<_>, TextBudgetError>>();
            let replaced = replaced.map_err(|TextBudgetError| name.clone())?;
            if let Entry::Occupied(mut entry) = headers.entry(name) {
                for (value, replaced) in entry.iter_mut().zip(replaced) {
                    *value = replaced.unwrap_or_else(|| value.clone());
                }
            }
        }
        Ok(())
    }
}

impl UpstreamHeaderRewriter for HeaderReplacements {
    fn rewrite(&self, headers: &mut HeaderMap) -> Result<(), Fault> {
        let replaced = self.replace_in(headers);
        replaced.map_err(|header| too_long(header.as_str()))
    }
}

/// The value with its replacements; `None` if nothing matches, or either value is not visible ASCII.
fn replaced_header(
    value: &HeaderValue,
    replacement: &Replacement,
) -> Result<Option<HeaderValue>, TextBudgetError> {
    let Ok(text) = value.to_str() else {
        return Ok(None);
    };
    let mut budget = ReplacementBudget::for_line(text, LINE_BYTES_MAX);
    let replaced = replacement.replaced(text, &mut budget)?;
    Ok(replaced.and_then(|text| HeaderValue::from_str(&text).ok()))
}

fn bad_path() -> Fault {
    Fault::new(
        FaultKind::BadHead,
        "the rewritten path has characters that are not allowed in a path; percent-encode them in the request",
    )
}

fn too_long(param: &str) -> Fault {
    Fault::new(
        FaultKind::TooLarge,
        format!("`{param}` is too long for a replacement that the gateway makes in it; send a shorter text"),
    )
    .param(param)
}
