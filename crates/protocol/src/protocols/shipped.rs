//! Declarations of endpoints that the program brings along: name, and YAML as in `protocols` of `routes.yaml`.

/// The shipped declarations, sorted by name.
pub const SHIPPED_PROTOCOLS: [(&str, &str); 12] = [
    ("batches", include_str!("shipped/batches.yaml")),
    ("cohere_rerank", include_str!("shipped/cohere_rerank.yaml")),
    ("completions", include_str!("shipped/completions.yaml")),
    ("embeddings", include_str!("shipped/embeddings.yaml")),
    (
        "image_generation",
        include_str!("shipped/image_generation.yaml"),
    ),
    (
        "image_variation",
        include_str!("shipped/image_variation.yaml"),
    ),
    (
        "message_batches",
        include_str!("shipped/message_batches.yaml"),
    ),
    ("moderations", include_str!("shipped/moderations.yaml")),
    ("rerank", include_str!("shipped/rerank.yaml")),
    ("speech", include_str!("shipped/speech.yaml")),
    ("transcription", include_str!("shipped/transcription.yaml")),
    ("translation", include_str!("shipped/translation.yaml")),
];
