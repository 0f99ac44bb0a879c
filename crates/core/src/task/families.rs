//! The built-in families of video providers, as YAML in the format of `routes.yaml`.

/// Name and definition of each built-in family, in the order of their names.
pub const SHIPPED: [(&str, &str); 2] = [
    ("family-a", include_str!("families/family-a.yaml")),
    ("family-b", include_str!("families/family-b.yaml")),
];

/// The definition of a built-in family.
pub fn shipped(name: &str) -> Option<&'static str> {
    let of_name = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    of_name.map(|(_, definition)| *definition)
}
