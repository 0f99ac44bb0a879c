//! The path of a declaration, which may have the model in it.

use super::DeclarationScope;
use super::build::DescriptorBuilder;

impl DescriptorBuilder<'_> {
    /// Refuses a path that providers do not have, and a model in two places. That of a family is for documentation.
    pub(super) fn check_path(&mut self) {
        let Some(path) = self.config.path.as_deref() else {
            return;
        };
        if self.scope == DeclarationScope::VideoFamily || !path.contains(['{', '}']) {
            return;
        }
        let rest = path.replacen("{+model}", "{model}", 1);
        let rest = rest.replacen("{model}", "m", 1);
        if rest.contains(['{', '}']) {
            self.add(
                "/path",
                format!("`{path}` has a placeholder other than one `{{model}}` or `{{+model}}`"),
                "write it as `/models/{model}:run`",
            );
        } else if !is_path(&rest) {
            self.add(
                "/path",
                format!("`{path}` is not a path: it must begin with `/` and have no query, fragment, escapes, blanks, and empty or dot segments"),
                "write it as `/models/{model}:run`; set members of the query in `query` of the channel",
            );
        }
        if self.config.model.is_some() {
            self.add(
                "/model",
                "`model` and `path` both name a place of the model".to_owned(),
                "remove `model`, or `{model}` of `path`",
            );
        }
    }
}

fn is_path(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"?#%\\".contains(&byte);
    let mut segments = text.split('/').skip(1);
    text.starts_with('/')
        && text.bytes().all(is_allowed)
        && !segments.any(|segment| matches!(segment, "" | "." | ".."))
}
