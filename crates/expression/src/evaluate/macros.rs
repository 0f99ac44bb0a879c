//! The macros over lists and the keys of maps.

use headgate_protocol::json::ValueKind;

use super::elements::elements;
use super::{ABSORBED_ERROR_STEPS, Evaluated, ExpressionEvaluator};
use crate::allowance::LIST_ELEMENTS;
use crate::error::InnerEvaluationError;
use crate::nodes::{CelMacro, CelNode, MacroKind};
use crate::pointer::charge_elements;
use crate::values::{CelText, CelValue};

impl<'v> ExpressionEvaluator<'v> {
    pub(super) fn macro_value(&mut self, node: &'v CelMacro) -> Evaluated<'v> {
        let range = self.value(&node.range)?;
        let result = match node.kind {
            MacroKind::All => self.decide(&range, &node.body, false, "all"),
            MacroKind::Exists => self.decide(&range, &node.body, true, "exists"),
            MacroKind::ExistsOne => self.count(&range, &node.body),
            MacroKind::Filter => self.filter(&range, &node.body),
            MacroKind::Map => self.map_elements(&range, node),
        };
        self.element = CelValue::Null;
        result
    }

    /// `all` and `exists`: an element that decides wins over errors of others.
    fn decide(
        &mut self,
        range: &CelValue<'v>,
        body: &'v CelNode,
        decisive: bool,
        name: &str,
    ) -> Evaluated<'v> {
        let mut failed = None;
        let mut decided = !decisive;
        self.each(range, name, |evaluation| {
            match evaluation.condition(body, name) {
                Ok(value) if value == decisive => {
                    decided = decisive;
                    return Ok(false);
                }
                Ok(_) => {}
                Err(failure) if failure.is_final => return Err(failure),
                Err(failure) => {
                    evaluation.allowance.charge(ABSORBED_ERROR_STEPS)?;
                    failed = Some(failure);
                }
            }
            Ok(true)
        })?;
        match failed {
            Some(failure) if decided != decisive => Err(failure),
            _ => Ok(CelValue::Bool(decided)),
        }
    }

    fn count(&mut self, range: &CelValue<'v>, body: &'v CelNode) -> Evaluated<'v> {
        let mut count = 0;
        self.each(range, "exists_one", |evaluation| {
            count += usize::from(evaluation.condition(body, "exists_one")?);
            Ok(true)
        })?;
        Ok(CelValue::Bool(count == 1))
    }

    fn filter(&mut self, range: &CelValue<'v>, body: &'v CelNode) -> Evaluated<'v> {
        let mut kept = Vec::new();
        self.each(range, "filter", |evaluation| {
            if evaluation.condition(body, "filter")? {
                kept.push(evaluation.element.clone());
            }
            Ok(true)
        })?;
        Ok(CelValue::List(kept.into()))
    }

    fn map_elements(&mut self, range: &CelValue<'v>, node: &'v CelMacro) -> Evaluated<'v> {
        let mut made = Vec::new();
        self.each(range, "map", |evaluation| {
            let is_kept = match &node.condition {
                Some(condition) => evaluation.condition(condition, "map")?,
                None => true,
            };
            if is_kept {
                made.push(evaluation.value(&node.body)?);
            }
            Ok(true)
        })?;
        Ok(CelValue::List(made.into()))
    }

    /// Calls `step` for each element until it returns false.
    fn each(
        &mut self,
        range: &CelValue<'v>,
        name: &str,
        mut step: impl FnMut(&mut Self) -> Result<bool, InnerEvaluationError>,
    ) -> Result<(), InnerEvaluationError> {
        if let Some(elements) = elements(range, &mut self.allowance)? {
            for element in elements {
                self.allowance.charge(1)?;
                self.element = element.value(&mut self.allowance)?;
                if !step(self)? {
                    return Ok(());
                }
            }
            return Ok(());
        }
        for key in self.keys(range, name)? {
            self.allowance.charge(1)?;
            self.element = CelValue::Text(key);
            if !step(self)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn keys(
        &mut self,
        range: &CelValue<'v>,
        name: &str,
    ) -> Result<Vec<CelText<'v>>, InnerEvaluationError> {
        match range {
            CelValue::Map(entries) => Ok(entries.iter().map(|(key, _)| key.clone()).collect()),
            CelValue::Document(node) if node.kind() == ValueKind::Object => {
                charge_elements(node.len(), &mut self.allowance)?;
                let mut keys = Vec::with_capacity(node.len().min(LIST_ELEMENTS));
                for (key, _) in node.members() {
                    self.allowance.charge_text(key.len())?;
                    keys.push(CelText::from(key));
                }
                Ok(keys)
            }
            other => Err(InnerEvaluationError::new(format!(
                "`{name}` needs a list or map, not {}",
                other.type_name()
            ))),
        }
    }
}
