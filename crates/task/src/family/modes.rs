//! What a family makes videos from, for the list of families.

use super::VideoFamily;
use crate::generic::MediaRole;

impl VideoFamily {
    /// The patterns of the channel's models whose creates are mapped otherwise, the most specific one first.
    pub fn model_patterns(&self) -> impl Iterator<Item = String> {
        let patterns = self.request.by_model.iter();
        patterns.map(|(pattern, _)| pattern.to_string())
    }

    /// What a create may have beside or in place of a prompt: `text`, and the roles of media.
    pub fn modes(&self) -> Vec<&'static str> {
        let requires_media = MediaRole::ALL.into_iter().any(|role| {
            let rule = &self.request.fields.medias[role as usize];
            rule.is_required()
        });
        let text = (!requires_media).then_some("text");
        let roles = MediaRole::ALL.into_iter().filter(|role| {
            let role = *role as usize;
            let by_model = self.request.by_model.iter();
            let mut by_model = by_model.filter_map(|(_, fields)| fields.medias[role].as_ref());
            self.request.fields.medias[role].put().is_some()
                || by_model.any(|rule| rule.put().is_some())
        });
        text.into_iter().chain(roles.map(MediaRole::name)).collect()
    }
}
