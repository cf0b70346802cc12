//! (under construction)

pub mod slow;
