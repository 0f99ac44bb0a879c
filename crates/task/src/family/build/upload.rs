//! Builds the upload of media from its definition.

use super::{FamilyErrors, child};
use crate::definition::MediaUploadConfig;
use crate::family::upload::{MediaUpload, UploadContent, UploadField};
use crate::family::value_template::ValueTemplate;
use headgate_scalar::ByteSize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Largest file, if the definition sets none.
const FILE_SIZE_MAX: ByteSize = ByteSize::mebibytes(20);

impl FamilyErrors {
    pub(super) fn upload(&mut self, config: &MediaUploadConfig) -> Option<MediaUpload> {
        let MediaUploadConfig {
            method,
            path,
            headers,
            form,
            body,
            id,
            roles,
            max_size,
        } = config;
        let call = self.upload_call(method, path, headers);
        let content = match (form.is_empty(), body) {
            (true, Some(body)) => self.upload_json(body).map(UploadContent::Json),
            (false, None) => self.upload_form(form).map(UploadContent::Form),
            _ => {
                let hint = "such as `form: {image: \"{file}\", image_url: \"{url}\"}`";
                self.add(
                    "/upload",
                    "expected exactly one of `form` and `body`",
                    Some(hint),
                );
                None
            }
        };
        if roles.is_empty() {
            let hint = "such as [first_frame, last_frame]";
            self.add("/upload/roles", "no media are uploaded", Some(hint));
        }
        let id = self.pointers("/upload/id", id);
        Some(MediaUpload {
            call: call?,
            content: content?,
            id,
            roles: roles.clone(),
            max_size: max_size.unwrap_or(FILE_SIZE_MAX),
        })
    }

    fn upload_json(&mut self, body: &Value) -> Option<ValueTemplate> {
        let template = ValueTemplate::new(body).ok().filter(|it| !it.is_computed());
        if template.is_none() {
            let reason = "an expression reads a create, which comes after the upload";
            self.add("/upload/body", reason, None);
        } else if !template
            .as_ref()
            .is_some_and(ValueTemplate::has_placeholder)
        {
            let hint = "`{}` is the URL or data URI of the medium";
            self.add("/upload/body", "the medium is not in it", Some(hint));
        }
        template
    }

    fn upload_form(
        &mut self,
        form: &BTreeMap<String, String>,
    ) -> Option<Vec<(String, UploadField)>> {
        let mut fields = Vec::new();
        for (name, value) in form {
            let field = match value.as_str() {
                "{file}" => UploadField::File,
                "{url}" => UploadField::Url,
                text if text.contains(['{', '}', '\r', '\n']) => {
                    let hint = "write `{file}` or `{url}` alone, or a text without braces";
                    self.add(
                        &child("/upload/form", name),
                        "unknown placeholder",
                        Some(hint),
                    );
                    continue;
                }
                text => UploadField::Text(text.to_owned()),
            };
            fields.push((name.clone(), field));
        }
        let is_medium = |(_, field): &(String, UploadField)| !matches!(field, UploadField::Text(_));
        if !fields.iter().any(is_medium) {
            let hint = "`{file}` is its content, `{url}` its URL";
            self.add("/upload/form", "the medium is not in it", Some(hint));
        }
        Some(fields)
    }
}
