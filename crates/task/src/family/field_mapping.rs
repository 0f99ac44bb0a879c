//! How a family maps the fields of a generic create: targets, values that are allowed, and differences by model.

use super::allowed_values::AllowedValues;
use super::body_builder::RequestBodyPointer;
use super::field_rule::FieldRule;
use super::value_template::ValueTemplate;
use crate::generic::{GenericField, MediaRole};
use headgate_scalar::model_pattern::ModelPattern;
use serde_json::Value;

/// How the fields of a generic request are mapped.
#[derive(Debug)]
pub(super) struct RequestMapping {
    pub model: FieldMapping,
    pub fields: FieldMappings,
    /// Fields that differ by the channel's model; the first pattern that matches comes first.
    pub by_model: Vec<(ModelPattern, ModelOverrides)>,
}

/// The mapping of all fields but the model.
#[derive(Debug)]
pub(super) struct FieldMappings {
    pub base: ValueTemplate,
    /// In the order of `GenericField::ALL`.
    pub fields: [FieldMapping; 9],
    /// In the order of `MediaRole`.
    pub medias: [FieldMapping; 5],
    pub rules: Vec<FieldRule>,
}

/// The fields of some models that are mapped otherwise.
#[derive(Debug, Default)]
pub(super) struct ModelOverrides {
    pub base: Option<ValueTemplate>,
    pub fields: [Option<FieldMapping>; 9],
    pub medias: [Option<FieldMapping>; 5],
    /// In addition to those of all models.
    pub rules: Vec<FieldRule>,
}

/// The mapping of the fields for one model.
pub(super) struct FieldMappingsForModel<'m> {
    all: &'m RequestMapping,
    /// Those that match the model.
    overrides: Vec<&'m ModelOverrides>,
}

/// The mapping of a field.
#[derive(Debug)]
pub(super) enum FieldMapping {
    Put(Box<FieldPut>),
    Refuse(String),
    Ignore(String),
}

/// Where a field goes, and how.
#[derive(Debug)]
pub(super) struct FieldPut {
    pub to: FieldTarget,
    pub value: ValueTemplate,
    pub values: AllowedValues,
    /// Used if the caller gives none.
    pub default: Option<Value>,
    pub is_required: bool,
}

/// Where a field is written.
#[derive(Debug)]
pub(super) enum FieldTarget {
    Body(RequestBodyPointer),
    /// A member of the query.
    Query(String),
    /// Expressions of other fields read it.
    Nowhere,
}

impl RequestMapping {
    /// Whether an expression reads the create in the generic shape.
    pub fn is_computed(&self) -> bool {
        let all = &self.fields;
        let of_models = self.by_model.iter().map(|(_, fields)| fields);
        let own = all.fields.iter().chain(&all.medias).chain([&self.model]);
        let by_model = of_models
            .clone()
            .flat_map(|it| it.fields.iter().chain(&it.medias).flatten());
        let has_rules = !all.rules.is_empty() || of_models.clone().any(|it| !it.rules.is_empty());
        let mut bases =
            std::iter::once(&all.base).chain(of_models.filter_map(|it| it.base.as_ref()));
        let is_computed =
            |rule: &FieldMapping| rule.put().is_some_and(|put| put.value.is_computed());
        has_rules || bases.any(ValueTemplate::is_computed) || own.chain(by_model).any(is_computed)
    }

    /// Whether no other field is written into the member of the body in which `target` lies.
    pub fn has_own_member(&self, target: &RequestBodyPointer) -> bool {
        let models = self.by_model.iter().map(|(_, fields)| fields);
        let fields = GenericField::ALL.into_iter();
        let fields = fields.filter(|field| *field != GenericField::CallbackUrl);
        let fields = fields.flat_map(|field| self.all_for(field));
        let medias = models.clone().flat_map(|it| it.medias.iter().flatten());
        let others = fields.chain(&self.fields.medias).chain(medias);
        let mut others = others.chain([&self.model]).filter_map(FieldMapping::target);
        let bases = models.filter_map(|it| it.base.as_ref());
        let mut bases = bases.chain([&self.fields.base]);
        let root = target.root();
        target.element().is_none_or(|index| index == 0)
            && !others.any(|other| other.root() == root)
            && !bases.any(|base| base.has_member(root))
    }

    /// The mapping for the channel's model.
    pub fn for_model(&self, channel_model: &str) -> FieldMappingsForModel<'_> {
        let overrides = self.by_model.iter();
        let overrides = overrides.filter(|(pattern, _)| pattern.matches(channel_model));
        FieldMappingsForModel {
            all: self,
            overrides: overrides.map(|(_, fields)| fields).collect(),
        }
    }

    /// All mappings of a field, whatever the model.
    pub fn all_for(&self, field: GenericField) -> impl Iterator<Item = &FieldMapping> {
        let by_model = self.by_model.iter();
        let by_model =
            by_model.filter_map(move |(_, fields)| fields.fields[field as usize].as_ref());
        std::iter::once(&self.fields.fields[field as usize]).chain(by_model)
    }
}

impl<'m> FieldMappingsForModel<'m> {
    pub fn base(&self) -> &'m ValueTemplate {
        let mut overrides = self.overrides.iter();
        let base = overrides.find_map(|fields| fields.base.as_ref());
        base.unwrap_or(&self.all.fields.base)
    }

    pub fn field(&self, field: GenericField) -> &'m FieldMapping {
        let mut overrides = self.overrides.iter();
        let found = overrides.find_map(|fields| fields.fields[field as usize].as_ref());
        found.unwrap_or(&self.all.fields.fields[field as usize])
    }

    /// The rules of all models, and those of the patterns that match.
    pub fn rules(&self) -> impl Iterator<Item = &'m FieldRule> {
        let own = self.overrides.iter().flat_map(|fields| &fields.rules);
        self.all.fields.rules.iter().chain(own)
    }

    pub fn media(&self, role: MediaRole) -> &'m FieldMapping {
        let mut overrides = self.overrides.iter();
        let found = overrides.find_map(|fields| fields.medias[role as usize].as_ref());
        found.unwrap_or(&self.all.fields.medias[role as usize])
    }
}

impl FieldMapping {
    /// A field that has its place elsewhere.
    pub fn written_nowhere() -> Self {
        Self::Put(Box::new(FieldPut {
            to: FieldTarget::Nowhere,
            value: ValueTemplate::Value,
            values: AllowedValues::Any,
            default: None,
            is_required: false,
        }))
    }

    pub fn put(&self) -> Option<&FieldPut> {
        match self {
            Self::Put(put) => Some(put),
            Self::Refuse(_) | Self::Ignore(_) => None,
        }
    }

    /// The target in the body, if the field has one.
    pub fn target(&self) -> Option<&RequestBodyPointer> {
        match &self.put()?.to {
            FieldTarget::Body(to) => Some(to),
            FieldTarget::Query(_) | FieldTarget::Nowhere => None,
        }
    }

    pub fn default_value(&self) -> Option<&Value> {
        self.put()?.default.as_ref()
    }

    pub fn is_required(&self) -> bool {
        self.put().is_some_and(|put| put.is_required)
    }

    /// The element of a list that the field is, if it is one.
    pub fn element(&self) -> Option<usize> {
        self.target()?.element()
    }
}
