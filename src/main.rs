//! The program: hands the command line to `cli` and its verdict to the shell.

fn main() -> std::process::ExitCode {
    augurfs::cli::main()
}
