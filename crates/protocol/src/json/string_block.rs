//! Finds the bytes of a string that its scan must look at, 16 or 64 bytes at a time.

use wide::u8x16;

/// The number of bytes of a part of a block.
const PART_BYTES: usize = 16;
/// The longest block.
const BLOCK_BYTES_MAX: usize = 64;

/// Classifies the bytes of blocks of a certain length. Bit n of a mask is about byte n.
pub(super) trait BlockClassifier {
    /// The number of bytes of a block.
    const BYTES: usize;

    /// Quotes, backslashes and control characters among `BYTES` bytes, and what is after the end of the text.
    fn specials(block: &[u8]) -> u64;

    /// Which of `BYTES` bytes are not ASCII.
    fn high(block: &[u8]) -> u64;

    /// Not 0 if any of `BYTES` bytes is not ASCII.
    fn any_high(block: &[u8]) -> u64;
}

/// Classifies 16 times `PARTS` bytes, on every processor.
pub(super) struct PortableClassifier<const PARTS: usize>;

/// For blocks of 16 bytes: most strings end in their first ones.
pub(super) type SmallBlocks = PortableClassifier<1>;
/// For blocks of 64 bytes.
pub(super) type LargeBlocks = PortableClassifier<4>;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2Classifier;

/// The special bytes of the block that begins at `at`.
#[inline(always)]
pub(super) fn specials_at<C: BlockClassifier>(bytes: &[u8], at: usize) -> u64 {
    let rest = &bytes[at..];
    match rest.get(..C::BYTES) {
        Some(block) => C::specials(block),
        None => C::specials(&last_block(rest)[..C::BYTES]),
    }
}

/// The block of the last bytes of a text, which are fewer than those of a block.
#[cold]
pub(super) fn last_block(rest: &[u8]) -> [u8; BLOCK_BYTES_MAX] {
    // Zeros are control characters, so that the scan stops at the end.
    let mut block = [0; BLOCK_BYTES_MAX];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// With this bit inverted, the quote comes right after the control characters, and nothing else does.
const INVERTED_BIT: u8 = b'"' ^ b' ';

impl<const PARTS: usize> BlockClassifier for PortableClassifier<PARTS> {
    const BYTES: usize = PARTS * PART_BYTES;

    #[inline(always)]
    fn specials(block: &[u8]) -> u64 {
        mask(block, |part| {
            let inverted = part ^ u8x16::splat(INVERTED_BIT);
            let is_quote_or_control = inverted.min(u8x16::splat(b' ')).simd_eq(inverted);
            is_quote_or_control | part.simd_eq(u8x16::splat(b'\\'))
        })
    }

    #[inline(always)]
    fn high(block: &[u8]) -> u64 {
        mask(block, |part| part)
    }

    #[inline(always)]
    fn any_high(block: &[u8]) -> u64 {
        Self::high(block)
    }
}

/// The high bits of the bytes that `select` makes of each part of a block.
#[inline(always)]
fn mask(block: &[u8], select: impl Fn(u8x16) -> u8x16) -> u64 {
    let (parts, _) = block.as_chunks::<PART_BYTES>();
    let mut mask = 0;
    for (index, part) in parts.iter().enumerate() {
        let selected = select(u8x16::new(*part)).to_bitmask();
        mask |= u64::from(selected) << (index * PART_BYTES);
    }
    mask
}

/// The instructions of AVX2, which not every processor has, so that the compiler uses them only where it is told to.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BLOCK_BYTES_MAX, BlockClassifier, INVERTED_BIT};
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_xor_si256,
    };

    const HALF_BYTES: usize = 32;

    /// For blocks of 64 bytes, on processors with AVX2. Used only in functions that are compiled for AVX2.
    pub struct Avx2Classifier;

    impl Avx2Classifier {
        /// Whether this processor has AVX2, and the instructions on bits that came with it.
        pub fn is_supported() -> bool {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
        }
    }

    // SAFETY of all calls: the scan uses this classifier only where it is supported. They are calls of functions without
    // closures: a closure is compiled without AVX2 where it is not inlined.
    impl BlockClassifier for Avx2Classifier {
        const BYTES: usize = BLOCK_BYTES_MAX;

        #[inline(always)]
        fn specials(block: &[u8]) -> u64 {
            unsafe { specials(block) }
        }

        #[inline(always)]
        fn high(block: &[u8]) -> u64 {
            unsafe { high(block) }
        }

        #[inline(always)]
        fn any_high(block: &[u8]) -> u64 {
            unsafe { any_high(block) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn specials(block: &[u8]) -> u64 {
        let (first, second) = halves(block);
        mask(special_bytes(first), special_bytes(second))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn high(block: &[u8]) -> u64 {
        let (first, second) = halves(block);
        mask(first, second)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn any_high(block: &[u8]) -> u64 {
        let (first, second) = halves(block);
        let either = _mm256_or_si256(first, second);
        u64::from(_mm256_movemask_epi8(either).cast_unsigned())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(block: &[u8]) -> (__m256i, __m256i) {
        let ([first, second], _) = block.as_chunks::<HALF_BYTES>() else {
            unreachable!("a block has two halves");
        };
        (load(first), load(second))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(half: &[u8; HALF_BYTES]) -> __m256i {
        // SAFETY: the pointer is valid for the 32 bytes, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(half.as_ptr().cast::<__m256i>()) }
    }

    /// The high bits of the bytes of two halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask(first: __m256i, second: __m256i) -> u64 {
        let first = _mm256_movemask_epi8(first).cast_unsigned();
        let second = _mm256_movemask_epi8(second).cast_unsigned();
        u64::from(first) | u64::from(second) << HALF_BYTES
    }

    /// Bytes whose high bits tell the special bytes of a half.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn special_bytes(half: __m256i) -> __m256i {
        let inverted = _mm256_xor_si256(half, _mm256_set1_epi8(INVERTED_BIT.cast_signed()));
        let spaces = _mm256_set1_epi8(b' '.cast_signed());
        let is_quote_or_control = _mm256_cmpeq_epi8(_mm256_min_epu8(inverted, spaces), inverted);
        let backslashes = _mm256_set1_epi8(b'\\'.cast_signed());
        _mm256_or_si256(is_quote_or_control, _mm256_cmpeq_epi8(half, backslashes))
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
                let expected = (
                    u64::from(is_special) << position,
                    u64::from(byte >= 0x80) << position,
                    byte >= 0x80,
                );
                let found = (
                    C::specials(&block),
                    C::high(&block),
                    C::any_high(&block) != 0,
                );
                assert_eq!(found, expected, "{byte} at {position} of {}", C::BYTES);
            }
        }
    }

    #[test]
    fn each_byte_has_its_bits_at_each_position() {
        check_each_byte::<SmallBlocks>();
        check_each_byte::<LargeBlocks>();
        #[cfg(target_arch = "x86_64")]
        if Avx2Classifier::is_supported() {
            check_each_byte::<Avx2Classifier>();
        }
    }

    #[test]
    fn what_is_behind_the_end_is_special() {
        let text = b"abcdefghijklmnopqrs";
        for (at, specials) in [(0, 0), (3, 0), (4, 1 << 15), (18, 0xFFFE), (19, 0xFFFF)] {
            assert_eq!(specials_at::<SmallBlocks>(text, at), specials, "{at}");
        }
        for (at, length) in [(0, 19), (18, 1), (19, 0)] {
            let specials = specials_at::<LargeBlocks>(text, at);
            assert_eq!(specials, u64::MAX << length, "{at}");
        }
    }
}
