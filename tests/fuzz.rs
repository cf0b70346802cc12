//! Every decoder of the project, fed with what was valid once: bits flipped, pieces cut out, moved and put in.
//!
//! The same cases each time, a bounded number; `AUGURFS_FUZZ_CASES=100000 cargo test --release --test fuzz` tries more, and
//! `AUGURFS_FUZZ_SEED=7` others.
//!
//! What must stay true: no panic; no memory beyond what the input warrants (the address space of this test is limited, so that an
//! allocation that trusts a length fails the test); an error that has a place has it within the input.
#![allow(clippy::unwrap_used)]

mod fuzz {
    pub(crate) mod control;
    pub(crate) mod learned;
    pub(crate) mod mutate;
    pub(crate) mod text;
    pub(crate) mod trace;
}
