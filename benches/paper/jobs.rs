//! The tables: which files, which jobs on them, which arms.
//!
//! What must stay true: files are the same every time (drawn from fixed seeds, or from a fixed source); a job finds its tree in
//! `$TREE` and works there, writes elsewhere to `$OUT`, and what it measures itself to `$OWN` as lines of a name and a number.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use augurfs::device::SplitMix;

use crate::arms::{self, Arm};
use crate::common::mounts::utf8;
use crate::common::shell::{Interruption, run, tool};

/// How long making the files may take.
const LIMIT: Duration = Duration::from_secs(900);

/// What is measured.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) programs: Vec<&'static str>,
    pub(crate) command: String,
    /// Makes the tree what it was, for a second run on it.
    pub(crate) undo: Option<String>,
}

impl Job {
    fn new(name: &str, programs: &[&'static str], command: impl Into<String>) -> Job {
        Job { name: name.into(), programs: programs.to_vec(), command: command.into(), undo: None }
    }

    fn undone_by(mut self, command: &str) -> Job {
        self.undo = Some(command.into());
        self
    }

    /// A program it needs and that is not there.
    pub(crate) fn missing_program(&self) -> Option<&'static str> {
        self.programs.iter().copied().find(|program| {
            let mut look = Command::new("sh");
            look.args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).stderr(Stdio::null());
            !look.status().is_ok_and(|status| status.success())
        })
    }
}

/// What preparing needs to know.
pub(crate) struct Making<'a> {
    pub(crate) scale: f64,
    /// Where sources are kept.
    pub(crate) work: &'a Path,
    pub(crate) interruption: &'a Interruption,
}

/// One table.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(&Path, &Making<'_>) -> anyhow::Result<()>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) arms: Vec<Arm>,
}

/// All tables, in the order of the summary.
pub(crate) const NAMES: [&str; 10] =
    ["glimpse", "ld", "andrew", "ssh", "dear", "window", "tiobench", "dbench", "pollution", "adversary"];

