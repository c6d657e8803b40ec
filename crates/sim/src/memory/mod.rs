//! The simulator's own memory: large tables, frames for pages of data, and slabs for what is less.

mod chunks;
mod frames;
mod slabs;

pub use frames::{Frame, Frames};
pub use slabs::{Slab, Slabs};

use zerocopy::FromZeros;

/// Bytes from which on a table is worth huge pages, of 2 MiB as a rule.
const LARGE: usize = 4 << 20;
/// Bytes up to which it is: a larger one is of a drive of which only parts are used, as a rule, here and there. A file system on
/// 2 TB that is empty but for its groups would have all of such a table in memory.
const LARGEST: usize = 1 << 30;

/// A table of zeroes: address space only, until its entries are written.
///
/// Entries of a table of pages or blocks are used here and there. With ordinary memory pages
/// nearly every use would miss the processor's translation buffer as well as its caches, so a
/// large table asks for huge pages. It works the same on systems that have none.
///
/// # Panics
/// More bytes than there is address space.
pub fn zeroed<T: FromZeros>(length: usize) -> Vec<T> {
    let table = T::new_vec_zeroed(length).expect("a table fits into the address space");
    if (LARGE..=LARGEST).contains(&size_of_val(table.as_slice())) {
        ask_for_huge_pages(&table);
    }
    table
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(table: &[T]) {
    let page = rustix::param::page_size();
    let range = table.as_ptr_range();
    let begin = (range.start as usize).next_multiple_of(page);
    let bytes = (range.end as usize - begin) / page * page;
    let address = range.start.with_addr(begin).cast_mut().cast();
    // SAFETY: The range lies within `table`, and the advice changes nothing that it holds.
    let asked = unsafe { rustix::mm::madvise(address, bytes, rustix::mm::Advice::LinuxHugepage) };
    // A kernel without huge pages refuses; the table works without them.
    let _ = asked;
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_: &[T]) {}

/// Bytes that the processor fetches at once.
const LINE: usize = 64;
/// What it fetches of more by itself comes when it has seen so much.
const LINES_SEEN: usize = 8;

/// Has the processor fetch the beginning of what will soon be read or written from its first byte to the last.
#[inline]
pub fn prefetch_beginning(bytes: &[u8]) {
    for line in 0..LINES_SEEN {
        prefetch(bytes, line * LINE);
    }
}

/// Has the processor fetch an entry of a table that will soon be used. Changes nothing, whether
/// there is such an entry or not.
#[inline]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: A prefetch is a hint, for any address; this one is that of an entry.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_any_size_are_zero_and_can_be_written() {
        for length in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, LARGE / 8 + 513] {
            let mut table = zeroed::<u64>(length);
            assert_eq!(table.len(), length);
            assert!(table.iter().all(|entry| *entry == 0));
            table.fill(u64::MAX);
            assert!(table.iter().all(|entry| *entry == u64::MAX));
        }
    }
}
