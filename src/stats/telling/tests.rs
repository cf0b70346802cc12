//! Golden texts. The JSON one is the contract with scripts: a change to it needs a line in the CHANGELOG.

use super::super::own::OwnCacheReport;
use super::super::report::{Choice, Events, Footprint, Memory, ModelFile};
use super::*;
use crate::stats::Savings;
use std::collections::BTreeMap;

fn busy() -> Report {
    let standing = Standing {
        scans: Default::default(),
        version: "0.1.0".into(),
        source: "/srv/tree".into(),
        source_kind: "one head".into(),
        mountpoint: "/mnt/tree".into(),
        pid: 42,
        uptime_s: 90,
        path: Choice { active: "resident".into(), reason: "root mounts a tree".into() },
        cache: "kernel".into(),
        own_cache: None,
        passthrough: Choice { active: false, reason: "opens never reach the daemon".into() },
        watch: Choice { active: true, reason: "the kernel reports changes".into() },
        prefetching: Choice { active: true, reason: "a predictor is at work".into() },
        predictor: Footprint { name: "match".into(), files: 600, nodes: 1200, bytes: 65536 },
        memory: Memory { rss_bytes: 9 << 20, budget_bytes: 64 << 20, processes: 7 },
        model: ModelFile {
            path: Some("/var/lib/augurfs/x.model".into()),
            saved_at: None,
            faults: Vec::new(),
        },
    };
    Report {
        standing,
        events: Events { seen: 99, lost: 1 },
        opens: Opens { total: 10, hit: 6, partial: 1, miss: 2 },
        prefetch: Prefetch {
            jobs: 9,
            files: 8,
            bytes: 8192,
            used_bytes: 6144,
            late_bytes: 1024,
            wasted_bytes: 512,
            in_flight_bytes: 256,
            files_in_time: 6,
            files_late: 1,
            files_wasted: 1,
            files_waiting: 3,
            failed: 1,
            joined: 4,
            join_timeouts: 0,
        },
        restraint: Restraint {
            turned_down: Choice { active: true, reason: "the source is fast".into() },
            savings: Savings {
                fast: false,
                saved_us: 18_000,
                runs: 1,
                helped_files: 6,
                unhelped_files: 10,
                held_back_files: 2,
                waited_us: 30_000,
            },
            dropped: Drops { vanished: 1, forbidden: 0, changed: 0, faulty: 0 },
            evicted_files: 1,
            budget_cuts: 1,
            released_bytes: 4096,
        },
        invalidations: 2,
        programs: vec![Program {
            name: "grep".into(),
            opens: 10,
            hit: 6,
            partial: 1,
            miss: 2,
            pattern: String::new(),
        }],
        flights: Vec::new(),
        requests: BTreeMap::from([
            ("lookup".into(), RequestTimes { count: 5, p50: 4.1, p99: 80.0 }),
            ("read".into(), RequestTimes { count: 20, p50: 9.0, p99: 1200.5 }),
        ]),
    }
}

#[test]
fn a_busy_mount_in_words() {
    let golden = "\
On?     yes: it learns, and fetches ahead (resident path, 64M budget); turned down at the moment: the source is fast.
Saved?  about 18.0 ms of waiting in 1 run, 3.0 ms a file: 6 files (6K) were in memory when wanted; 4 requests found theirs on the way.
Cost?   512 fetched in vain (6%); the daemon holds 9M.
Wrong?  1 of 100 accesses were lost on the way to the predictor.

/mnt/tree mirrors /srv/tree since 1.5min (augurfs 0.1.0, process 42).
Data path: resident, because root mounts a tree.
Kernel passthrough: off, because opens never reach the daemon.
Source: watched, because the kernel reports changes.
Predictor match knows 600 files (1200 entries, 64K of memory); the daemon holds 9M of memory.
The model will be saved in /var/lib/augurfs/x.model.

Of 10 opens, 6 (60%) found everything in memory, 1 part of it, 2 nothing; 1 were not looked at.
Fetched ahead: 8 files, 8K, by 9 jobs (budget 64M).

                  files     bytes
  in time             6        6K
  late                1        1K
  wasted              1       512
  waiting             3
  on the way                  256

To compare: requests waited 0.0 s for 10 files that were not fetched ahead; 2 were held back for that.
Dropped: 1 jobs whose file had gone, 0 whose user may not read it, 0 whose file was something else, 0 by errors.
Memory was short: budget cut 1 times, 1 files gone before their use, 4K let go behind walks.

The source changed below the mount: 2 things were forgotten.

  program             opens      hit  partial     miss
  grep                   10        6        1        2

  request             count      p50      p99   (microseconds)
  read                   20      9.0   1200.5
  lookup                  5      4.1     80.0
";
    assert_eq!(busy().to_string(), golden);
}

