//! The families that come with the program, as they would stand in `routes.yaml`.

/// Name and definition of each shipped family, in the order of their names.
pub const SHIPPED: [(&str, &str); 2] = [
    ("family-a", include_str!("families/family-a.yaml")),
    ("family-b", include_str!("families/family-b.yaml")),
];

/// The definition of a shipped family.
pub fn shipped(name: &str) -> Option<&'static str> {
    let of_name = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    of_name.map(|(_, definition)| *definition)
}
