//! A mount that is handed over to another process, and one that is taken over.
//!
//! What must stay true: while anything can go wrong, the process that had the mount has everything that it had, and goes
//! on with it.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::bounded;

use super::made::make;
use super::{HOLD, MOMENT, Service, Started, save};
use crate::codec::Reader;
use crate::config::Config;
use crate::fuse::Session;
use crate::live::control::Response;
use crate::model::ModelLock;
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use crate::run::MountError;
use crate::run::mounted::Mounted;
use crate::run::path::ChosenPath;
use crate::run::signals::{self, Wish};
use crate::run::takeover::{Deed, Holdings, Order, Succession, Will, hand_over, leave};

impl Service {
    /// Goes on with a mount that another process has.
    ///
    /// # Errors
    /// What made that impossible; the other process has been told, and goes on.
    pub(in crate::run) fn inherit(
        config: Config,
        predictor: PredictorChoice,
        policy: Policy,
        mut will: Will,
    ) -> Result<Self, MountError> {
        let (to_wishes, wishes) = bounded(8);
        let signals = signals::watch(to_wishes).map_err(MountError::Session)?;
        let mut config = config;
        config.read_only = will.read_only;
        config.own_cache = will.own_cache;
        let wanted = std::mem::replace(&mut config.model, will.model.clone());
        if config.record.take().is_some() {
            log::warn!("the recording into a file has ended with the process that wrote it");
        }
        let chosen = ChosenPath { path: will.path, reason: will.reason.clone() };
        let (model, lock) = (will.model.clone(), will.lock.take().map(ModelLock::inherit));
        let unkept = (wanted.is_some() && model.is_none())
            .then(|| "what is learned is not kept: another process saves the model".to_owned());
        let source = Arc::new(will.source.try_clone().map_err(MountError::Session)?);
        let below = Arc::new(will.below.try_clone().map_err(MountError::Session)?);
        let made = make(&config, predictor, policy, &source, (None, unkept))?;
        let mut agreement = Reader::new(&will.agreement);
        let (mirror, counters) = (made.mirror.clone(), made.counters.clone());
        let session = Session::adopt(mirror, chosen.path, counters, &will.device, &mut agreement)
            .map_err(MountError::Session)?;
        let mounted = Mounted::lent(config.mountpoint.clone(), will.number);
        let inheritance = will.execute(&made.mirror, &session).map_err(MountError::Session)?;
        let started = Started { config, chosen, made, model, signals, wishes, lock, source, below };
        started.finish(session, mounted, Some(inheritance))
    }

    /// Hands the mount over to another process, and ends this one; goes on if that cannot be had. The mount's end is the
    /// answer if it was lost on the way.
    pub(super) fn upgrade(&mut self, order: Order) -> Option<io::Result<()>> {
        let deed = Deed {
            program: env!("CARGO_PKG_VERSION").into(),
            device: self.mounted.device().ok()?,
            path: self.chosen.path,
            reason: self.chosen.reason.clone(),
            own_cache: self.config.own_cache,
            read_only: self.config.read_only,
            model: self.model.clone(),
        };
        let holdings = Holdings {
            config: &self.config,
            tuned: self.tuning.options(),
            deed,
            handover: &self.handover,
            mirror: &self.mirror,
            source: &self.source,
            below: &self.below,
            lock: self.lock.as_ref(),
        };
        match hand_over(&holdings, &order.program, || drop(save(&self.live))) {
            Ok(succession) => Some(Err(self.leave(order, &succession))),
            Err(error) => {
                log::warn!("{} goes on as it was: {error}", self.config.mountpoint.display());
                order.tell(&Response::Error { message: format!("the mount goes on as it was: {error}") });
                None
            }
        }
    }

    /// Ends this process, which has handed the mount over. Comes back only if it cannot become what it has to.
    fn leave(&mut self, order: Order, succession: &Succession) -> io::Error {
        if let Err(error) = &succession.serves {
            let message = format!("the new process has died with the mount: {error}");
            log::error!("{message}");
            order.tell(&Response::Error { message });
            // Nobody answers any more: the guardian takes the mount away by force, sooner than we could.
            std::process::exit(1);
        }
        self.mounted.left();
        // What was changed below before the successor watched is told to the end; the kernel's caches are its as well.
        self.changes = None;
        let deadline = Instant::now() + HOLD;
        while !self.mirror.has_told() && Instant::now() < deadline {
            std::thread::sleep(MOMENT / 100);
        }
        self.guardian = None;
        self.lock.take().into_iter().for_each(ModelLock::leave);
        let stops = self.wishes.try_iter().any(|wish| wish == Wish::Stop);
        order.tell(&Response::Done { message: succession.message() });
        leave(succession, &self.config.mountpoint, stops)
    }
}
