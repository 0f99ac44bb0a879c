//! The members of an object by name, found by length and bytes.

/// Names of this length or more are compared one by one.
const LENGTHS: usize = 34;

/// Rows of a table by the name of the member.
#[derive(Debug)]
pub(super) struct MemberIndex {
    /// Sorted by length.
    names: Box<[(&'static str, usize)]>,
    /// At each length: the index of the first name that is not shorter.
    starts: [u8; LENGTHS + 1],
}

impl MemberIndex {
    pub fn new(mut names: Vec<(&'static str, usize)>) -> Self {
        names.sort_by_key(|(name, _)| name.len());
        assert!(
            names.len() < usize::from(u8::MAX),
            "a shape is not so large"
        );
        let start = |length| names.partition_point(|(name, _)| name.len() < length) as u8;
        Self {
            starts: std::array::from_fn(start),
            names: names.into(),
        }
    }

    /// The row of a member.
    #[inline]
    pub fn row(&self, name: &[u8]) -> Option<usize> {
        let length = name.len().min(LENGTHS);
        let from = usize::from(self.starts[length]);
        let to = self.starts.get(length + 1);
        let same_length = &self.names[from..to.map_or(self.names.len(), |to| usize::from(*to))];
        let found = same_length
            .iter()
            .find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, row)| *row)
    }

    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.names.iter().copied()
    }
}
