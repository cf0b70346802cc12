//! What a path consists of.

/// Longest component: FUSE's FUSE_NAME_MAX; file systems stop at 255.
const COMPONENT_MAX: usize = 1024;

/// The components of a path, empty ones left out.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}

/// Can a file be called so?
pub(super) fn possible(name: &[u8]) -> bool {
    !name.is_empty() && name.len() <= COMPONENT_MAX && !name.iter().any(|&byte| byte == b'/' || byte == 0)
}
