//! `augurfs simulate` as a user meets it. Mounts nothing.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn simulate(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_augurfs"));
    command.arg("simulate").args(arguments.split_whitespace()).env_remove("RUST_LOG").output().unwrap()
}

/// What it prints when all is well, and nothing besides.
fn printed(arguments: &str) -> String {
    let output = simulate(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &str, code: i32, sentence: &str) {
    let output = simulate(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(code), 1), "{arguments}: {said}");
    assert!(said.starts_with("augurfs: ") && said.contains(sentence), "{arguments}: {said}");
    assert!(output.stdout.is_empty(), "{arguments}");
}

#[test]
fn the_same_words_print_the_same() {
    let words = "--generate build-j:units=6 --generate zipf:files=50,opens=100 --predictor match,pcm \
                 --cache 256K,1M --policy lru,fifo --device net --no-cost --seed 3";
    for format in ["text", "markdown", "csv", "json"] {
        let words = format!("{words} --format {format}");
        assert_eq!(printed(&words), printed(&words));
    }
    let other = words.replace("--seed 3", "--seed 4");
    assert_ne!(printed(words), printed(&other));
}

#[test]
fn a_grid_has_a_row_for_each_place_and_predictor() {
    let csv = printed(
        "--generate sort:blocks=5 --generate link:objects=9,links=3 --predictor match,none,pcm \
         --cache 1M,2M --device net,ssd --no-cost --format csv",
    );
    // Both workloads under one head; `none` once.
    assert_eq!(csv.lines().count(), 1 + 2 * 2 * 2 * 3, "{csv}");
    assert_eq!(csv.lines().filter(|line| line.contains(",none,")).count(), 8);
}

/// The sweep over partitions that the README shows, on less: larger ones do not do worse, and the extended model does
/// better than the plain one, which does as well as the last successor.
#[test]
fn partitions_are_swept_in_one_table() {
    const SWEEP: [&str; 7] = [
        "last",
        "pcm:16/2/0.3",
        "pcm:32/2/0.3",
        "pcm:64/2/0.3",
        "epcm:16/12/0.55",
        "epcm:32/26/0.55",
        "epcm:64/51/0.55",
    ];
    let words = format!(
        "--generate traversal:files=300 --device net --training 24 --no-cost --predictor {}",
        SWEEP.join(",")
    );
    let json: serde_json::Value = serde_json::from_str(&printed(&format!("{words} --format json"))).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["predictor"].as_str().unwrap()).collect();
    assert_eq!(names[1..], SWEEP);
    let closed: Vec<f64> = rows[1..].iter().map(|row| row["gap_closed"].as_f64().unwrap()).collect();
    let [last, pcm16, pcm32, pcm64, epcm16, epcm32, epcm64] = closed[..] else { panic!("{closed:?}") };
    assert!(last > 0.0 && pcm16 >= last && pcm32 >= pcm16 && pcm64 >= pcm32, "{closed:?}");
    assert!(epcm16 > pcm64 && epcm32 > epcm16 && epcm64 >= epcm32, "{closed:?}");
    let table = printed(&words);
    assert!(SWEEP.iter().all(|name| table.matches(&format!("\n{name} ")).count() == 2), "{table}");
}

/// What `trace import --from tsv` takes, this takes too.
#[test]
fn absolute_paths_are_paths_below_the_root() {
    let scratch = tempfile::tempdir().unwrap();
    let table = |slash: &str| {
        let file = scratch.path().join("opens.tsv");
        let lines: String = (0..20).map(|n| format!("7\tgrep\t{slash}doc/{n:03}\n")).collect();
        std::fs::write(&file, lines).unwrap();
        printed(&format!("{} --device net --no-cost --format csv", file.display()))
    };
    assert_eq!(table("/"), table(""));
}

#[test]
fn recordings_are_passes_of_one_job() {
    let scratch = tempfile::tempdir().unwrap();
    let lines = |from: u32| (from..from + 40).map(|n| format!("7\tgrep\tdoc/{n:03}\n")).collect::<String>();
    let (one, two) = (scratch.path().join("one.tsv"), scratch.path().join("two.tsv"));
    std::fs::write(&one, lines(0)).unwrap();
    std::fs::write(&two, lines(20)).unwrap();
    let right = |traces: &str| {
        let json = printed(&format!("{traces} --device net --format json"));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["rows"][1]["accuracy"].as_f64().unwrap()
    };
    let (one, two) = (one.display(), two.display());
    assert!(right(&one.to_string()) > 0.95, "learned from itself");
    let half = right(&format!("{one} {two}"));
    assert!((0.3..0.6).contains(&half), "half of the second was in the first: {half}");
}

#[test]
fn traces_are_recordings_too() {
    let scratch = tempfile::tempdir().unwrap();
    let (table, trace) = (scratch.path().join("table.csv"), scratch.path().join("job.trace"));
    let lines = |n: u32| format!("{}.{:03},7,grep,doc/{n:03},open,5000\n", n / 1000, n % 1000);
    let rows: String = (0..200).map(lines).collect();
    std::fs::write(&table, format!("time,pid,program,path,op,size\n{rows}")).unwrap();
    let mut import = Command::new(env!("CARGO_BIN_EXE_augurfs"));
    import.args(["trace", "import", "--from", "csv"]).arg(&table).arg(&trace);
    assert!(import.output().unwrap().status.success());
    let json = printed(&format!("{} --device net --format json --no-cost", trace.display()));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let row = &json["rows"][1];
    // A millisecond between any two: 199 of them, and 4 us for each use.
    assert_eq!((&row["hot_ns"], &row["opens"]), (&199_800_000.into(), &200.into()));
    assert_eq!(row["warmed_bytes"], 199 * 5000, "all but the first, at the size that was recorded");

    std::fs::write(&trace, &std::fs::read(&trace).unwrap()[..30]).unwrap();
    let mut damaged = std::fs::read(&trace).unwrap();
    damaged.extend_from_slice(&[1; 40]);
    std::fs::write(&trace, damaged).unwrap();
    refused(&trace.display().to_string(), 1, "job.trace is damaged: at byte ");
}

#[test]
fn errors_are_one_sentence_and_say_where() {
    let scratch = tempfile::tempdir().unwrap();
    let (bad, absent) = (scratch.path().join("bad.tsv"), scratch.path().join("absent.tsv"));
    std::fs::write(&bad, "1\tmake\tMakefile\nmake Makefile\n").unwrap();
    refused("", 2, "<TRACE|--generate");
    refused("--generate bild", 2, "unknown workload 'bild': known are traversal,");
    refused("--generate build --predictor oracle", 2, "unknown predictor 'oracle'");
    refused("--generate build --cache lots", 2, "expected a number of bytes");
    refused(
        &absent.display().to_string(),
        1,
        &format!("cannot simulate: {} cannot be read: No such file", absent.display()),
    );
    let sentence = format!("cannot simulate: {}: line 2: expected a process number", bad.display());
    refused(&bad.display().to_string(), 1, &sentence);
}
