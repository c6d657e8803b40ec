//! Queries, carried out.

use super::carrier::{Carrier, Common};
use crate::Error;
use crate::bits::Request as Asking;
use crate::host_end::Host;
use crate::workload::queries::Question;
use crate::workload::request::Request;

/// The namespace that vectors are in.
const NAMESPACE: u32 = 1;

/// A question, and the host that asks it.
pub(super) struct Asked {
    host: Host,
    question: Question,
}

impl Asked {
    pub(super) async fn open(host: &Host, question: Question) -> Result<Asked, Error> {
        let host = host.through(question.queries.queue).await?;
        Ok(Asked { host, question })
    }

    pub(super) fn question(&self) -> &Question {
        &self.question
    }
}

impl Carrier for Asked {
    async fn carry_out(&self, common: &Common, request: &Request) -> Result<(), Error> {
        let asked = Asking {
            expression: self.question.expression.clone(),
            platform: self.question.queries.platform,
            answer: self.question.queries.answer,
            check: false,
        };
        let outcome = self.host.ask(&asked).await.map(drop);
        let bytes = self.question.operand_bytes();
        common.note(request, (NAMESPACE, bytes), outcome)
    }
}
