use super::*;
use crate::trace::{Reader, Record, Shown, Teller};

fn imported(format: Format, below: &str, text: &str) -> (Imported, Vec<String>) {
    let mut bytes = Vec::new();
    let below = Some(below).filter(|below| !below.is_empty()).map(|below| below.as_bytes().to_vec());
    let counts = import(format, text.as_bytes(), "in", &Reading { below }, &mut bytes).unwrap();
    let records: Vec<Record> =
        Reader::new(&bytes[..], "out").unwrap().map(|record| record.unwrap()).collect();
    let mut teller = Teller::default();
    let shown = records.iter().filter_map(|record| teller.tell(record));
    let lines: Vec<String> = shown.map(|shown: Shown| shown.to_string().trim().to_owned()).collect();
    (counts, lines[1..lines.len() - 1].to_vec())
}

fn refused(format: Format, text: &str) -> String {
    import(format, text.as_bytes(), "in", &Reading::default(), &mut Vec::new()).unwrap_err().to_string()
}

#[test]
fn tables_without_a_header() {
    let (counts, lines) = imported(Format::Tsv, "", "7\tmake\tMakefile\n8\tcc\tsrc/a.c\n\n7\tcc1\tsrc/a.h\n");
    assert_eq!((counts.accesses, counts.streams, counts.files), (3, 2, 4));
    assert_eq!(
        lines,
        [
            "0.000000  make[0]  begin  group 0",
            "0.001000  make[0]  open  Makefile",
            "0.001000  cc[1]  begin  group 0",
            "0.002000  cc[1]  open  src/a.c",
            "0.002000  cc1[0]  exec  cc1",
            "0.003000  cc1[0]  open  src/a.h",
        ]
    );
    assert_eq!(
        refused(Format::Tsv, "7\ta\tb\n7 a b\n"),
        "in: line 2, column 6: expected a tab behind the process"
    );
    assert_eq!(refused(Format::Tsv, "x\ta\tb\n"), "in: line 1, column 1: expected the number of a process");
    assert_eq!(refused(Format::Tsv, "7\ta\t"), "in: line 1, column 5: expected a path");
}

#[test]
fn tables_with_a_header() {
    let text = "path,pid,time,ppid,op,size,program\n\
                \"a,\"\"b\"\"\nc\",2,10.5,1,,12,sh\n\
                d,3,10.75,2,list,,cc\n\
                e,9,11,4,read,100,ld\n";
    let (counts, lines) = imported(Format::Csv, "", text);
    assert_eq!((counts.accesses, counts.streams), (3, 3));
    assert_eq!(
        lines,
        [
            "0.000000  sh[0]  begin  group 1",
            "0.000000  facts  a,\"b\"\\nc  12 bytes",
            "0.000000  sh[0]  open  a,\"b\"\\nc",
            "0.000000  cc[1]  begin  group 1, child of 0",
            "0.250000  cc[1]  list  d",
            "0.250000  ld[2]  begin  group 2",
            "0.250000  facts  e  100 bytes",
            "0.500000  ld[2]  read  e  100 bytes at 0",
        ]
    );
}

#[test]
fn what_a_table_cannot_have_is_told_with_its_place() {
    for (text, error) in [
        ("", "line 1, column 1: expected a header"),
        (
            "path,colour\n",
            "line 1, column 6: expected one of time, pid, ppid, program, path, op, size, each once",
        ),
        (
            "path,path\n",
            "line 1, column 6: expected one of time, pid, ppid, program, path, op, size, each once",
        ),
        ("pid\n1\n", "line 1, column 1: expected a column named path"),
        ("pid,path\n1,a\nx,b\n", "line 3, column 1: expected the number of a process"),
        ("pid,path\n1\n", "line 2, column 1: expected a field for the column path"),
        ("path,time\na,-1\n", "line 2, column 3: expected a time in seconds, not negative"),
        (
            "path,op\na,eat\n",
            "line 2, column 3: expected one of open, lookup, list, read, write, close, remove",
        ),
        ("path\n\"a\nb\n", "line 2, column 1: expected a quotation mark that is closed"),
        ("path\n\"a\"b\n", "line 2, column 4: expected a comma or the end of the line"),
    ] {
        assert_eq!(refused(Format::Csv, text), format!("in: {error}"), "{text:?}");
    }
}

const STRACE: &str = r#"
100 10:00:00.000000 execve("/usr/bin/make", ["make"], 0x7f /* 3 vars */) = 0
100 10:00:00.100000 openat(AT_FDCWD, "Makefile", O_RDONLY) = 3
100 10:00:00.100001 openat(AT_FDCWD, "absent", O_RDONLY) = -1 ENOENT (No such file or directory)
100 10:00:00.150000 openat(AT_FDCWD, "src", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 4
100 10:00:00.160000 vfork( <unfinished ...>
101 10:00:00.170000 openat(4, "a\x20b.c", O_RDONLY <unfinished ...>
102 10:00:00.170000 --- SIGCHLD {si_signo=SIGCHLD} ---
101 10:00:00.180000 <... openat resumed>) = 5
101 10:00:00.190000 chdir("src/../src/sub") = 0
100 10:00:00.200000 <... vfork resumed>) = 101
101 10:00:00.210000 execve("/usr/bin/cc", ["cc"], 0x7f) = 0
101 10:00:00.220000 open("c.h", O_RDONLY) = 6
cc: a line of its own
101 10:00:00.230000 openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 7
101 10:00:00.240000 clone3({flags=CLONE_VM|CLONE_THREAD, exit_signal=0}, 88) = 103
103 10:00:00.250000 openat(AT_FDCWD</w/src/sub>, "../d.h", O_RDONLY) = 8</w/src/d.h>
103 10:00:00.260000 +++ exited with 0 +++
101 10:00:00.270000 unlink("/w/tmp") = 0
101 10:00:00.280000 +++ exited with 0 +++
100 10:00:00.290000 openat(AT_FDCWD, "out", O_RDONLY) = 3
"#;

#[test]
fn strace() {
    let (counts, lines) = imported(Format::Strace, "/w", STRACE);
    assert_eq!(
        lines,
        [
            "0.000000  ?[0]  begin  group 0",
            "0.000000  make[0]  exec  /usr/bin/make",
            "0.100000  make[0]  open  Makefile",
            "0.150000  make[0]  list  src",
            "0.150000  make[1]  begin  group 0, child of 0",
            "0.180000  make[1]  open  src/a b.c",
            "0.180000  cc[1]  exec  /usr/bin/cc",
            "0.220000  cc[1]  open  src/sub/c.h",
            "0.250000  cc[1]  open  src/d.h",
            "0.270000  cc[1]  remove  tmp",
            "0.270000  cc[1]  exit",
            "0.290000  make[0]  open  out",
        ]
    );
    assert_eq!(
        (counts.accesses, counts.left_out),
        (7, 4),
        "two programs, a password file, one that is absent"
    );
    assert_eq!((counts.unreadable, counts.first_unreadable), (1, Some(14)));
}

#[test]
fn what_is_no_strace_is_refused() {
    assert_eq!(refused(Format::Strace, "hello\nworld\n"), "in: line 1, column 1: expected a line of strace");
    let (counts, lines) = imported(Format::Strace, "", "open(\"x\", O_RDONLY) = 3\n");
    assert_eq!((counts.accesses, lines.len()), (1, 2));
}

#[test]
fn an_endless_line_is_refused() {
    let text = "x".repeat(100_000);
    assert_eq!(refused(Format::Tsv, &text), "in: line 1, column 65537: expected the end of a line");
}
