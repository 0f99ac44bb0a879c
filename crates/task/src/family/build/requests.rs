//! Builds the mapping of generic request fields from a family's definition.

use super::{FamilyErrors, child};
use crate::definition::{FieldMappingConfig, MediaMappingConfig, RequestMappingConfig};
use crate::family::allowed_values::{AllowedValues, leading_number};
use crate::family::body_builder::{JsonBodyBuilder, RequestBodyPointer};
use crate::family::field_mapping::{
    FieldMapping, FieldMappings, FieldPut, FieldTarget, ModelOverrides, RequestMapping,
};
use crate::family::value_template::ValueTemplate;
use headgate_scalar::model_pattern::ModelPattern;
use serde_json::{Map, Value};

/// A field's name and its mapping as written.
type WrittenField<'c> = (&'static str, &'c Option<FieldMappingConfig>);

impl FamilyErrors {
    /// `path_has_model` says that the path of the create names the model, so that the body need not.
    pub(super) fn request(
        &mut self,
        config: &RequestMappingConfig,
        path_has_model: bool,
    ) -> RequestMapping {
        let in_path = path_has_model && config.model.is_none();
        if config.model.is_none() && !path_has_model {
            self.add(
                "/request",
                "missing required key `model`",
                Some("such as `model: /model`"),
            );
        }
        let rules = RequestMapping {
            model: match in_path {
                true => FieldMapping::written_nowhere(),
                false => self.rule("/request", ("model", &config.model)),
            },
            fields: FieldMappings {
                base: self.base("/request/base", &config.base),
                fields: fields(config).map(|field| self.rule("/request", field)),
                medias: medias(&config.medias).map(|field| self.rule("/request/medias", field)),
                rules: self.field_rules("/request", &config.rules),
            },
            by_model: self.by_model(config),
        };
        self.check_targets(&rules, "/request", None);
        for (index, (pattern, _)) in sorted_patterns(config).into_iter().enumerate() {
            let at = child("/request/models", pattern);
            self.check_targets(&rules, &at, Some(index));
        }
        rules
    }

