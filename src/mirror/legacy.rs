//! What a mirror leaves to the process that goes on with its mount: inodes, open files, locks.
//!
//! What must stay true: what comes out of [`Mirror::inherit`] answers the kernel's next request as the mirror that
//! wrote it would have: the same numbers mean the same files, and each open file, lock and removed file is held by
//! the very description that held it before. Written and read while no request is under way.
//!
//! Not left: what is a copy of the source's state (descriptors held for a moment, own cache), and the numbers by which
//! accesses are learned, which are found again by name. The same state is always written in the same words.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::Mirror;
use crate::codec::{CodecError, Reader, put_varint};

/// Open files, to go to another process in this order. Each is in it once.
#[derive(Debug, Default)]
pub struct Bundle {
    files: Vec<Arc<OwnedFd>>,
    places: HashMap<*const OwnedFd, u64>,
}

impl Bundle {
    /// The place of `file` in the bundle.
    pub(super) fn put(&mut self, file: &Arc<OwnedFd>) -> u64 {
        *self.places.entry(Arc::as_ptr(file)).or_insert_with(|| {
            self.files.push(file.clone());
            self.files.len() as u64 - 1
        })
    }

    /// All of them, in order.
    pub fn files(&self) -> &[Arc<OwnedFd>] {
        &self.files
    }
}

/// What is left: words, and the open files they speak of.
#[derive(Debug)]
pub struct Legacy<'a> {
    /// Being read.
    pub words: Reader<'a>,
    /// In the order they were put into the bundle.
    pub files: Vec<Arc<OwnedFd>>,
}

impl Legacy<'_> {
    /// The file whose place in the bundle comes next.
    pub(super) fn file(&mut self) -> Result<Arc<OwnedFd>, CodecError> {
        let at = self.words.below(self.files.len() as u64, "the place of an open file")?;
        Ok(self.files[at as usize].clone())
    }
}

impl Mirror {
    /// Writes down what a successor needs.
    pub fn bequeath(&self, words: &mut Vec<u8>, bundle: &mut Bundle) {
        self.inodes.bequeath(words, bundle);
        let (next, open) = self.handles.all();
        put_varint(words, next);
        put_files(words, bundle, &open);
        self.locks.bequeath(words, bundle);
        put_files(words, bundle, &self.descriptors.remembered());
    }

    /// Takes over what another mirror of the same source has left. To be called once, before the first request.
    ///
    /// # Errors
    /// The words are not what [`Mirror::bequeath`] writes, or speak of another source.
    pub fn inherit(&self, legacy: &mut Legacy<'_>) -> Result<(), CodecError> {
        self.inodes.inherit(legacy)?;
        let next = legacy.words.varint("the last handle")?;
        let open = files(legacy)?;
        self.handles.resume(next, open);
        self.locks.inherit(legacy)?;
        for (nodeid, file) in files(legacy)? {
            if let Some(inode) = self.inodes.get(nodeid) {
                self.descriptors.resume(&inode, &file);
            }
        }
        Ok(())
    }
}

/// Numbered files.
fn put_files(words: &mut Vec<u8>, bundle: &mut Bundle, files: &[(u64, Arc<OwnedFd>)]) {
    put_varint(words, files.len() as u64);
    for (number, file) in files {
        put_varint(words, *number);
        put_varint(words, bundle.put(file));
    }
}

fn files(legacy: &mut Legacy<'_>) -> Result<Vec<(u64, Arc<OwnedFd>)>, CodecError> {
    let count = legacy.words.count("how many files are held")?;
    (0..count).map(|_| Ok((legacy.words.varint("a file's number")?, legacy.file()?))).collect()
}
