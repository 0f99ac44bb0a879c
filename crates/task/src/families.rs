//! The built-in families of video providers, as YAML in the format of `routes.yaml`.

/// Name and definition of each built-in family, in the order of their names.
pub const SHIPPED: [(&str, &str); 16] = [
    ("fal", include_str!("families/fal.yaml")),
    ("family-a", include_str!("families/family-a.yaml")),
    ("family-b", include_str!("families/family-b.yaml")),
    ("flux", include_str!("families/flux.yaml")),
    ("gemini-omni", include_str!("families/gemini-omni.yaml")),
    ("kling", include_str!("families/kling.yaml")),
    ("luma", include_str!("families/luma.yaml")),
    ("minimax", include_str!("families/minimax.yaml")),
    ("minimax-v2", include_str!("families/minimax-v2.yaml")),
    ("pixverse", include_str!("families/pixverse.yaml")),
    ("replicate", include_str!("families/replicate.yaml")),
    ("runway", include_str!("families/runway.yaml")),
    ("veo", include_str!("families/veo.yaml")),
    ("vidu", include_str!("families/vidu.yaml")),
    ("xai", include_str!("families/xai.yaml")),
    ("zai", include_str!("families/zai.yaml")),
];

/// The definition of a built-in family.
pub fn shipped(name: &str) -> Option<&'static str> {
    let of_name = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    of_name.map(|(_, definition)| *definition)
}
