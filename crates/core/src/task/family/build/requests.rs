//! Builds the mapping of generic request fields from a family's definition.

use super::FamilyErrors;
use crate::task::definition::{FieldMappingConfig, MediaMappingConfig, RequestMappingConfig};
use crate::task::family::body_builder::{JsonBodyBuilder, RequestBodyPointer, ValueTemplate};
use crate::task::family::json_fragment::JsonFragment;
use crate::task::family::{AllowedValues, FieldMapping, RequestMapping};
use serde_json::Value;
use std::collections::BTreeMap;

impl FamilyErrors {
    pub(super) fn request(&mut self, config: &RequestMappingConfig) -> RequestMapping {
        let RequestMappingConfig {
            base,
            model,
            prompt,
            negative_prompt,
            medias,
            duration,
            resolution,
            ratio,
            generate_audio,
            watermark,
            seed,
            callback_url,
        } = config;
        let base = ValueTemplate::new(&Value::Object(base.clone()));
        if base.has_hole() {
            self.add(
                "/request/base",
                "`{}` is not allowed here: `base` has no field value",
                None,
            );
        }
        if model.is_none() {
            self.add(
                "/request",
                "missing required key `model`",
                Some("such as `model: /model`"),
            );
        }
        let fields = [
            ("prompt", prompt),
            ("negative_prompt", negative_prompt),
            ("duration", duration),
            ("resolution", resolution),
            ("ratio", ratio),
            ("generate_audio", generate_audio),
            ("watermark", watermark),
            ("seed", seed),
            ("callback_url", callback_url),
        ];
        let MediaMappingConfig {
            first_frame,
            last_frame,
            reference_image,
            reference_video,
            reference_audio,
        } = medias;
        let medias = [
            ("first_frame", first_frame),
            ("last_frame", last_frame),
            ("reference_image", reference_image),
            ("reference_video", reference_video),
            ("reference_audio", reference_audio),
        ];
        let rules = RequestMapping {
            base,
            model: self.rule("/request", "model", model),
            fields: fields.map(|(name, field)| self.rule("/request", name, field)),
            medias: medias.map(|(name, field)| self.rule("/request/medias", name, field)),
        };
        let names = fields.map(|(name, _)| format!("/request/{name}"));
        let media_names = medias.map(|(name, _)| format!("/request/medias/{name}"));
        self.places(&rules, &names, &media_names);
        rules
    }

    fn rule(
        &mut self,
        within: &str,
        name: &str,
        config: &Option<FieldMappingConfig>,
    ) -> FieldMapping {
        let at = format!("{within}/{name}");
        let Some(config) = config else {
            return FieldMapping::Refuse(format!("does not support {name}"));
        };
        let FieldMappingConfig {
            to,
            value,
            allowed,
            map,
            refuse,
            ignore,
        } = config;
        match (to, refuse, ignore) {
            (Some(to), None, None) => {
                let value = value
                    .as_ref()
                    .map_or(ValueTemplate::Hole, ValueTemplate::new);
                if !value.has_hole() {
                    self.add(
                        &format!("{at}/value"),
                        "`value` must contain `{}`, which stands for the value of the field",
                        None,
                    );
                }
                let choices = self.choices(&at, allowed, map);
                match RequestBodyPointer::parse(to) {
                    Some(to) => return FieldMapping::Put { to, value, choices },
                    None => self.add(
                        &at,
                        "not a place in a request",
                        Some("write a JSON pointer such as /input/prompt; /content/- appends to a list"),
                    ),
                }
            }
            (None, Some(why), None) => return FieldMapping::Refuse(why.clone()),
            (None, None, Some(why)) => return FieldMapping::Ignore(why.clone()),
            _ => self.add(&at, "set exactly one of `to`, `refuse` and `ignore`", None),
        }
        FieldMapping::Refuse(String::new())
    }

    fn choices(
        &mut self,
        at: &str,
        allowed: &[String],
        map: &BTreeMap<String, Value>,
    ) -> AllowedValues {
        let itself = allowed.iter().map(|word| (word.clone(), None));
        let mapped = map
            .iter()
            .map(|(word, value)| (word.clone(), Some(value.clone())));
        match (allowed.is_empty(), map.is_empty()) {
            (true, true) => AllowedValues::Any,
            (false, false) => {
                self.add(
                    &format!("{at}/allowed"),
                    "`allowed` and `map` are mutually exclusive",
                    None,
                );
                AllowedValues::Any
            }
            _ => {
                let mut choices: Vec<_> = itself.chain(mapped).collect();
                if allowed.is_empty() {
                    // In ascending order: 480p, 720p, 1080p.
                    choices.sort_by_key(|(word, _)| leading_number(word));
                }
                AllowedValues::Of(choices)
            }
        }
    }

    /// Reports two fields with the same target. Media of different kinds may share one: a request then has only one of
    /// them.
    fn places(&mut self, rules: &RequestMapping, fields: &[String], medias: &[String]) {
        let fragment = JsonFragment::text("");
        let mut body = rules.base.fill(&fragment);
        let mut of_medias: Vec<&RequestBodyPointer> = Vec::new();
        let all = std::iter::once((&rules.model, "/request/model", false))
            .chain(
                rules
                    .fields
                    .iter()
                    .zip(fields)
                    .map(|(rule, at)| (rule, &**at, false)),
            )
            .chain(
                rules
                    .medias
                    .iter()
                    .zip(medias)
                    .map(|(rule, at)| (rule, &**at, true)),
            );
        for (rule, at, is_media) in all {
            let FieldMapping::Put { to, .. } = rule else {
                continue;
            };
            let shared = is_media && of_medias.contains(&to);
            if !shared
                && body
                    .put(to, JsonBodyBuilder::Json(b"0"[..].into()))
                    .is_err()
            {
                self.add(
                    at,
                    "duplicate place: another field or `base` writes it, too",
                    None,
                );
            }
            if is_media {
                of_medias.push(to);
            }
        }
    }
}

/// The number at the start of a word; words without one are last.
fn leading_number(word: &str) -> u64 {
    let digits = word.find(|character: char| !character.is_ascii_digit());
    word[..digits.unwrap_or(word.len())]
        .parse()
        .unwrap_or(u64::MAX)
}
