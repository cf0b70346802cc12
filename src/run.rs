//! One mount from start to end: checks, set-up, signals, teardown.
//!
//! What must stay true: when `mount` returns, nothing of ours is mounted any more (or it has been
//! detached and dies with its last user) and the model is saved; what cannot be had (watching,
//! control socket) costs its own benefit and a warning, not the mount.

mod allowance;
mod answers;
pub mod check;
pub mod daemon;
mod error;
mod farewell;
pub mod guardian;
mod keeping;
mod mounted;
mod notice;
mod own_cache;
mod path;
mod presence;
mod recording;
mod report;
mod seed;
mod service;
pub mod signals;
pub mod takeover;
mod tuning;
pub mod unmount;
mod watching;

pub use error::MountError;

use crate::config::Config;
use crate::predict::PredictorChoice;
use crate::replace::Policy;
use daemon::Readiness;
use service::Service;
use takeover::Heir;

/// Mount what `config` says and serve it until it is unmounted or a signal ends it.
///
/// # Errors
/// The mount did not come about, or did not end as it should. Nothing is left mounted then.
pub fn mount(
    config: Config,
    predictor: PredictorChoice,
    policy: Policy,
    ready: Readiness,
) -> Result<(), MountError> {
    allowance::raise();
    let mut config = config;
    config.model = keeping::model_for(config.model.take(), predictor);
    check::rights(&config)?;
    let service = Service::start(config, predictor, policy)?;
    // Who waits for the mount may use it as soon as we say that it is there.
    let answers = check::answers(service.mountpoint());
    if let Err(error) = answers.and_then(|()| ready.ready().map_err(MountError::Session)) {
        service.stop();
        return Err(error);
    }
    notice::tell(notice::READY);
    service.serve().map_err(MountError::Ended)
}

/// Goes on with a mount that another process has, as `heir` tells, until it is unmounted or a signal ends it.
///
/// # Errors
/// It was not taken over: the other process goes on. Or it did not end as it should.
pub fn succeed(
    config: Config,
    predictor: PredictorChoice,
    policy: Policy,
    heir: Heir,
) -> Result<(), MountError> {
    daemon::speak_as_before();
    allowance::raise();
    let will = heir.clone().will().map_err(MountError::Session);
    let service = will.and_then(|will| Service::inherit(config, predictor, policy, will));
    service.inspect_err(|error| heir.refuse(error))?.serve().map_err(MountError::Ended)
}
