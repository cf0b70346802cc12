//! The programs of the published measurements, as they are today, with files of the published sizes.
//!
//! Files are made by awk from a fixed seed, so that they are the same everywhere.

use std::process::{Command, Stdio};

/// A program at work.
pub(crate) struct Job {
    /// What it is called in tables, and the directory it works in.
    pub(crate) name: &'static str,
    /// The program it needs.
    pub(crate) program: &'static str,
    /// Makes its files, in the source.
    pub(crate) material: &'static str,
    /// What is measured, in the mount.
    pub(crate) work: &'static str,
}

/// All of them.
pub(crate) static JOBS: &[Job] = &[
    Job {
        name: "cscope",
        program: "cscope",
        // 9 MB of C, of which cscope makes an index of about the same size.
        material: r#"awk 'BEGIN{srand(1);for(f=0;f<120;f++){n="s" f ".c";for(i=0;i<110;i++){print "int fun_" f "_" i "(int alpha, int beta)\n{" > n;for(l=0;l<18;l++)print "\talpha = beta + fun_" int(rand()*120) "_" int(rand()*110) "(alpha, " l ");" > n;print "\treturn alpha;\n}\n" > n}close(n)}}' && cscope -b -c s*.c"#,
        work: r#"for n in 1 2 3 4 5; do cscope -d -c -L -0 fun_${n}_7; done"#,
    },
    Job {
        name: "glimpse",
        program: "glimpse",
        // 45 MB of text in files of 23 KB, of which glimpseindex makes an index of a tenth, which each search reads as a
        // whole.
        material: r#"mkdir texts && awk 'BEGIN{srand(2);for(f=0;f<2000;f++){n="texts/t" f;for(l=0;l<520;l++){s="";for(w=0;w<9;w++)s=s " w" int(exp(rand()*log(90000)));print s > n}close(n)}}' && glimpseindex -H . -n texts"#,
        work: r#"for word in w39321 w8123 w12345 w51007 w31415; do glimpse -H . -y -w $word; done"#,
    },
    Job {
        name: "sort",
        program: "sort",
        material: r#"awk 'BEGIN{srand(3);for(i=0;i<470000;i++)print int(rand()*1e9)}' > numbers"#,
        // So little memory that runs have to be written and merged.
        work: r#"sort -n -S 512K -T . -o sorted numbers"#,
    },
    Job {
        name: "link",
        program: "ld",
        // 2.5 MB of objects out of the C library's archive.
        material: r#"ar x "$(gcc -print-file-name=libc.a)" && ls *.o | sort | awk 'BEGIN{t=0}{c="wc -c < " $1;c|getline s;close(c);t+=s;if(t<2500000)print $1}' > list"#,
        work: r#"ld -r -o out.o $(cat list)"#,
    },
    Job {
        name: "cpp",
        program: "gcc",
        // 10 MB of C with 1 MB of headers.
        material: r##"awk 'BEGIN{srand(4);for(h=0;h<64;h++){n="h" h ".h";for(l=0;l<400;l++)print "extern int header_" h "_value_" l ";" > n;close(n)}for(f=0;f<100;f++){n="u" f ".c";for(i=0;i<6;i++)print "#include \"h" int(exp(rand()*log(64))) ".h\"" > n;for(l=0;l<3300;l++)print "int unit_" f "_" l " = " l " * 7;" > n;close(n)}}'"##,
        work: r#"for f in u*.c; do gcc -E -o /dev/null $f; done"#,
    },
    Job {
        name: "gnuplot",
        program: "gnuplot",
        material: r#"awk 'BEGIN{srand(5);for(i=0;i<600000;i++)print i, rand()*1000}' > points"#,
        work: r#"gnuplot -e 'set term dumb; do for [v=1:4] { plot "points" using 1:($2*v) with dots }'"#,
    },
    Job {
        name: "join",
        program: "sqlite3",
        material: r#"awk 'BEGIN{srand(6);print "begin; create table a(k integer, v text); create table b(k integer primary key, v text);";for(i=0;i<20000;i++)print "insert into a values(" int(rand()*60000) ", \"some text that takes room in a row " i "\"); insert into b values(" i*3 ", \"another text that takes room in a row " i "\");";print "commit;"}' | sqlite3 tables"#,
        // Pages are asked of the file system again and again.
        work: r#"sqlite3 tables 'pragma cache_size=10; pragma mmap_size=0; select count(*), max(length(a.v)+length(b.v)) from a join b on a.k = b.k'"#,
    },
    Job {
        name: "wc",
        program: "wc",
        material: r#"awk 'BEGIN{for(f=0;f<12;f++){n="w" f;for(l=0;l<20000;l++)print "a line of some fifty characters, all the same " l > n;close(n)}}'"#,
        work: r#"cat w* | wc"#,
    },
];

/// The job of that name.
pub(crate) fn find(name: &str) -> Option<&'static Job> {
    JOBS.iter().find(|job| job.name == name)
}

impl Job {
    /// Is its program there?
    pub(crate) fn can_run(&self) -> bool {
        let mut look = Command::new("sh");
        look.args(["-c", &format!("command -v {}", self.program)])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        look.status().is_ok_and(|status| status.success())
    }
}
