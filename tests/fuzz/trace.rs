//! The reader of traces, and the replay behind it.

use augurfs::trace::{Reader, TraceError, replay};

use super::mutate::cases;

const HEAD: usize = 12;

fn seeds() -> Vec<Vec<u8>> {
    vec![include_bytes!("../data/trace-v1.trace").to_vec()]
}

/// Reads to the first error and checks where that is.
fn read(bytes: &[u8]) -> usize {
    let mut reader = match Reader::new(bytes, "t") {
        Ok(reader) => reader,
        Err(error) => {
            within(&error, bytes);
            return 0;
        }
    };
    let mut records = 0;
    for record in reader.by_ref() {
        match record {
            Ok(_) => records += 1,
            Err(error) => within(&error, bytes),
        }
    }
    assert!(reader.at() <= bytes.len() as u64);
    records
}

fn within(error: &TraceError, bytes: &[u8]) {
    if let TraceError::Damaged { at, .. } = error {
        assert!(*at <= bytes.len() as u64, "{error}");
    }
}

/// The same bodies with the checks that belong to them: what is damaged then is damaged inside.
fn seal(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes[..bytes.len().min(HEAD)].to_vec();
    let mut sum = crc32c::crc32c(&out);
    let mut at = out.len();
    while at < bytes.len() {
        let head = if bytes[at] < 0x80 { 1 } else { 2 };
        let low = usize::from(bytes[at] & 0x7f);
        let high = if head == 2 { usize::from(bytes.get(at + 1).copied().unwrap_or(0)) << 7 } else { 0 };
        let end = at + head + (low | high);
        let Some(framed) = bytes.get(at..end) else { break };
        sum = crc32c::crc32c_append(sum, framed);
        out.extend_from_slice(framed);
        out.extend_from_slice(&(sum as u16).to_le_bytes());
        at = end + 2;
    }
    out
}

#[test]
fn sealing_keeps_what_is_sound() {
    let seed = &seeds()[0];
    assert_eq!(&seal(seed), seed);
}

#[test]
fn any_trace_is_read_or_refused() {
    cases(&seeds(), 1, |bytes| {
        // A record takes at least four bytes: its length, its tag, its check.
        assert!(read(bytes) <= bytes.len() / 4);
        assert!(read(&seal(bytes)) <= bytes.len() / 4);
    });
}

#[test]
fn any_trace_is_replayed_or_refused() {
    cases(&seeds(), 3, |bytes| {
        let sealed = seal(bytes);
        let Ok(reader) = Reader::new(&sealed[..], "t") else { return };
        match replay(reader) {
            Ok(replayed) => assert!(replayed.steps + replayed.effects <= sealed.len() as u64 / 4),
            Err(error) => within(&error, &sealed),
        }
    });
}
