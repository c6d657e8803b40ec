//! Queries, carried out.

use super::running::{Carrier, Common};
use crate::Error;
use crate::drive::Host;
use crate::workload::queries::{Answer, Question};
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
        let (host, expression) = (&self.host, &self.question.expression);
        let platform = self.question.queries.platform;
        let outcome = match self.question.queries.answer {
            Answer::Count => host.count_ones(expression, platform).await.map(drop),
            Answer::CountByHost => host.count_ones_here(expression, platform).await.map(drop),
            Answer::Read => host.evaluate(expression, platform).await.map(drop),
            Answer::Stream => host.stream(expression, platform).await,
        };
        let bytes = self.question.operand_bytes();
        common.note(request, (NAMESPACE, bytes), outcome)
    }
}
