//! Why a file was or was not warmed, in the shape `explain --json` prints it.
//!
//! Field names are a contract with scripts, as those of the report are.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

use crate::config::{show_bytes, show_count};

/// What `augurfs explain` shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Explanation {
    /// The file, below the source.
    pub file: String,
    /// Anybody has spoken of it since it was learned of.
    pub known: bool,
    /// The predictor keeps a history that can be asked about files.
    pub history: bool,
    /// How often it stands in the history.
    pub times: u64,
    /// In how many runs.
    pub runs: u64,
    /// By which programs, most often first.
    pub programs: Vec<Uses>,
    /// What was used before it the last times, the latest first.
    pub after: Vec<String>,
    /// Jobs that are expected to use it now.
    pub expected: Vec<Expected>,
    /// Size in bytes, when anybody has looked; what is larger than 2 GiB counts as that.
    pub size: Option<u64>,
    /// It was used, or found in memory, since the mount.
    pub used: bool,
    /// It failed or was removed, and nothing has been seen of it since.
    pub absent: bool,
    /// `none`, `asked`, `in flight` or `waiting` (brought in, not used yet).
    pub state: String,
    /// What became of the last job for it: `never`, `in time`, `late`, `wasted`, `failed`, `resident`, `withdrawn`.
    pub last: String,
    /// Most bytes warmed and not yet used.
    pub budget_bytes: u64,
}

/// How often a program used it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uses {
    /// Its identity.
    pub program: String,
    /// How often.
    pub times: u64,
}

/// A job that is expected to use the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Expected {
    /// The job's number.
    pub group: u32,
    /// How many accesses ahead.
    pub distance: u32,
    /// How likely, 0 to 1.
    pub likelihood: f32,
    /// Where it stands in the plan: `calm`, `in memory`, `absent`, `empty`, `too large`, `under way`, `no budget`, `ahead`.
    pub standing: String,
}

/// Jobs and programs shown; the JSON has them all.
const MOST_ROWS: usize = 5;

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.known {
            return writeln!(f, "{} is not known: nobody has used it since anything was learned.", self.file);
        }
        self.past(f)?;
        self.present(f)?;
        self.fate(f)
    }
}

fn access(distance: u32) -> String {
    if distance == 1 { "1 access".into() } else { format!("{distance} accesses") }
}

impl Explanation {
    fn past(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.history, self.times) {
            (false, _) => {
                writeln!(f, "{} is known; this predictor keeps no history to look it up in.", self.file)?
            }
            (true, 0) => writeln!(f, "{} is known by name, but the history says nothing of it.", self.file)?,
            (true, times) => {
                let (times, runs) = (show_count(times, "time"), show_count(self.runs, "run"));
                writeln!(f, "{} stands {times} in the history, in {runs}.", self.file)?
            }
        }
        for uses in self.programs.iter().take(MOST_ROWS) {
            let program = if uses.program.is_empty() { "(unknown)" } else { &uses.program };
            writeln!(f, "  {} by {program}", show_count(uses.times, "time"))?;
        }
        if !self.after.is_empty() {
            writeln!(f, "Before it, the last times, came {}.", self.after.join(", "))?;
        }
        match self.size {
            Some(size) => writeln!(f, "It has {} bytes, as of the last look.", show_bytes(size)),
            None => writeln!(f, "Nobody has looked yet how large it is."),
        }
    }

    fn present(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.expected.is_empty() {
            return writeln!(f, "No job that runs now is expected to use it, so it is not asked for.");
        }
        for job in self.expected.iter().take(MOST_ROWS) {
            writeln!(
                f,
                "Job {} is expected to use it, {} from now, with likelihood {:.2}: {}.",
                job.group,
                access(job.distance),
                job.likelihood,
                self.standing(&job.standing)
            )?;
        }
        Ok(())
    }

    fn standing(&self, word: &str) -> String {
        match word {
            "calm" => "but that job does not wait for the device, so nothing is fetched for it".into(),
            "in memory" => "it is in memory already, as far as is known".into(),
            "absent" => "but it failed or was removed, and nothing has been seen of it since".into(),
            "empty" => "but there are no bytes in it".into(),
            "too large" => format!("but it is larger than the budget of {}", show_bytes(self.budget_bytes)),
            "under way" => "it has been asked for".into(),
            "no budget" => format!(
                "but what is on its way or not used yet fills the budget of {}",
                show_bytes(self.budget_bytes)
            ),
            _ => "it will be asked for when what comes before it is done".into(),
        }
    }

    fn fate(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.state.as_str() {
            "asked" => writeln!(f, "It has been asked for and waits for a worker.")?,
            "in flight" => writeln!(f, "A worker is bringing it.")?,
            "waiting" => writeln!(f, "It has been brought in and waits for its use.")?,
            _ => {}
        }
        let last = match self.last.as_str() {
            "in time" => "it was there before it was wanted",
            "late" => "it was wanted before it had come",
            "wasted" => "nobody wanted it",
            "failed" => "it could not be brought in",
            "resident" => "it was in memory already",
            "withdrawn" => "the job was withdrawn before it began",
            _ if self.used => {
                return writeln!(
                    f,
                    "It was never fetched ahead in this mount: it was used, or found in memory, without."
                );
            }
            _ => return writeln!(f, "It was never fetched ahead in this mount, and not used either."),
        };
        writeln!(f, "The last time it was fetched ahead, {last}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_on_a_screen_and_says_why() {
        let mut explanation = Explanation {
            file: "src/main.rs".into(),
            known: true,
            history: true,
            times: 3,
            runs: 2,
            programs: vec![Uses { program: "/usr/bin/cc".into(), times: 3 }],
            after: vec!["src/lib.rs".into()],
            size: Some(2048),
            last: "late".into(),
            budget_bytes: 1 << 20,
            ..Explanation::default()
        };
        let said = explanation.to_string();
        assert!(said.starts_with("src/main.rs stands 3 times in the history, in 2 runs.\n"), "{said}");
        assert!(said.contains("3 times by /usr/bin/cc\n"), "{said}");
        assert!(said.contains("came src/lib.rs.\nIt has 2K bytes"), "{said}");
        assert!(said.contains("No job that runs now"), "{said}");
        assert!(
            said.ends_with("The last time it was fetched ahead, it was wanted before it had come.\n"),
            "{said}"
        );
        let job = Expected { group: 4, distance: 12, likelihood: 0.75, standing: "no budget".into() };
        explanation.expected = vec![job; 40];
        let said = explanation.to_string();
        assert!(said.contains("Job 4 is expected to use it, 12 accesses from now, with likelihood 0.75: but what is on its way or not used yet fills the budget of 1M.\n"), "{said}");
        assert!(said.lines().count() <= 24);
        let back: Explanation = serde_json::from_str(&serde_json::to_string(&explanation).unwrap()).unwrap();
        assert_eq!(back, explanation);
    }

    #[test]
    fn what_is_not_known_is_said_to_be() {
        let said = Explanation { file: "x".into(), ..Explanation::default() }.to_string();
        assert_eq!(said, "x is not known: nobody has used it since anything was learned.\n");
    }
}
