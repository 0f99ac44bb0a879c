//! The pages of the program's own file in the memory of the process.

/// Takes code and constants out of the memory of the process. A page that is used again comes back from the system's
/// cache of the file, with its neighbours, in about a microsecond.
///
/// Does nothing outside Linux.
pub fn release() {
    #[cfg(target_os = "linux")]
    for segment in linux::constant_segments() {
        linux::release(segment);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::memory::resident::page_bytes;
    use std::ffi::{c_int, c_void};
    use std::ops::Range;

    /// Addresses of a segment.
    type Segment = Range<usize>;

    /// The segments of the program, without its libraries, that are never written.
    pub fn constant_segments() -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        // SAFETY: the callback gets a pointer to the vector that it expects, and the call returns before its end.
        unsafe { libc::dl_iterate_phdr(Some(add_segments), (&raw mut segments).cast()) };
        segments
    }

    pub fn release(segment: Segment) {
        // SAFETY: the segment is mapped from a file, and nothing writes to it, so that its pages come back with the same
        // bytes. Where the system refuses, as after `mlockall`, they stay.
        unsafe {
            libc::madvise(
                segment.start as *mut c_void,
                segment.len(),
                libc::MADV_DONTNEED,
            )
        };
    }

    /// Gets the objects of the process one after the other, until it returns a number other than 0.
    ///
    /// # Safety
    /// `segments` points to a `Vec<Segment>`.
    unsafe extern "C" fn add_segments(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        segments: *mut c_void,
    ) -> c_int {
        // SAFETY: the system gives a valid object, and the caller the vector.
        let (object, segments) = unsafe { (&*object, &mut *segments.cast::<Vec<Segment>>()) };
        // SAFETY: the object has as many headers as it says.
        let headers =
            unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
        for header in headers {
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0 {
                let start = object.dlpi_addr as usize + header.p_vaddr as usize;
                let page_start = start - start % page_bytes();
                segments.push(page_start..start + header.p_memsz as usize);
            }
        }
        // The program is the first object.
        1
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::linux::constant_segments;
    use std::fs;

    /// The line of `/proc/self/maps` for an address: the addresses of its mapping, the rights, and the file.
    fn mapping_of(address: usize) -> String {
        let maps = fs::read_to_string("/proc/self/maps").expect("Linux has the file");
        let holds = |line: &&str| {
            let mut ends = line
                .split([' ', '-'])
                .map(|end| usize::from_str_radix(end, 16));
            let (Some(Ok(start)), Some(Ok(end))) = (ends.next(), ends.next()) else {
                return false;
            };
            (start..end).contains(&address)
        };
        maps.lines().find(holds).expect("a mapping").into()
    }

    #[test]
    fn only_what_is_never_written_is_released_and_it_is_there_again_when_it_is_used() {
        let segments = constant_segments();
        let is_released = |address: usize| segments.iter().any(|one| one.contains(&address));
        assert!(is_released(super::release as fn() as usize));
        assert!(is_released("a constant".as_ptr() as usize));
        let program = std::env::current_exe().expect("a path");
        for segment in &segments {
            let mapping = mapping_of(segment.start);
            assert!(mapping.ends_with(&*program.to_string_lossy()), "{mapping}");
            let rights = mapping.split(' ').nth(1).expect("rights");
            assert!(!rights.contains('w'), "{mapping}");
        }
        super::release();
        assert_eq!("a constant".to_uppercase(), "A CONSTANT");
    }
}
