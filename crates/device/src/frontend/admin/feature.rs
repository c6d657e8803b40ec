//! Features: what the host can set, for now or for good (NVMe Base 2.1, 5.1.11 and 5.1.25).

use std::cell::Cell;
use std::rc::Rc;

use nvme::command::{FeatureId, FeatureSelect, GetFeatures, SetFeatures};
use nvme::{AsyncEvent, BROADCAST_NAMESPACE, Status};

use crate::frontend::answer::Answer;
use crate::frontend::answer::status_of;
use crate::frontend::transport::Shares;
use crate::frontend::{Controller, FrontendConfig, note};

/// A feature whose value is one dword.
struct Feature {
    id: FeatureId,
    /// Which of the values it has: THSEL of the temperature threshold, else 0.
    selector: u32,
    default: u32,
    saved: Cell<Option<u32>>,
    current: Cell<u32>,
    saveable: bool,
    changeable: bool,
}

/// All features.
pub(in crate::frontend) struct Features(Vec<Feature>);

/// Bits of the asynchronous event configuration: all health warnings, and changed namespaces.
const EVENTS_SUPPORTED: u32 = 0x1F | NAMESPACE_NOTICES;
const NAMESPACE_NOTICES: u32 = 1 << 8;

/// WCE, the bit of the volatile write cache that enables it.
const CACHE_ENABLED: u32 = 1;

/// Values of THSEL.
const OVER_TEMPERATURE: u32 = 0;
const UNDER_TEMPERATURE: u32 = 1;

impl Features {
    /// Every feature with its default; that of the volatile write cache if there `has_volatile_cache`, and that of command sets if
    /// there are several.
    pub(in crate::frontend) fn new(
        config: &FrontendConfig,
        has_volatile_cache: bool,
        has_command_sets: bool,
    ) -> Features {
        let feature = |id, selector, default, saveable, changeable| Feature {
            id,
            selector,
            default,
            saved: Cell::new(None),
            current: Cell::new(default),
            saveable,
            changeable,
        };
        let queues = u32::from(config.io_queues) - 1;
        let [high, medium, low] = config.arbitration_weights;
        let arbitration = u32::from(config.arbitration_burst)
            | (low - 1) << 8
            | (medium - 1) << 16
            | (high - 1) << 24;
        let warning = u32::from(config.health.warning_temperature_kelvin);
        let cache = || {
            feature(
                FeatureId::VOLATILE_WRITE_CACHE,
                0,
                CACHE_ENABLED,
                true,
                true,
            )
        };
        let mut features = vec![
            feature(FeatureId::ARBITRATION, 0, arbitration, true, true),
            feature(FeatureId::POWER_MANAGEMENT, 0, 0, true, true),
            feature(
                FeatureId::TEMPERATURE_THRESHOLD,
                OVER_TEMPERATURE,
                warning,
                true,
                true,
            ),
            feature(
                FeatureId::TEMPERATURE_THRESHOLD,
                UNDER_TEMPERATURE,
                0,
                true,
                true,
            ),
            feature(FeatureId::ERROR_RECOVERY, 0, 0, true, true),
            feature(
                FeatureId::NUMBER_OF_QUEUES,
                0,
                queues << 16 | queues,
                false,
                true,
            ),
            feature(FeatureId::WRITE_ATOMICITY, 0, 0, true, true),
            feature(
                FeatureId::ASYNC_EVENT_CONFIGURATION,
                0,
                EVENTS_SUPPORTED,
                true,
                true,
            ),
        ];
        features.extend(has_volatile_cache.then(cache));
        let command_sets = || feature(FeatureId::COMMAND_SET_PROFILE, 0, 0, false, true);
        features.extend(has_command_sets.then(command_sets));
        Features(features)
    }

    fn find(&self, id: FeatureId, cdw11: u32) -> Result<&Feature, Status> {
        let selector = match id {
            FeatureId::TEMPERATURE_THRESHOLD => threshold_selector(cdw11)?,
            _ => 0,
        };
        let mut features = self.0.iter();
        features
            .find(|feature| feature.id == id && feature.selector == selector)
            .ok_or(Status::INVALID_FIELD)
    }

    fn current(&self, id: FeatureId, selector: u32) -> u32 {
        let mut features = self.0.iter();
        let found = features.find(|feature| feature.id == id && feature.selector == selector);
        found.map_or(0, |feature| feature.current.get())
    }

    /// Whether the host wants to be told of `event`.
    pub(in crate::frontend) fn wants(&self, event: AsyncEvent) -> bool {
        let wanted = self.current(FeatureId::ASYNC_EVENT_CONFIGURATION, 0);
        match event {
            AsyncEvent::SPARE => wanted & 1 != 0,
            AsyncEvent::TEMPERATURE => wanted & 2 != 0,
            AsyncEvent::RELIABILITY => wanted & 4 != 0,
            AsyncEvent::NAMESPACE_CHANGED => wanted & NAMESPACE_NOTICES != 0,
            _ => true,
        }
    }

    /// Whether a composite temperature is beyond a threshold.
    pub(in crate::frontend) fn is_beyond_threshold(&self, kelvin: u16) -> bool {
        let threshold =
            |selector| self.current(FeatureId::TEMPERATURE_THRESHOLD, selector) & 0xFFFF;
        let kelvin = u32::from(kelvin);
        kelvin >= threshold(OVER_TEMPERATURE) || kelvin <= threshold(UNDER_TEMPERATURE)
    }

    /// Whether writes may complete in a volatile cache.
    fn enables_cache(&self) -> bool {
        self.current(FeatureId::VOLATILE_WRITE_CACHE, 0) & CACHE_ENABLED != 0
    }

