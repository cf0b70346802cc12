//! The arms: by which way a job gets at its files, and what is in memory when it begins.

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arm {
    /// The file system itself, nothing in memory.
    Native,
    /// The same again: how far two identical arms differ.
    NativeAgain,
    /// Everything in memory.
    NativeHot,
    /// All of the tree is read into memory beforehand; the time that takes is noted.
    Vmtouch,
    /// Through bindfs, nothing in memory.
    Bindfs,
    /// Through augurfs that fetches nothing ahead.
    Off,
    /// Through augurfs that has seen nothing yet, with these options.
    Untrained(String),
    /// Through augurfs with this predictor, which has learned from earlier runs.
    Trained(String),
    /// Through augurfs, everything in memory.
    Hot,
}

impl Arm {
    /// Its name in tables.
    pub(crate) fn name(&self) -> String {
        match self {
            Arm::Native => "native".into(),
            Arm::NativeAgain => "native again".into(),
            Arm::NativeHot => "native hot".into(),
            Arm::Vmtouch => "vmtouch".into(),
            Arm::Bindfs => "bindfs".into(),
            Arm::Off => "off".into(),
            Arm::Untrained(options) if options.is_empty() => "untrained".into(),
            Arm::Untrained(options) => format!("untrained {options}"),
            Arm::Trained(predictor) => format!("trained {predictor}"),
            Arm::Hot => "hot".into(),
        }
    }

    /// Is nothing in memory when the job begins?
    pub(crate) fn is_cold(&self) -> bool {
        !matches!(self, Arm::NativeHot | Arm::Hot | Arm::Vmtouch)
    }
}

/// The arms of every table.
pub(crate) fn common() -> Vec<Arm> {
    let mut arms = vec![Arm::Native, Arm::NativeAgain, Arm::Vmtouch, Arm::Bindfs, Arm::Off];
    arms.extend([Arm::Untrained(String::new()), Arm::Trained("default".into()), Arm::Hot, Arm::NativeHot]);
    arms
}

/// Those, and the predictors of the first paper at its sizes (nodes a partition / order), at the thresholds the options have.
pub(crate) fn predictors() -> Vec<Arm> {
    let mut arms = common();
    let sizes = [(16, 12), (32, 26), (64, 51)];
    let mut names = vec!["last".to_owned(), "match".to_owned()];
    for (nodes, order) in sizes {
        names.extend([2, 3].map(|order| format!("pcm:{nodes}/{order}/0.3")));
        names.push(format!("epcm:{nodes}/{order}/0.55"));
    }
    arms.extend(names.into_iter().map(Arm::Trained));
    arms
}
