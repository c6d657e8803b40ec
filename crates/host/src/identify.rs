//! Identify pages of a drive.

use nvme::command::Identify;
use nvme::identify::{Cns, IDENTIFY_BYTES, IdentifyController};
use nvme::{AdminCommand, CommandId, ControllerId, NamespaceId};
use zerocopy::FromBytes;

use crate::buffer::Buffer;
use crate::error::Error;
use crate::transport::Transport;

/// Reads an identify page.
///
/// # Errors
/// What the drive reports.
pub async fn identify(
    transport: &impl Transport,
    cns: Cns,
    namespace: NamespaceId,
) -> Result<Vec<u8>, Error> {
    identify_in(transport, cns, namespace, 0).await
}

/// Reads an identify page of a command set.
///
/// # Errors
/// What the drive reports.
pub async fn identify_in(
    transport: &impl Transport,
    cns: Cns,
    namespace: NamespaceId,
    command_set: u8,
) -> Result<Vec<u8>, Error> {
    let buffer = Buffer::new(transport.memory(), IDENTIFY_BYTES as u64)?;
    let command = AdminCommand::Identify(Identify {
        cns,
        namespace,
        controller: ControllerId::new(0),
        specific: 0,
        command_set,
        data: buffer.pointer(IDENTIFY_BYTES as u32),
    });
    let completion = transport.admin(&command.encode(CommandId::new(0))).await?;
    Error::check("identify", completion.status())?;
    buffer.to_vec()
}

/// Reads the controller's identify page.
///
/// # Errors
/// What the drive reports.
pub async fn identify_controller(transport: &impl Transport) -> Result<IdentifyController, Error> {
    let page = identify(transport, Cns::Controller, NamespaceId::new(0)).await?;
    IdentifyController::read_from_bytes(&page)
        .map_err(|_| Error::Protocol("an identify page of another size".into()))
}
