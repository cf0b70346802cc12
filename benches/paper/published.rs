//! What the papers print, to stand beside ours.

/// Lines of a table, by its name: a label and what was published.
pub(crate) fn lines(table: &str) -> &'static [(&'static str, &'static str)] {
    match table {
        "glimpse" => &[
            (
                "cold",
                "elapsed 172.0 +-.84 s, compute 82.7 +-.12 s, read 1890 +-19.9 us; 24901 calls, 258 hits, 12828 partials, 11813 misses",
            ),
            (
                "hot",
                "elapsed 131.5 +-.12 s, compute 81.4 +-.06 s, read 782 +-2.9 us; 24901 calls, 5943 hits, 12819 partials, 6138 misses",
            ),
            (
                "gains",
                "elapsed -16 %, I/O latency -31 % (last -16 %, PCM -22 %, smallest EPCM best), read latency -92 %; gap closed 68 %",
            ),
        ],
        "ld" => &[
            ("cold", "elapsed 36.12 +-.13 s, compute 23.96 +-.03 s, read 2866 +-18.8 us"),
            ("hot", "elapsed 23.98 +-.01 s, compute 23.95 +-.01 s, read 596 +-3.1 us"),
            (
                "gains",
                "elapsed -11 %, I/O latency -34 %, read latency at least -33 %; EPCM best; gap closed 34 %",
            ),
        ],
        "andrew" => &[
            ("hot", "read 139 us, no misses (phase 5)"),
            ("gains", "elapsed -12 %, I/O latency -90 %, read latency -80 %; PCM up to -26 %"),
        ],
        "ssh" => &[
            ("cold", "elapsed 302.0 +-1.13 s, compute 263.6 +-.82 s, read 2813 +-19.9 us"),
            ("hot", "elapsed 268.4 +-1.03 s, compute 262.8 +-.04 s, read 861 +-2.2 us"),
            ("gains", "elapsed -11 %, I/O latency -84 %, read latency -70 %; EPCM best; gap closed 96 %"),
        ],
        "dear" => &[
            ("cscope at 6 MB", "LRU 19.77 s, DEAR 12.87 s (-35 %)"),
            ("sort", "LRU 16.59 s, DEAR 13.60 s (-18 %)"),
            ("cscope+sort", "LRU 70.96 s, LRU-SEQ 70.72 s, DEAR 66.61 s"),
            ("cscope+wc", "LRU 81.27 s, LRU-SEQ 71.75 s, DEAR 62.88 s"),
            ("period", "250 to 500 references are best; at 100 cpp and postgres lose to LRU"),
        ],
        "window" => &[
            ("window KB", "4, 8, 16, 32, 64, 128, 256"),
            ("random inode ms", "7.634, 7.692, 7.813, 7.937, 8.264, 8.850, 10.000"),
            ("faster for related", "-, 11.3 %, 21.8 %, 29.6 %, 35.5 %, 40.0 %, 42.4 %"),
        ],
        "dbench" => &[("spread", "up to 30 % between identical boots")],
        _ => &[],
    }
}