    /// Burst and weights (Base 5.1.25.1.1): AB in bits 2:0, where 7 is no limit; the weights of
    /// low, medium and high in the other bytes, each less one.
    pub(in crate::frontend) fn shares(&self) -> Shares {
        let value = self.current(FeatureId::ARBITRATION, 0);
        let weight = |byte: u32| (value >> (8 * byte) & 0xFF) + 1;
        Shares {
            burst: match value & 7 {
                7 => u32::MAX,
                exponent => 1 << exponent,
            },
            weights: [weight(3), weight(2), weight(1)],
        }
    }
}

/// THSEL, for the composite temperature, which is the only one.
fn threshold_selector(cdw11: u32) -> Result<u32, Status> {
    let (sensor, selector) = (cdw11 >> 16 & 0xF, cdw11 >> 20 & 3);
    if (sensor == 0 || sensor == 0xF) && selector <= UNDER_TEMPERATURE {
        Ok(selector)
    } else {
        Err(Status::INVALID_FIELD)
    }
}

impl Controller {
    pub(in crate::frontend) fn get_feature(&self, get: &GetFeatures) -> Result<Answer, Status> {
        let feature = self.features.find(get.feature, get.cdw11)?;
        let value = match get.select {
            FeatureSelect::Current => feature.current.get(),
            FeatureSelect::Default => feature.default,
            FeatureSelect::Saved => feature.saved.get().unwrap_or(feature.default),
            // Bit 0: it can be saved. Bit 2: it can be changed.
            FeatureSelect::SupportedCapabilities => {
                u32::from(feature.saveable) | u32::from(feature.changeable) << 2
            }
        };
        Ok(Answer {
            dw0: value,
            ..Answer::DONE
        })
    }

    pub(in crate::frontend) async fn set_feature(
        self: &Rc<Controller>,
        set: &SetFeatures,
    ) -> Result<Answer, Status> {
        let feature = self.features.find(set.feature, set.cdw11)?;
        if set.namespace.get() != 0 && set.namespace != BROADCAST_NAMESPACE {
            return Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC);
        }
        if set.save && !feature.saveable {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        if !feature.changeable {
            return Err(Status::FEATURE_NOT_CHANGEABLE);
        }
        let value = self.check_feature(feature, set.cdw11)?;
        if set.save {
            let key = note::feature(feature.id, feature.selector);
            self.keep(key, value.into()).await?;
            feature.saved.set(Some(value));
        }
        feature.current.set(value);
        match set.feature {
            FeatureId::ARBITRATION => self.share_anew(),
            FeatureId::TEMPERATURE_THRESHOLD => self.check_health(),
            FeatureId::VOLATILE_WRITE_CACHE => self.cache_anew().await?,
            _ => {}
        }
        // Number of Queues answers with what was allocated; the others with nothing.
        Ok(Answer {
            dw0: match set.feature {
                FeatureId::NUMBER_OF_QUEUES => value,
                _ => 0,
            },
            ..Answer::DONE
        })
    }

    /// The value that a feature takes if it is set to `value`.
    fn check_feature(&self, feature: &Feature, value: u32) -> Result<u32, Status> {
        let legal = match feature.id {
            // The only power state is 0.
            FeatureId::POWER_MANAGEMENT => value & 0x1F == 0,
            // There is one combination of command sets.
            FeatureId::COMMAND_SET_PROFILE if value & 0x1FF != 0 => {
                return Err(Status::COMMAND_SET_COMBINATION_REJECTED);
            }
            FeatureId::COMMAND_SET_PROFILE => return Ok(0),
            // DULBE, an error for deallocated blocks, is not supported.
            FeatureId::ERROR_RECOVERY => value >> 16 & 1 == 0,
            FeatureId::NUMBER_OF_QUEUES => {
                if self.queues.borrow().any_io() {
                    return Err(Status::COMMAND_SEQUENCE_ERROR);
                }
                if value & 0xFFFF == 0xFFFF || value >> 16 == 0xFFFF {
                    return Err(Status::INVALID_FIELD);
                }
                return Ok(feature.default);
            }
            FeatureId::TEMPERATURE_THRESHOLD => return Ok(value & 0xFFFF),
            FeatureId::VOLATILE_WRITE_CACHE => return Ok(value & CACHE_ENABLED),
            FeatureId::ASYNC_EVENT_CONFIGURATION => return Ok(value & EVENTS_SUPPORTED),
            _ => true,
        };
        legal.then_some(value).ok_or(Status::INVALID_FIELD)
    }

    /// Arbitration goes by the feature's value from now on.
    fn share_anew(&self) {
        let shares = self.features.shares();
        self.queues.borrow_mut().arbiter_mut().set_shares(shares);
    }

    /// The volatile cache takes writes or does not, as its feature says; what it holds then goes to
    /// flash first.
    async fn cache_anew(&self) -> Result<(), Status> {
        let enabled = self.features.enables_cache();
        self.cache.enable_write_caching(enabled);
        if enabled {
            return Ok(());
        }
        let flushed = self.cache.flush().await;
        flushed.map_err(|error| status_of(error, false))
    }

    /// Takes the values that were saved in an earlier life.
    pub(in crate::frontend) fn restore_features(&self) {
        for feature in &self.features.0 {
            let key = note::feature(feature.id, feature.selector);
            if let Some(value) = self.kept(key) {
                feature.saved.set(Some(value as u32));
                feature.current.set(value as u32);
            }
        }
        self.share_anew();
        if self.cache.is_volatile() {
            self.cache
                .enable_write_caching(self.features.enables_cache());
        }
    }
}
