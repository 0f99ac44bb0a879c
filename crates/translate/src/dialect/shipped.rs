//! Dialects that the program brings along: name, and YAML as in `dialects` of `routes.yaml`.

/// The shipped dialects, sorted by name. A channel that names none has `standard`.
pub const SHIPPED_DIALECTS: [(&str, &str); 11] = [
    ("azure", include_str!("shipped/azure.yaml")),
    ("deepseek", include_str!("shipped/deepseek.yaml")),
    ("glm", include_str!("shipped/glm.yaml")),
    ("kimi", include_str!("shipped/kimi.yaml")),
    ("mistral", include_str!("shipped/mistral.yaml")),
    ("openrouter", include_str!("shipped/openrouter.yaml")),
    ("qwen", include_str!("shipped/qwen.yaml")),
    ("sglang", include_str!("shipped/sglang.yaml")),
    ("standard", include_str!("shipped/standard.yaml")),
    ("vllm", include_str!("shipped/vllm.yaml")),
    ("xai", include_str!("shipped/xai.yaml")),
];
