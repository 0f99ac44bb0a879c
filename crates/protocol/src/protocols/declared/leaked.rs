//! Values that live as long as the process. Only the registry keeps them, once for each declaration.

/// A value that is never dropped.
pub(super) fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A text that is never dropped.
pub(super) fn leaked_text(text: &str) -> &'static str {
    Box::leak(Box::from(text))
}

/// A list that is never dropped.
pub(super) fn leaked_list<T>(elements: impl IntoIterator<Item = T>) -> &'static [T] {
    Vec::leak(elements.into_iter().collect())
}

/// A path of members that is never dropped.
pub(super) fn leaked_path(steps: &[impl AsRef<str>]) -> &'static [&'static str] {
    leaked_list(steps.iter().map(|step| leaked_text(step.as_ref())))
}
