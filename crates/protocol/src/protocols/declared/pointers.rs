//! The JSON pointers of a declaration.

use super::build::DescriptorBuilder;
use crate::json::pointer::JsonPointer;

impl DescriptorBuilder<'_> {
    /// The members that lead to the name of the model; `None` if the declaration does not say, or is wrong.
    pub(super) fn model_member(&mut self, has_forms: bool) -> Option<Vec<String>> {
        let pointer = self.config.model.as_deref()?;
        let steps_max = if has_forms { 1 } else { usize::MAX };
        self.pointer("/model", pointer, steps_max)
    }

    /// The members that a pointer leads through.
    pub(super) fn pointer(
        &mut self,
        at: &str,
        pointer: &str,
        steps_max: usize,
    ) -> Option<Vec<String>> {
        match JsonPointer::parse(pointer) {
            Ok(parsed) if parsed.steps().len() <= steps_max => Some(parsed.steps().to_vec()),
            Ok(_) => {
                let reason = format!("`{pointer}` is too deep");
                let hint = match steps_max {
                    1 => "a form has fields of one name, such as `/model`",
                    _ => "a count is a member of the object at `at`, or of an object within",
                };
                self.add(at, reason, hint);
                None
            }
            Err(invalid) => {
                self.add(at, invalid.to_string(), "write it as `/model`");
                None
            }
        }
    }
}
