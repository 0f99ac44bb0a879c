//! Finds the bytes of a string that its scan must look at, 16 or 64 bytes at a time.

use wide::u8x16;

/// The number of bytes of a part of a block.
const PART_BYTES: usize = 16;
/// The longest block.
const BLOCK_BYTES_MAX: usize = 64;

/// The bytes of a block that matter to the scan of a string. Bit n is about byte n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringBlockMasks {
    /// Quotes, backslashes and control characters, and what is after the end of the text.
    pub specials: u64,
    /// Bytes that are not ASCII.
    pub high: u64,
}

/// Classifies the bytes of blocks of a certain length.
pub(super) trait BlockClassifier {
    /// The number of bytes of a block.
    const BYTES: usize;

    /// Classifies `BYTES` bytes.
    fn classify(block: &[u8]) -> StringBlockMasks;
}

/// Classifies 16 times `PARTS` bytes, on every processor.
pub(super) struct PortableClassifier<const PARTS: usize>;

/// For blocks of 16 bytes: most strings end in their first ones.
pub(super) type SmallBlocks = PortableClassifier<1>;
/// For blocks of 64 bytes.
pub(super) type LargeBlocks = PortableClassifier<4>;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2Classifier;

impl StringBlockMasks {
    /// The block that begins at `at`.
    #[inline(always)]
    pub fn at<C: BlockClassifier>(bytes: &[u8], at: usize) -> Self {
        let rest = &bytes[at..];
        match rest.get(..C::BYTES) {
            Some(block) => C::classify(block),
            None => Self::last::<C>(rest),
        }
    }

    /// The block of the last bytes of a text.
    #[cold]
    fn last<C: BlockClassifier>(rest: &[u8]) -> Self {
        // Zeros are control characters, so that the scan stops at the end.
        let mut block = [0; BLOCK_BYTES_MAX];
        block[..rest.len()].copy_from_slice(rest);
        C::classify(&block[..C::BYTES])
    }
}

/// With this bit inverted, the quote comes right after the control characters, and nothing else does.
const INVERTED_BIT: u8 = b'"' ^ b' ';

impl<const PARTS: usize> BlockClassifier for PortableClassifier<PARTS> {
    const BYTES: usize = PARTS * PART_BYTES;

    #[inline(always)]
    fn classify(block: &[u8]) -> StringBlockMasks {
        let (parts, _) = block[..Self::BYTES].as_chunks::<PART_BYTES>();
        let (mut specials, mut high) = (0, 0);
        for (index, part) in parts.iter().enumerate() {
            let part = u8x16::new(*part);
            let inverted = part ^ u8x16::splat(INVERTED_BIT);
            let is_quote_or_control = inverted.min(u8x16::splat(b' ')).simd_eq(inverted);
            let is_special = is_quote_or_control | part.simd_eq(u8x16::splat(b'\\'));
            specials |= u64::from(is_special.to_bitmask()) << (index * PART_BYTES);
            high |= u64::from(part.to_bitmask()) << (index * PART_BYTES);
        }
        StringBlockMasks { specials, high }
    }
}

/// The instructions of AVX2, which not every processor has, so that the compiler uses them only where it is told to.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BLOCK_BYTES_MAX, BlockClassifier, INVERTED_BIT, StringBlockMasks};
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_xor_si256,
    };

    const HALF_BYTES: usize = 32;

    /// For blocks of 64 bytes, on processors with AVX2. Used only in functions that are compiled for AVX2.
    pub struct Avx2Classifier;

    impl BlockClassifier for Avx2Classifier {
        const BYTES: usize = BLOCK_BYTES_MAX;

        #[inline(always)]
        fn classify(block: &[u8]) -> StringBlockMasks {
            // SAFETY: the scan uses this classifier only if the processor has AVX2.
            unsafe { classify(block) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn classify(block: &[u8]) -> StringBlockMasks {
        let ([first, second], _) = block.as_chunks::<HALF_BYTES>() else {
            unreachable!("a block has two halves");
        };
        let (first, second) = (half(first), half(second));
        StringBlockMasks {
            specials: u64::from(first.0) | u64::from(second.0) << HALF_BYTES,
            high: u64::from(first.1) | u64::from(second.1) << HALF_BYTES,
        }
    }

    /// The special bytes of a half, and those that are not ASCII.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn half(half: &[u8; HALF_BYTES]) -> (u32, u32) {
        // SAFETY: the pointer is valid for the 32 bytes, and the load needs no alignment.
        let half = unsafe { _mm256_loadu_si256(half.as_ptr().cast::<__m256i>()) };
        let all = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        let inverted = _mm256_xor_si256(half, all(INVERTED_BIT));
        let is_quote_or_control = _mm256_cmpeq_epi8(_mm256_min_epu8(inverted, all(b' ')), inverted);
        let is_special = _mm256_or_si256(is_quote_or_control, _mm256_cmpeq_epi8(half, all(b'\\')));
        let bits = |bytes| _mm256_movemask_epi8(bytes).cast_unsigned();
        (bits(is_special), bits(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_each_byte<C: BlockClassifier>() {
        for byte in 0..=u8::MAX {
            for position in 0..C::BYTES {
                let mut block = vec![b'a'; C::BYTES];
                block[position] = byte;
                let is_special = byte < b' ' || b"\"\\".contains(&byte);
                let expected = StringBlockMasks {
                    specials: u64::from(is_special) << position,
                    high: u64::from(byte >= 0x80) << position,
                };
                let found = StringBlockMasks::at::<C>(&block, 0);
                assert_eq!(found, expected, "{byte} at {position} of {}", C::BYTES);
            }
        }
    }

    #[test]
    fn each_byte_has_its_bits_at_each_position() {
        check_each_byte::<SmallBlocks>();
        check_each_byte::<LargeBlocks>();
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            check_each_byte::<Avx2Classifier>();
        }
    }

    #[test]
    fn what_is_behind_the_end_is_special() {
        let text = b"abcdefghijklmnopqrs";
        for (at, specials) in [(0, 0), (3, 0), (4, 1 << 15), (18, 0xFFFE), (19, 0xFFFF)] {
            assert_eq!(
                StringBlockMasks::at::<SmallBlocks>(text, at).specials,
                specials,
                "{at}"
            );
        }
        for (at, length) in [(0, 19), (18, 1), (19, 0)] {
            let specials = StringBlockMasks::at::<LargeBlocks>(text, at).specials;
            assert_eq!(specials, u64::MAX << length, "{at}");
        }
    }
}
