//! The requests a kernel can send, by name.

macro_rules! operations {
    ($($name:ident $word:literal)*) => {
        /// One kind of request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // named like the requests themselves
        pub enum Operation { $($name),* }

        impl Operation {
            /// All kinds, in the order of the enum.
            pub const ALL: &[Operation] = &[$(Operation::$name),*];

            /// The word for it in statistics: the request's name in lower case.
            pub fn as_str(self) -> &'static str {
                match self { $(Operation::$name => $word),* }
            }
        }
    };
}

operations! {
    Lookup "lookup"
    Forget "forget"
    Getattr "getattr"
    Setattr "setattr"
    Readlink "readlink"
    Mknod "mknod"
    Mkdir "mkdir"
    Unlink "unlink"
    Rmdir "rmdir"
    Symlink "symlink"
    Rename "rename"
    Link "link"
    Open "open"
    Create "create"
    Read "read"
    Write "write"
    Flush "flush"
    Release "release"
    Fsync "fsync"
    Opendir "opendir"
    Readdir "readdir"
    Readdirplus "readdirplus"
    Releasedir "releasedir"
    Fsyncdir "fsyncdir"
    Statfs "statfs"
    Setxattr "setxattr"
    Getxattr "getxattr"
    Listxattr "listxattr"
    Removexattr "removexattr"
    Access "access"
    Fallocate "fallocate"
    Lseek "lseek"
    CopyFileRange "copy_file_range"
    Getlk "getlk"
    Setlk "setlk"
    Ioctl "ioctl"
    Poll "poll"
}
