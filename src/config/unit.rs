//! Sizes and durations as people write them.

use std::time::Duration;

/// How a size is written, for error sentences.
pub const BYTES_FORM: &str = "a number of bytes, or a number with K, M or G";
/// How a duration is written, for error sentences.
pub const DURATION_FORM: &str = "a number with ms, s, min or h (a bare number is seconds)";

/// `512`, `64K`, `1.5G`: multiples of 1024. `None` when it is something else, or does not fit.
pub fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let scale = match unit {
        "" | "B" => 1u64,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "m" | "MiB" => 1 << 20,
        "G" | "g" | "GiB" => 1 << 30,
        "T" | "t" | "TiB" => 1 << 40,
        _ => return None,
    };
    let value = number * scale as f64;
    // 2^63 keeps the conversion exact enough and far from overflow.
    (value < (1u64 << 63) as f64).then_some(value as u64)
}

/// `300ms`, `2s`, `1.5`, `5min`, `1h`. `None` when it is something else, or does not fit.
pub fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    // Rounded to microseconds: 0.3 is then exactly 300 ms.
    let micros = (number * seconds * 1e6).round();
    (micros < (1u64 << 63) as f64).then(|| Duration::from_micros(micros as u64))
}

/// Splits after the digits (and one point). No sign, no exponent, no blank.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit))
}

/// A size the way `bytes` reads it: in the largest unit that leaves a whole number, else with one digit after the point.
pub fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["", "K", "M", "G", "T"];
    let mut unit = 0;
    let mut value = bytes as f64;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(value.fract() != 0.0);
    format!("{value:.digits$}{}", UNITS[unit])
}

/// `1 file`, `2 files`: a number of things.
pub fn show_count(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// A duration the way `duration` reads it, in the unit that suits its size.
pub fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let (value, unit) = match seconds {
        0.0 => (0.0, "s"),
        s if s < 0.001 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s if s < 60.0 => (s, "s"),
        s if s < 3600.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    let rounded = (value * 10.0).round() / 10.0;
    format!("{rounded}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes() {
        let good =
            [("0", 0), ("512", 512), ("64K", 65536), ("1.5M", 1_572_864), ("2G", 2 << 30), ("1T", 1 << 40)];
        for (text, value) in good {
            assert_eq!(bytes(text), Some(value), "{text}");
        }
        for text in ["", "K", "-1", "1X", "1 K", "1e3", "1.2.3", "99999999999T"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn durations() {
        let good = [("300ms", 300_000), ("0", 0), ("0.3", 300_000), ("2s", 2_000_000), ("5min", 300_000_000)];
        for (text, micros) in good {
            assert_eq!(duration(text), Some(Duration::from_micros(micros)), "{text}");
        }
        for text in ["", "s", "-1s", "1 s", "soon", "99999999999999999999h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn shown_the_way_they_are_read() {
        let shown: Vec<_> = [0, 999, 1024, 1536, 64 << 20, 5 << 40].map(show_bytes).into();
        assert_eq!(shown, ["0", "999", "1K", "1.5K", "64M", "5T"]);
        let micros = [0, 250, 300_000, 1_000_000, 300_000_000, 7_200_000_000];
        let shown: Vec<_> = micros.map(|us| show_duration(Duration::from_micros(us))).into();
        assert_eq!(shown, ["0s", "250us", "300ms", "1s", "5min", "2h"]);
    }

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| show_count(n, "file")), ["0 files", "1 file", "2 files"]);
    }

    proptest! {
        #[test]
        fn a_size_survives_being_shown(kib in 0u64..1024) {
            prop_assert_eq!(bytes(&show_bytes(kib << 10)), Some(kib << 10));
        }

        #[test]
        fn nonsense_never_panics(text in ".{0,12}") {
            let _ = (bytes(&text), duration(&text));
        }
    }
}
