//! The few system calls and kernel files: no policy. The only place where unsafe code is allowed.

pub mod mountinfo;
pub mod process;
