//! The model file: what was learned, kept from mount to mount.

pub mod codec;
