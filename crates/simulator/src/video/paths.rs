//! The paths of video tasks: which family they are of, and what is done with its tasks.

/// A native video shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedFamily {
    /// Content generation tasks under `/api/v3`.
    A,
    /// Video synthesis under `/api/v1/services`.
    B,
}

/// What is done with the tasks of a family, or with one by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoOperation<'p> {
    Create,
    List,
    Query(&'p str),
    /// Cancels; at family A it also deletes what has ended.
    Cancel(&'p str),
}

impl<'p> VideoOperation<'p> {
    /// The deed at a path of which only the end counts, since base URLs may have a prefix.
    pub fn find(method: &str, segments: &[&'p str]) -> Option<(SimulatedFamily, Self)> {
        let found = match (method, segments) {
            ("POST", [.., "v3", "contents", "generations", "tasks"]) => {
                (SimulatedFamily::A, Self::Create)
            }
            ("GET", [.., "v3", "contents", "generations", "tasks"]) => {
                (SimulatedFamily::A, Self::List)
            }
            ("GET", [.., "contents", "generations", "tasks", id]) => {
                (SimulatedFamily::A, Self::Query(id))
            }
            ("DELETE", [.., "contents", "generations", "tasks", id]) => {
                (SimulatedFamily::A, Self::Cancel(id))
            }
            ("POST", [.., "api", "v1", "services", "aigc", _, "video-synthesis"]) => {
                (SimulatedFamily::B, Self::Create)
            }
            ("GET", [.., "api", "v1", "tasks"] | [.., "api", "v1", "tasks", ""]) => {
                (SimulatedFamily::B, Self::List)
            }
            ("GET", [.., "api", "v1", "tasks", id]) => (SimulatedFamily::B, Self::Query(id)),
            ("POST", [.., "api", "v1", "tasks", id, "cancel"]) => {
                (SimulatedFamily::B, Self::Cancel(id))
            }
            _ => return None,
        };
        Some(found)
    }

    /// The word for it in records.
    pub fn name(self, family: SimulatedFamily) -> &'static str {
        match (family, self) {
            (SimulatedFamily::A, Self::Create) => "family_a.create",
            (SimulatedFamily::A, Self::List) => "family_a.list",
            (SimulatedFamily::A, Self::Query(_)) => "family_a.query",
            (SimulatedFamily::A, Self::Cancel(_)) => "family_a.cancel",
            (SimulatedFamily::B, Self::Create) => "family_b.create",
            (SimulatedFamily::B, Self::List) => "family_b.list",
            (SimulatedFamily::B, Self::Query(_)) => "family_b.query",
            (SimulatedFamily::B, Self::Cancel(_)) => "family_b.cancel",
        }
    }
}
