//! The few system calls that neither the standard library nor rustix offers, each behind a safe
//! function. No policy lives here.
//!
//! What must stay true: this is the only module with unsafe code, and every unsafe block says why
//! it is sound. Nothing in here knows the words of the layers above.
#![allow(unsafe_code)]

pub mod cachestat;
pub mod fanotify;
pub mod fiemap;
pub mod handle;
pub mod proc;
