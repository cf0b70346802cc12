//! Answers that come one latency after they were asked for, so many at a time.
//!
//! What must stay true: the latency is the same for all, so answers leave in the order in which they
//! came, and one thread can wait for all of them.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

type Answer = Box<dyn FnOnce() + Send>;

/// The front end: hands answers to the thread that waits. The thread ends when this is dropped,
/// after the last answer.
pub(super) struct DelayLine {
    queue: Sender<(Instant, Answer)>,
}

impl DelayLine {
    /// Starts the waiting thread; `width` answers may be under way at once.
    pub(super) fn start(latency: Duration, width: usize) -> io::Result<DelayLine> {
        let (queue, arrivals) = channel();
        thread::Builder::new()
            .name("slow-source".into())
            .spawn(move || serve(&arrivals, Lanes::new(latency, width)))?;
        Ok(DelayLine { queue })
    }

    /// Has `answer` called one latency from now, later when all lanes are taken.
    pub(super) fn run_later(&self, answer: Answer) {
        // Fails only when the thread has died in a panic; the answer, dropped, then says EIO itself.
        let _ = self.queue.send((Instant::now(), answer));
    }
}

fn serve(arrivals: &Receiver<(Instant, Answer)>, mut lanes: Lanes) {
    // The default slack of 50 us would be added to every latency.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    for (arrival, answer) in arrivals {
        let due = lanes.admit(arrival);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        answer();
    }
}

/// When each of a row of arrivals is due.
struct Lanes {
    latency: Duration,
    width: usize,
    /// The last `width` due times, oldest first: each stands for a lane that is taken until then.
    taken: VecDeque<Instant>,
}

impl Lanes {
    fn new(latency: Duration, width: usize) -> Lanes {
        Lanes { latency, width, taken: VecDeque::with_capacity(width) }
    }

    fn admit(&mut self, arrival: Instant) -> Instant {
        let full = self.taken.len() == self.width;
        let free = if full { self.taken.pop_front() } else { None };
        let due = free.map_or(arrival, |free| free.max(arrival)) + self.latency;
        self.taken.push_back(due);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn as_many_as_the_width_are_due_together_and_the_next_wait_for_them() {
        let start = Instant::now();
        let mut lanes = Lanes::new(MS, 2);
        let due: Vec<_> = (0..5).map(|_| lanes.admit(start) - start).collect();
        assert_eq!(due, [MS, MS, 2 * MS, 2 * MS, 3 * MS]);
    }

    #[test]
    fn after_a_rest_all_lanes_are_free_again() {
        let start = Instant::now();
        let mut lanes = Lanes::new(MS, 1);
        lanes.admit(start);
        assert_eq!(lanes.admit(start + 10 * MS) - start, 11 * MS);
    }
}
