//! What directories contained, into bodies and back, and the window of siblings.

use super::coder::{Coder, tag};
use crate::codec::{CodecError, Reader, put_varint};
use crate::config::InodeWindow;
use crate::event::{Entry, Listing};

/// Places among entries are below this: more than a directory can have.
const PLACES: u64 = 1 << 32;
/// The number for [`InodeWindow::Auto`]; the others are their width.
const AUTO: u64 = 1 << 16;

impl Coder {
    pub(super) fn put_listing(&mut self, listing: &Listing, out: &mut Vec<u8>) {
        out.push(tag::LISTED);
        self.file.put(out, u64::from(listing.dir.0));
        put_varint(out, u64::from(listing.at) << 1 | u64::from(listing.last));
        put_varint(out, listing.entries.len() as u64);
        for entry in &listing.entries {
            self.file.put(out, u64::from(entry.file.0));
            self.inode.put(out, entry.inode);
            put_varint(out, u64::from(entry.by_name) << 1 | u64::from(entry.directory));
        }
    }

    pub(super) fn get_listing(&mut self, body: &mut Reader<'_>) -> Result<Listing, CodecError> {
        let dir = self.get_file(body)?;
        let at = body.below(PLACES << 1, "a place among entries")?;
        let mut entries = Vec::new();
        for _ in 0..body.below(Listing::PIECE as u64 + 1, "a number of entries")? {
            let (file, inode) = (self.get_file(body)?, self.inode.any(body, "an inode number")?);
            let place = body.below(PLACES << 1, "a place among names")?;
            entries.push(Entry { file, inode, by_name: (place >> 1) as u32, directory: place & 1 == 1 });
        }
        Ok(Listing { dir, at: (at >> 1) as u32, last: at & 1 == 1, entries })
    }
}

pub(super) fn window_number(window: InodeWindow) -> u64 {
    match window {
        InodeWindow::Off => 0,
        InodeWindow::Fixed(entries) => u64::from(entries),
        InodeWindow::Auto => AUTO,
    }
}

pub(super) fn inode_window(body: &mut Reader<'_>) -> Result<InodeWindow, CodecError> {
    let wrong = body.error("a window of siblings");
    match body.varint("a window of siblings")? {
        0 => Ok(InodeWindow::Off),
        AUTO => Ok(InodeWindow::Auto),
        entries if entries.is_power_of_two() && entries <= u64::from(InodeWindow::MOST) => {
            Ok(InodeWindow::Fixed(entries as u32))
        }
        _ => Err(wrong),
    }
}