/// The table of that name.
pub(crate) fn find(name: &str, scale: f64) -> Option<Table> {
    let table = |name, prepare, jobs, arms| Some(Table { name, prepare, jobs, arms });
    match name {
        "glimpse" => {
            let job = Job::new("glimpseindex", &["glimpseindex"], r#"glimpseindex -H "$OUT" "$TREE""#);
            table("glimpse", documents, vec![job], arms::predictors())
        }
        "ld" => table("ld", objects, vec![Job::new("ld", &["ld"], LINK)], arms::predictors()),
        "andrew" => {
            let job = Job::new("andrew", &["gcc", "make"], ANDREW).undone_by("rm -rf work");
            table("andrew", andrew, vec![job], arms::predictors())
        }
        "ssh" => {
            let steps = if scale < 0.5 { 1 } else { 4 };
            let goal = if scale < 0.5 { "libssh.a" } else { "ssh sshd ssh-keygen" };
            let command = format!(
                "all=$(wc -l < series); for step in $(seq 1 {steps}); do \
                 for name in $(sed -n \"$(( (step-1)*all/{steps}+1 )),$(( step*all/{steps} ))p\" series); do \
                 patch -s -f -p1 < debian/patches/$name > /dev/null; done; \
                 touch configure config.status Makefile; make -s {goal} > /dev/null 2>&1; done"
            );
            table(
                "ssh",
                openssh,
                vec![Job::new("patch and build", &["make", "gcc", "patch"], command)],
                ssh_arms(),
            )
        }
        "dear" => table("dear", dear_files, dear_jobs(), dear_arms()),
        "window" => table("window", small_files, window_jobs(), window_arms()),
        "tiobench" => table("tiobench", big_file, tiobench_jobs(), arms::common()),
        "dbench" => table("dbench", nothing, dbench_jobs(scale), arms::common()),
        "pollution" => {
            let job = Job::new("working set after a scan", &[], r#""$WORKER" --worker pollution "$TREE" 32"#);
            table("pollution", set_and_scan, vec![job], arms::common())
        }
        "adversary" => {
            let job = Job::new("files at random", &[], r#""$WORKER" --worker adversary "$TREE" 400"#);
            table("adversary", small_files, vec![job], arms::common())
        }
        _ => None,
    }
}

/// 51 commands: fifty partial links and one of what they made.
const LINK: &str = r#"ls objects/*.o | sort > "$OUT/all"
for part in $(seq 0 49); do
  ld -r -o "$OUT/part$part.o" $(awk -v p=$part 'NR%50==p' "$OUT/all")
done
ld -r -o "$OUT/image" "$OUT"/part*.o"#;

/// The five phases, each timed.
const ANDREW: &str = r#"now() { date +%s.%N; }
took() { awk -v n="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%s %.6f\n", n, b - a }' >> "$OWN"; }
t0=$(now); mkdir -p work/src work/include work/obj work/bin work/doc
t1=$(now); cp src/*.c src/Makefile work/src
t2=$(now); ls -lR work > /dev/null; find work -type f -newer src/Makefile > /dev/null
t3=$(now); for f in work/src/*.c; do grep -c nothing $f > /dev/null || true; wc $f > /dev/null; done
t4=$(now); make -s -C work/src > /dev/null
t5=$(now)
took "1 MakeDir" $t0 $t1; took "2 Copy" $t1 $t2; took "3 ScanDir" $t2 $t3; took "4 ReadAll" $t3 $t4; took "5 Make" $t4 $t5"#;

/// A build undoes nothing: there is no hot run of it on the same tree, but with everything read beforehand.
fn ssh_arms() -> Vec<Arm> {
    arms::predictors().into_iter().filter(|arm| !matches!(arm, Arm::Hot | Arm::NativeHot)).collect()
}

fn window_jobs() -> Vec<Job> {
    vec![
        Job::new("related: stat of all, in order", &["find"], r#"find "$TREE" -size +1000000k > /dev/null"#),
        Job::new("random: stat of 400", &[], r#""$WORKER" --worker stat "$TREE" 400"#),
    ]
}

fn window_arms() -> Vec<Arm> {
    let mut arms = arms::common();
    arms.extend([0, 8, 32, 128, 512].map(|window| Arm::Untrained(format!("inode_window={window}"))));
    arms
}

fn tiobench_jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    for phase in ["seqread", "randread", "seqwrite", "randwrite"] {
        for threads in [1, 2, 4, 8] {
            let command = format!(r#""$WORKER" --worker {phase} "$TREE" {threads}"#);
            jobs.push(Job::new(&format!("{phase} {threads}"), &[], command));
        }
    }
    jobs
}

/// Each client a process of its own, so that each one's end is its own.
fn dbench_jobs(scale: f64) -> Vec<Job> {
    let seconds = ((20.0 * scale) as u64).max(1);
    [1, 2, 4, 8]
        .map(|clients| {
            Job::new(
                &format!("{clients} clients"),
                &["dbench"],
                format!(r#""$WORKER" --worker clients "$TREE" {clients} {seconds}"#),
            )
        })
        .into()
}

fn dear_jobs() -> Vec<Job> {
    // The index is made by the job's first command; the queries read it again and again.
    vec![
        Job::new(
            "cscope",
            &["cscope"],
            "cd cscope && for n in 1 2 3 4 5; do cscope -d -c -L -0 fun_${n}_7 > /dev/null; done",
        ),
        Job::new("sort", &["sort"], r#"cd sort && sort -n -S 512K -T "$OUT" -o "$OUT/sorted" numbers"#),
        Job::new(
            "cscope+sort",
            &["cscope", "sort"],
            r#"(cd cscope && for n in 1 2 3 4 5; do cscope -d -c -L -0 fun_${n}_7 > /dev/null; done) & (cd sort && sort -n -S 512K -T "$OUT" -o "$OUT/sorted" numbers) & wait"#,
        ),
        Job::new(
            "cscope+wc",
            &["cscope", "wc"],
            r#"(cd cscope && for n in 1 2 3 4 5; do cscope -d -c -L -0 fun_${n}_7 > /dev/null; done) & (cat wc/w* | wc > /dev/null) & wait"#,
        ),
    ]
}

fn dear_arms() -> Vec<Arm> {
    let mut arms = arms::common();
    for policy in ["lru", "lru-seq", "dear", "default"] {
        arms.push(Arm::Untrained(own_cache(policy)));
    }
    for period in [100, 250, 1000] {
        arms.push(Arm::Untrained(own_cache(&format!("dear:rank/{period}/5"))));
    }
    arms
}

fn own_cache(policy: &str) -> String {
    format!("cache=own,cache_size=6M,block_size=8K,predictor=none,inode_window=0,policy={policy}")
}

fn nothing(_: &Path, _: &Making<'_>) -> anyhow::Result<()> {
    Ok(())
}

/// A copy of /usr/share/doc, or of its first directories.
fn documents(tree: &Path, making: &Making<'_>) -> anyhow::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir("/usr/share/doc")?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    let most = ((entries.len() as f64 * making.scale).ceil() as usize).max(1);
    for entry in entries.iter().take(most) {
        tool("cp", &["-a", utf8(entry)?, utf8(tree)?])?;
    }
    Ok(())
}

/// Small files in directories of a hundred.
fn small_files(tree: &Path, making: &Making<'_>) -> anyhow::Result<()> {
    let mut draws = SplitMix(1);
    for number in 0..((4000.0 * making.scale) as usize).max(100) {
        let directory = tree.join(format!("d{:03}", number / 100));
        fs::create_dir_all(&directory)?;
        fs::write(
            directory.join(format!("f{number:05}")),
            vec![b'x'; 512 + (draws.next() % 15_000) as usize],
        )?;
    }
    Ok(())
}

fn big_file(tree: &Path, making: &Making<'_>) -> anyhow::Result<()> {
    let mut text = vec![0; ((64.0 * making.scale) as usize).max(4) << 20];
    let mut draws = SplitMix(2);
    text.chunks_mut(8).for_each(|word| word.copy_from_slice(&draws.next().to_le_bytes()));
    Ok(fs::write(tree.join("big"), text)?)
}

/// A working set of 8 MiB, and a scan of eight times that.
fn set_and_scan(tree: &Path, making: &Making<'_>) -> anyhow::Result<()> {
    for (name, files) in [("set", 64), ("scan", ((512.0 * making.scale) as usize).max(300))] {
        fs::create_dir(tree.join(name))?;
        for number in 0..files {
            fs::write(tree.join(name).join(format!("f{number:04}")), vec![number as u8; 128 << 10])?;
        }
    }
    Ok(())
}

/// 17 C files of 11,215 lines and 431 KB together.
fn andrew(tree: &Path, _: &Making<'_>) -> anyhow::Result<()> {
    let source = tree.join("src");
    fs::create_dir(&source)?;
    let (units, lines) = (17, 11_215 / 17);
    for unit in 0..units {
        let mut text = String::from("#include <stdio.h>\n");
        for line in 0..lines {
            text += &format!("int u{unit:02}_{line:03}(int x) {{ return x + {line}; }}\n");
        }
        fs::write(source.join(format!("u{unit:02}.c")), text)?;
    }
    let makefile =
        "all: $(patsubst %.c,%.o,$(wildcard *.c))\n\tar rc lib.a $^\n%.o: %.c\n\t$(CC) -c -o $@ $<\n";
    Ok(fs::write(source.join("Makefile"), makefile)?)
}

fn shell(directory: &Path, script: &str, making: &Making<'_>) -> anyhow::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(directory).env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = run(&mut command, LIMIT, making.interruption)?;
    if ended.status.success() { Ok(()) } else { bail!("{}: {script}", ended.status) }
}

fn dear_files(tree: &Path, making: &Making<'_>) -> anyhow::Result<()> {
    for name in ["cscope", "sort", "wc"] {
        let job = dear::find(name).context("a job of the bench dear")?;
        let at = tree.join(name);
        fs::create_dir(&at)?;
        shell(&at, job.material, making)?;
    }
    Ok(())
}

#[path = "../dear/jobs.rs"]
mod dear;

/// OpenSSH as Debian has it, its patches beside it, configured; fetched once.
fn openssh(tree: &Path, making: &Making<'_>) -> anyhow::Result<()> {
    let kept = making.work.join("sources");
    fs::create_dir_all(&kept)?;
    let there = fs::read_dir(&kept)?
        .any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".dsc")));
    if !there {
        shell(&kept, "apt-get source -qq --download-only openssh", making)
            .context("the source of openssh (deb-src, apt-get source)")?;
    }
    let script = format!(
        "tar xzf {0}/openssh_*.orig.tar.gz --strip-components=1; tar xJf {0}/openssh_*.debian.tar.xz; \
         grep -v '^#' debian/patches/series | grep . > series; \
         ./configure --without-openssl --without-zlib > /dev/null",
        utf8(&kept)?
    );
    shell(tree, &script, making)
}

/// The objects of OpenSSH.
fn objects(tree: &Path, making: &Making<'_>) -> anyhow::Result<()> {
    openssh(tree, making)?;
    let script = "make -s -j2 > /dev/null; mkdir objects; n=0; \
                  for f in $(find . -name '*.o' -not -path './objects/*' | sort); do n=$((n+1)); cp $f objects/$(printf %03d $n)-$(basename $f); done; \
                  find . -mindepth 1 -maxdepth 1 -not -name objects -exec rm -rf {} +; test $(ls objects | wc -l) -ge 180";
    shell(tree, script, making)
}
