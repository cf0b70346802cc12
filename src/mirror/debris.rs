//! Descriptors to be closed. Closing can wait for the source (a network file system writes out what it has put off, a FUSE
//! below is asked), and some threads must not: those that others depend on.

/// Has `debris` closed by a thread of its own.
pub(super) fn close_elsewhere<T: Send + 'static>(debris: Vec<T>) {
    if debris.is_empty() {
        return;
    }
    // If no thread can be had, it is closed here and now, as this drops what was to be moved there.
    if let Err(error) = std::thread::Builder::new().name("close".into()).spawn(move || drop(debris)) {
        log::debug!("no thread to close files: {error}");
    }
}
