//! What a driver rings: a controller in this process, or what stands in for one that is far.

use std::rc::Rc;

use device::frontend;
use nvme::{CommandSet, NamespaceId, QueueId};

use super::far::Far;

/// The controller that a driver is connected to.
#[derive(Clone)]
pub(crate) enum Controller {
    /// In this process, behind a link that is simulated.
    Here(Rc<frontend::Controller>),
    /// Elsewhere, behind a fabric.
    Far(Rc<Far>),
}

impl Controller {
    /// The tail of a submission queue has moved.
    #[inline]
    pub(super) fn ring_submission(&self, queue: QueueId, tail: u16) {
        match self {
            Controller::Here(controller) => controller.ring_submission(queue, tail),
            Controller::Far(far) => far.ring_submission(queue, tail),
        }
    }

    /// The head of a completion queue has moved.
    #[inline]
    pub(super) fn ring_completion(&self, queue: QueueId, head: u16) {
        match self {
            Controller::Here(controller) => controller.ring_completion(queue, head),
            // It takes a completion for gone as it is told of: the driver copies it at once.
            Controller::Far(_) => {}
        }
    }

    /// The command set of what is sent through a queue to a namespace.
    #[inline]
    pub(super) fn set_of(&self, queue: QueueId, namespace: NamespaceId) -> CommandSet {
        match self {
            Controller::Here(controller) => controller.set_of(queue, namespace),
            Controller::Far(far) => far.set_of(queue, namespace),
        }
    }

    /// The namespaces of other command sets than NVM.
    pub(super) fn other_sets(&self) -> Vec<(NamespaceId, CommandSet)> {
        match self {
            Controller::Here(controller) => controller.other_sets(),
            Controller::Far(far) => far.other_sets(),
        }
    }

    /// The one that is far, if it is.
    #[inline]
    pub(super) fn far(&self) -> Option<&Rc<Far>> {
        match self {
            Controller::Here(_) => None,
            Controller::Far(far) => Some(far),
        }
    }
}