    /// The most specific pattern comes first.
    fn by_model(&mut self, config: &RequestMappingConfig) -> Vec<(ModelPattern, ModelOverrides)> {
        let mut built = Vec::new();
        for (pattern, config) in sorted_patterns(config) {
            let at = child("/request/models", pattern);
            for (name, is_there) in [
                ("model", config.model.is_some()),
                ("models", !config.models.is_empty()),
            ] {
                if is_there {
                    let reason = "not allowed for some models only";
                    self.add(&child(&at, name), reason, None);
                }
            }
            let base =
                (!config.base.is_empty()).then(|| self.base(&child(&at, "base"), &config.base));
            let within_medias = child(&at, "medias");
            let mut given = |within: &str, field: WrittenField<'_>| {
                let (_, config) = field;
                config.is_some().then(|| self.rule(within, field))
            };
            let overrides = ModelOverrides {
                base,
                fields: fields(config).map(|field| given(&at, field)),
                medias: medias(&config.medias).map(|field| given(&within_medias, field)),
                rules: self.field_rules(&at, &config.rules),
            };
            built.push((ModelPattern::new(pattern), overrides));
        }
        built
    }

    fn base(&mut self, at: &str, base: &Map<String, Value>) -> ValueTemplate {
        let base = self.template(at, &Value::Object(base.clone()));
        if base.has_placeholder() {
            let reason = "`{}` is not allowed here: `base` has no field value";
            self.add(at, reason, None);
        }
        base
    }

    fn template(&mut self, at: &str, value: &Value) -> ValueTemplate {
        ValueTemplate::new(value).unwrap_or_else(|reason| {
            let hint = "it reads the create in the generic shape, such as `json(\"/duration\")`";
            self.add(at, reason, Some(hint));
            ValueTemplate::Value
        })
    }

    fn rule(&mut self, within: &str, (name, config): WrittenField<'_>) -> FieldMapping {
        let at = format!("{within}/{name}");
        let Some(config) = config else {
            return FieldMapping::Refuse(format!("does not support {name}"));
        };
        let FieldMappingConfig {
            to,
            query,
            refuse,
            ignore,
            allowed,
            map,
            ..
        } = config;
        let is_read = !allowed.is_empty() || !map.is_empty() || config.default.is_some();
        let target = match (to, query, refuse, ignore) {
            (Some(to), None, None, None) => match RequestBodyPointer::parse(to) {
                Some(to) => FieldTarget::Body(to),
                None => {
                    let hint =
                        "write a JSON pointer such as /input/prompt; /content/- appends to a list";
                    self.add(&at, "not a place in a request", Some(hint));
                    return FieldMapping::Refuse(String::new());
                }
            },
            (None, Some(name), None, None) => FieldTarget::Query(name.clone()),
            (None, None, Some(why), None) => return FieldMapping::Refuse(why.clone()),
            (None, None, None, Some(why)) => return FieldMapping::Ignore(why.clone()),
            (None, None, None, None) if is_read => FieldTarget::Nowhere,
            _ => {
                let reason = "set exactly one of `to`, `query`, `refuse` and `ignore`";
                self.add(&at, reason, None);
                return FieldMapping::Refuse(String::new());
            }
        };
        FieldMapping::Put(Box::new(self.put(&at, config, target)))
    }

    fn put(&mut self, at: &str, config: &FieldMappingConfig, to: FieldTarget) -> FieldPut {
        let value_at = child(at, "value");
        let value = config.value.as_ref();
        let value = value.map_or(ValueTemplate::Value, |value| {
            self.template(&value_at, value)
        });
        if !value.has_placeholder() && !value.is_computed() {
            let reason = "`value` must contain `{}`, which stands for the value of the field";
            self.add(&value_at, reason, None);
        }
        FieldPut {
            to,
            value,
            values: self.allowed_values(at, config),
            default: config.default.clone(),
            is_required: config.required,
        }
    }

    pub(super) fn allowed_values(
        &mut self,
        at: &str,
        config: &FieldMappingConfig,
    ) -> AllowedValues {
        let FieldMappingConfig {
            allowed,
            map,
            min,
            max,
            ..
        } = config;
        let has_range = min.is_some() || max.is_some();
        let kinds = [!allowed.is_empty(), !map.is_empty(), has_range];
        if kinds.into_iter().filter(|given| *given).count() > 1 {
            let reason = match has_range {
                true => "`allowed`, `map`, and `min` with `max` are mutually exclusive",
                false => "`allowed` and `map` are mutually exclusive",
            };
            self.add(&child(at, "allowed"), reason, None);
            return AllowedValues::Any;
        }
        if has_range {
            if let (Some(min), Some(max)) = (min, max)
                && min > max
            {
                self.add(&child(at, "min"), "`min` is above `max`", None);
            }
            return AllowedValues::Range {
                min: *min,
                max: *max,
            };
        }
        let itself = allowed.iter().map(|word| (word.0.clone(), None));
        let mapped = map
            .iter()
            .map(|(word, value)| (word.clone(), Some(value.clone())));
        let mut choices: Vec<_> = itself.chain(mapped).collect();
        if choices.is_empty() {
            return AllowedValues::Any;
        }
        if allowed.is_empty() {
            // In ascending order: 480p, 720p, 1080p.
            choices.sort_by_key(|(word, _)| leading_number(word).unwrap_or(u64::MAX));
        }
        AllowedValues::Of(choices)
    }

    /// Reports two fields with the same target. Media of different kinds may share one: a request then has only one of
    /// them. `at` is where the fields of the model are written, `by_model` its index among the patterns.
    fn check_targets(&mut self, rules: &RequestMapping, at: &str, by_model: Option<usize>) {
        let overrides = by_model.and_then(|index| rules.by_model.get(index));
        let overrides = overrides.map(|(_, overrides)| overrides);
        let base = overrides.and_then(|overrides| overrides.base.as_ref());
        let mut body = base.unwrap_or(&rules.fields.base).outline();
        let empty = RequestMappingConfig::default();
        let field_names = fields(&empty).map(|(name, _)| name);
        let media_names = medias(&empty.medias).map(|(name, _)| name);
        let model = (&rules.model, format!("{at}/model"), false);
        let fields = rules.fields.fields.iter().enumerate().map(|(index, rule)| {
            let own = overrides.and_then(|overrides| overrides.fields[index].as_ref());
            (
                own.unwrap_or(rule),
                format!("{at}/{}", field_names[index]),
                false,
            )
        });
        let medias = rules.fields.medias.iter().enumerate().map(|(index, rule)| {
            let own = overrides.and_then(|overrides| overrides.medias[index].as_ref());
            (
                own.unwrap_or(rule),
                format!("{at}/medias/{}", media_names[index]),
                true,
            )
        });
        let mut of_medias: Vec<&RequestBodyPointer> = Vec::new();
        for (rule, at, is_media) in std::iter::once(model).chain(fields).chain(medias) {
            let Some(to) = rule.target() else {
                continue;
            };
            let shared = is_media && of_medias.contains(&to);
            // An element of a list may come after others that are written only by media.
            let is_later_element = to.element().is_some_and(|index| index > 0);
            let value = JsonBodyBuilder::Json(b"0"[..].into());
            if !shared && body.put(to, value).is_err() && !is_later_element {
                let reason = "duplicate place: another field or `base` writes it, too";
                self.add(&at, reason, None);
            }
            if is_media {
                of_medias.push(to);
            }
        }
    }
}

/// The patterns of models, the most specific one first.
fn sorted_patterns(config: &RequestMappingConfig) -> Vec<(&str, &RequestMappingConfig)> {
    let patterns = config.models.iter();
    let mut patterns: Vec<_> = patterns
        .map(|(name, config)| (name.as_str(), config))
        .collect();
    patterns.sort_by_key(|(name, _)| (name.contains('*'), std::cmp::Reverse(name.len())));
    patterns
}

/// In the order of `GenericField::ALL`.
fn fields(config: &RequestMappingConfig) -> [WrittenField<'_>; 9] {
    [
        ("prompt", &config.prompt),
        ("negative_prompt", &config.negative_prompt),
        ("duration", &config.duration),
        ("resolution", &config.resolution),
        ("ratio", &config.ratio),
        ("generate_audio", &config.generate_audio),
        ("watermark", &config.watermark),
        ("seed", &config.seed),
        ("callback_url", &config.callback_url),
    ]
}

/// In the order of `MediaRole::ALL`.
fn medias(config: &MediaMappingConfig) -> [WrittenField<'_>; 5] {
    [
        ("first_frame", &config.first_frame),
        ("last_frame", &config.last_frame),
        ("reference_image", &config.reference_image),
        ("reference_video", &config.reference_video),
        ("reference_audio", &config.reference_audio),
    ]
}
