//! The line a daemon is asked with.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use augurfs::live::control::{Request, Response, serve};

use super::mutate::cases;

#[test]
fn any_line_gets_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let answer = |request: Request| Response::Error { message: format!("{request:?}") };
    let _guard = serve(&socket, answer).unwrap();
    let seeds =
        [b"{\"command\":\"stats\"}\n".to_vec(), b"{\"command\":\"record\",\"hash_names\":true}\n".to_vec()];
    cases(&seeds, 3, |bytes| {
        let mut line = bytes.to_vec();
        line.retain(|&byte| byte != b'\n');
        line.push(b'\n');
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(&line).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("{\"reply\":\"error\"") && said.ends_with("}\n"), "{said}");
        assert!(said.len() < 1024 + 8 * line.len(), "{said}");
    });
}
