//! The decisions of a generator, taken from bytes: fewer and smaller bytes make a simpler stream.

#[derive(Clone)]
pub struct StreamChoices<'b> {
    bytes: &'b [u8],
}

impl<'b> StreamChoices<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// A number below `bound`, of one byte if it fits; 0 when the bytes are used up.
    pub fn below(&mut self, bound: usize) -> usize {
        let count = if bound <= 256 { 1 } else { 3 };
        let number = self
            .take(count)
            .iter()
            .fold(0, |all, byte| all << 8 | usize::from(*byte));
        number % bound
    }

    pub fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// True once in `times`, and never when the bytes are used up.
    pub fn is_one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// Up to `count` bytes.
    pub fn take(&mut self, count: usize) -> &'b [u8] {
        let (taken, rest) = self.bytes.split_at(count.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }
}
