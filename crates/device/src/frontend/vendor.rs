//! Vendor commands: in-flash computing.

use nvme::{Status, VendorCommand};

use super::Controller;
use super::slot::Answer;

impl Controller {
    pub(super) async fn serve_vendor(&self, _command: &VendorCommand) -> Result<Answer, Status> {
        Err(Status::INVALID_OPCODE)
    }
}