#[test]
fn a_fresh_mount_in_words() {
    let mut report = Report { standing: busy().standing, ..Report::default() };
    report.standing.model.path = None;
    report.standing.prefetching = Choice { active: false, reason: "the predictor is none".into() };
    let text = report.to_string();
    let golden = "The model is kept in memory only.

No file has been opened yet.
Nothing has been fetched ahead yet.
";
    assert!(text.ends_with(golden), "{text}");
    assert!(
        text.starts_with("On?     no: nothing is fetched ahead, because the predictor is none.\n"),
        "{text}"
    );
}

/// What is fetched into a cache of our own is blocks, and so is all that is said of it.
#[test]
fn an_own_cache_is_told_of_in_blocks() {
    let mut report = busy();
    report.prefetch = Prefetch { jobs: 9, joined: 1, ..Prefetch::default() };
    report.restraint = Default::default();
    let mut own = OwnCacheReport { block_bytes: 8192, ..Default::default() };
    (own.counts.ahead, own.counts.ahead_used, own.counts.ahead_unused) = (7, 4, 1);
    report.standing.own_cache = Some(own);
    let text = report.to_string();
    for golden in [
        "Saved?  4 blocks (32K) were in memory when wanted; 1 request found theirs on the way.\n",
        "Cost?   8K fetched in vain (14%); the daemon holds 9M.\n",
        "Fetched ahead: 7 blocks, 56K, by 9 jobs (budget 64M).\n",
        "\n                 blocks     bytes\n  in time             4       32K\n  wasted              1        8K\n  waiting             2       16K\n",
    ] {
        assert!(text.contains(golden), "{golden}\n{text}");
    }
    assert!(!text.contains(" 0 files"), "{text}");
}

#[test]
fn long_lists_are_cut() {
    let mut report = busy();
    report.programs = vec![Program::default(); MOST_ROWS + 3];
    assert!(report.to_string().contains("\n  and 3 more\n"));
}

#[test]
fn the_json_shape() {
    let golden = r#"{"version":"0.1.0","source":"/srv/tree","source_kind":"one head","mountpoint":"/mnt/tree","pid":42,"uptime_s":90,"path":{"active":"resident","reason":"root mounts a tree"},"cache":"kernel","passthrough":{"active":false,"reason":"opens never reach the daemon"},"watch":{"active":true,"reason":"the kernel reports changes"},"prefetching":{"active":true,"reason":"a predictor is at work"},"predictor":{"name":"match","files":600,"nodes":1200,"bytes":65536},"memory":{"rss_bytes":9437184,"budget_bytes":67108864,"processes":7},"model":{"path":"/var/lib/augurfs/x.model","saved_at":null,"faults":[]},"scans":{"running":0,"seen":0,"accesses":0},"events":{"seen":99,"lost":1},"opens":{"total":10,"hit":6,"partial":1,"miss":2},"prefetch":{"jobs":9,"files":8,"bytes":8192,"used_bytes":6144,"late_bytes":1024,"wasted_bytes":512,"in_flight_bytes":256,"files_in_time":6,"files_late":1,"files_wasted":1,"files_waiting":3,"failed":1,"joined":4,"join_timeouts":0},"restraint":{"turned_down":{"active":true,"reason":"the source is fast"},"savings":{"saved_us":18000,"fast":false,"runs":1,"helped_files":6,"unhelped_files":10,"held_back_files":2,"waited_us":30000},"dropped":{"vanished":1,"forbidden":0,"changed":0,"faulty":0},"evicted_files":1,"budget_cuts":1,"released_bytes":4096},"invalidations":2,"programs":[{"name":"grep","opens":10,"hit":6,"partial":1,"miss":2}],"flights":[],"requests":{"lookup":{"count":5,"p50":4.1,"p99":80.0},"read":{"count":20,"p50":9.0,"p99":1200.5}}}"#;
    assert_eq!(serde_json::to_string(&busy()).unwrap(), golden);
    assert_eq!(serde_json::from_str::<Report>(golden).unwrap(), busy());
}

#[test]
fn an_older_daemons_report_can_be_read() {
    let report: Report = serde_json::from_str(r#"{"version":"0.0.1","opens":{"total":3}}"#).unwrap();
    assert_eq!((report.standing.version.as_str(), report.opens.total, report.opens.hit), ("0.0.1", 3, 0));
}
