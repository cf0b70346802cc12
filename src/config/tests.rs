use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn fresh(root: bool) -> Config {
    let surroundings =
        Surroundings { root, state_home: None, config_home: None, home: Some("/home/u".into()) };
    Config::new("/src".into(), "/mnt".into(), &surroundings)
}

fn after(list: &str) -> Config {
    let mut config = fresh(true);
    config.apply(OsStr::new(list)).unwrap();
    config
}

fn sentence(list: &str) -> String {
    fresh(true).apply(OsStr::new(list)).unwrap_err().to_string()
}

#[test]
fn the_defaults_depend_on_who_mounts() {
    let (root, user) = (fresh(true), fresh(false));
    assert_eq!([root.dev, root.suid, root.exec, root.allow_other], [true; 4]);
    assert_eq!([user.dev, user.suid, user.exec, user.allow_other], [false, false, true, false]);
    assert!(root.model.unwrap().starts_with("/var/lib/augurfs"));
    assert!(user.model.unwrap().starts_with("/home/u/.local/state/augurfs"));
    assert_eq!((root.path, root.predictor.as_str(), root.budget), (DataPath::Auto, "default", None));
}

#[test]
fn values_arrive_with_their_units() {
    let config = after("path=plain,budget=64M,join_wait=50ms,timeout=2.5,save_interval=1h,watch=off");
    assert_eq!(config.path, DataPath::Plain);
    assert_eq!(config.budget, Some(64 << 20));
    assert_eq!(config.join_wait, Duration::from_millis(50));
    assert_eq!(config.timeout, Duration::from_millis(2500));
    assert_eq!(config.save_interval, Duration::from_secs(3600));
    assert!(!config.watch);
}

#[test]
fn flags_come_in_pairs_and_the_later_holds() {
    let config = after("ro,nodev,nosuid,noexec,noatime,sync,dirsync");
    assert!(config.read_only && config.sync && config.dirsync);
    assert_eq!([config.dev, config.suid, config.exec, config.atime], [false; 4]);
    let config = after("ro,rw,nodev,dev,nosuid,suid,noexec,exec,noatime,atime,sync,async");
    assert!(!config.read_only && !config.sync);
    assert_eq!([config.dev, config.suid, config.exec, config.atime], [true; 4]);
}

#[test]
fn a_model_may_lie_anywhere_or_nowhere() {
    assert_eq!(after("model=none").model, None);
    assert_eq!(after(r"model=/a\,b").model, Some("/a,b".into()));
    let mut config = fresh(true);
    config.apply(OsStr::from_bytes(b"model=/\xff")).unwrap();
    assert_eq!(config.model.unwrap().as_os_str().as_bytes(), b"/\xff");
}

#[test]
fn each_seed_has_its_own_map() {
    let config = after("seed=/a,seed_map=doc:,seed=/b");
    let map = Some(PathMap { from: "doc".into(), to: String::new() });
    assert_eq!(config.seeds, [Seed { path: "/a".into(), map }, Seed { path: "/b".into(), map: None }]);
    assert_eq!(
        sentence("seed_map=a:b"),
        "seed_map=a:b cannot be read: write FROM:TO, behind the seed it is for"
    );
}

#[test]
fn predictors_are_checked_in_their_outer_form() {
    for good in PREDICTORS.iter().map(|(name, _)| *name).chain(["pcm:32/2/0.3", "epcm:///paper"]) {
        assert_eq!(after(&format!("predictor={good}")).predictor, good);
    }
    for bad in ["lru", "lru:3", "match:3", "pcm:", "none:", ":32", "pcm 32"] {
        assert!(fresh(true).apply(OsStr::new(&format!("predictor={bad}"))).is_err(), "{bad}");
    }
}

#[test]
fn what_fstab_may_contain_changes_nothing() {
    let list = "defaults,auto,noauto,user,user=me,users,nouser,nousers,owner,noowner,group,nogroup,nofail,_netdev,relatime,norelatime,strictatime,nostrictatime,lazytime,nolazytime,diratime,nodiratime,iversion,noiversion,mand,nomand,silent,loud,symfollow,nonempty,auto_unmount,uhelper=x,x-systemd.automount,x-a=b,comment=hi";
    assert_eq!(after(list), fresh(true));
}

#[test]
fn each_mistake_has_its_sentence() {
    let cases = [
        ("paht=plain", "unknown option 'paht': did you mean 'path'?"),
        ("quux", "unknown option 'quux'"),
        ("budget", "option 'budget' needs a value: budget=BYTES"),
        ("model=", "option 'model' needs a value: model=PATH"),
        ("ro=1", "option 'ro' takes no value"),
        ("path=fast", "path=fast is not known: choose one of auto, resident, passthrough, plain"),
        ("cache=mine", "cache=mine is not known: choose one of kernel, own"),
        ("inode_window=6", "inode_window=6 cannot be read: write 0, auto, or a power of two up to 4096"),
        ("budget=lots", "budget=lots cannot be read: write a number of bytes, or a number with K, M or G"),
        ("budget=1", "budget=1 is out of range: from 64K to 1T"),
        ("block_size=5000", "block_size=5000 cannot be read: write a power of two, as 8K or 64K"),
        ("block_size=2M", "block_size=2M is out of range: from 4K to 1M"),
        ("join_wait=11s", "join_wait=11s is out of range: from 0s to 10s"),
        (
            "predictor=lru",
            "predictor=lru cannot be read: write a predictor's name, or name:parameters where it takes some",
        ),
        ("subtype=a.b", "subtype=a.b cannot be read: write a word of letters, digits, _ and -"),
    ];
    for (list, said) in cases {
        assert_eq!(sentence(list), said);
    }
}

#[test]
fn every_option_is_named_once_and_explained() {
    let names: HashSet<_> = OPTIONS.iter().map(|option| option.name).collect();
    assert_eq!(names.len(), OPTIONS.len());
    for option in OPTIONS {
        assert!(!option.help.is_empty() && !option.help.ends_with('.'), "{}", option.name);
    }
}

/// The defaults in the list are words for the reader; they must be the defaults in force.
#[test]
fn the_defaults_shown_are_the_defaults() {
    for option in OPTIONS.iter().filter(|option| option.value().is_some()) {
        if [
            "config",
            "seed",
            "seed_map",
            "model",
            "budget",
            "rate",
            "context",
            "fscontext",
            "defcontext",
            "rootcontext",
            "fsname",
            "record",
        ]
        .contains(&option.name)
        {
            continue;
        }
        assert_eq!(after(&format!("{}={}", option.name, option.default)), fresh(true), "{}", option.name);
    }
}

proptest! {
    #[test]
    fn any_list_is_taken_or_refused_in_one_line(list in proptest::collection::vec(any::<u8>(), 0..60)) {
        if let Err(error) = fresh(false).apply(OsStr::from_bytes(&list)) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
