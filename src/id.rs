//! Small dense numbers for the things the engine talks about.
//!
//! Dense means: handed out from 0 upwards, so that they can index vectors and cost four bytes.

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id! {
    /// A path below the source, as `names` numbers them. Directories have one too.
    FileId(u32)
}
dense_id! {
    /// One process life. Threads share it; a reused process number gets a new one.
    StreamId(u32)
}
dense_id! {
    /// An executable's identity: what a stream runs.
    ProgramId(u32)
}
dense_id! {
    /// One job in the shell's sense (a process group's life): the processes of one build share it.
    GroupId(u32)
}
dense_id! {
    /// One piece of work for a worker.
    JobId(u64)
}
