//! Texts that are imported.

use augurfs::trace::{Format, Reader, Reading, TraceError, import};

use super::mutate::cases;

const STRACE: &[u8] = include_bytes!("../data/build.strace");
const CSV: &[u8] = include_bytes!("../data/accesses.csv");
const TSV: &[u8] = b"7\tmake\tMakefile\n8\tcc\tsrc/a.c\n8\tcc\tsrc/a.h\n7\tld\tsrc/a.o\n";

/// What comes out can be read, and is in proportion to what went in.
fn try_import(format: Format, bytes: &[u8]) {
    let mut out = Vec::new();
    match import(format, bytes, "in", &Reading::default(), &mut out) {
        Ok(counts) => {
            assert!(Reader::new(&out[..], "out").unwrap().all(|record| record.is_ok()));
            assert!(counts.accesses <= bytes.len() as u64);
        }
        Err(TraceError::Text { line, column, .. }) => {
            let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
            assert!((1..=lines).contains(&line) && column <= bytes.len() as u64 + 1, "{line}, {column}");
        }
        Err(error) => panic!("{error}"),
    }
    // A path may be very long in one line, and is split into its parts.
    assert!(out.len() <= 4096 + 64 * bytes.len(), "{} from {}", out.len(), bytes.len());
}

#[test]
fn any_strace_is_imported_or_refused() {
    cases(&[STRACE.to_vec()], 1, |bytes| try_import(Format::Strace, bytes));
}

#[test]
fn any_table_is_imported_or_refused() {
    cases(&[CSV.to_vec()], 1, |bytes| try_import(Format::Csv, bytes));
    cases(&[TSV.to_vec()], 1, |bytes| try_import(Format::Tsv, bytes));
}
