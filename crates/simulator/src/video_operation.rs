//! The paths of video tasks: their family and operation.

/// A native video API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedFamily {
    /// Content generation tasks under `/api/v3`.
    A,
    /// Video synthesis under `/api/v1/services`.
    B,
}

/// An operation on the tasks of a family, or on one task by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoOperation<'p> {
    Create,
    List,
    Query(&'p str),
    /// Cancels a task; in family A it also deletes a task that has ended.
    Cancel(&'p str),
}

impl<'p> VideoOperation<'p> {
    /// The operation for a path. Only the end of the path is compared, because base URLs may have a prefix.
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

    /// The name in request records.
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
