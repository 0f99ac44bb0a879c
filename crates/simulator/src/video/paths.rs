//! The paths of video tasks: which family they are of, and what is done with its tasks.

/// A native video shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Content generation tasks under `/api/v3`.
    A,
    /// Video synthesis under `/api/v1/services`.
    B,
}

/// What is done with the tasks of a family, or with one by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed<'p> {
    Create,
    List,
    Query(&'p str),
    /// Cancels; at family A it also deletes what has ended.
    Cancel(&'p str),
}

impl<'p> Deed<'p> {
    /// The deed at a path of which only the end counts, since base URLs may have a prefix.
    pub fn find(method: &str, segments: &[&'p str]) -> Option<(Family, Self)> {
        let found = match (method, segments) {
            ("POST", [.., "v3", "contents", "generations", "tasks"]) => (Family::A, Self::Create),
            ("GET", [.., "v3", "contents", "generations", "tasks"]) => (Family::A, Self::List),
            ("GET", [.., "contents", "generations", "tasks", id]) => (Family::A, Self::Query(id)),
            ("DELETE", [.., "contents", "generations", "tasks", id]) => {
                (Family::A, Self::Cancel(id))
            }
            ("POST", [.., "api", "v1", "services", "aigc", _, "video-synthesis"]) => {
                (Family::B, Self::Create)
            }
            ("GET", [.., "api", "v1", "tasks"] | [.., "api", "v1", "tasks", ""]) => {
                (Family::B, Self::List)
            }
            ("GET", [.., "api", "v1", "tasks", id]) => (Family::B, Self::Query(id)),
            ("POST", [.., "api", "v1", "tasks", id, "cancel"]) => (Family::B, Self::Cancel(id)),
            _ => return None,
        };
        Some(found)
    }

    /// The word for it in records.
    pub fn name(self, family: Family) -> &'static str {
        match (family, self) {
            (Family::A, Self::Create) => "family_a.create",
            (Family::A, Self::List) => "family_a.list",
            (Family::A, Self::Query(_)) => "family_a.query",
            (Family::A, Self::Cancel(_)) => "family_a.cancel",
            (Family::B, Self::Create) => "family_b.create",
            (Family::B, Self::List) => "family_b.list",
            (Family::B, Self::Query(_)) => "family_b.query",
            (Family::B, Self::Cancel(_)) => "family_b.cancel",
        }
    }
}
