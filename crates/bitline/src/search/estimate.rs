//! What a lookup takes and spends, before it is asked for.

use device::cost::IdleDrive;
use device::search::{ExpectedMatches, LookupAhead};
use host::search::{Sent, Wanted};
use nvme::query::{Part, Query};

use super::operations::query;
use super::{NameTerm, Search};
use crate::error::Error;
use crate::host_end::{Host, NAMESPACE};
use crate::platforms::EstimateReport;

/// What a lookup gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns<'a> {
    /// How many entries match, as [`Search::count`].
    Count,
    /// Records of these, as [`Search::look_up`].
    Records {
        /// The parts of the values; all without.
        parts: &'a [Part],
        /// What besides.
        wanted: Wanted,
    },
}

impl Search<'_> {
    /// What a lookup that is expected to find so much takes and spends on this drive, as it is now, if it does nothing else.
    /// Nothing is carried out.
    ///
    /// # Errors
    /// As [`Search::look_up`].
    pub fn estimate(
        &mut self,
        name: &str,
        groups: &[Vec<NameTerm>],
        returns: Returns<'_>,
        expected: ExpectedMatches,
    ) -> Result<EstimateReport, Error> {
        let (parts, wanted) = match returns {
            Returns::Count => (Vec::new(), None),
            Returns::Records { parts, wanted } => (parts.to_vec(), Some(wanted)),
        };
        let (name, groups) = (name.to_owned(), groups.to_vec());
        let (query, sent) = self.run(|host| async move {
            let asked = (&groups[..], &parts[..]);
            host.lookup_sent(&name, asked, wanted).await
        })??;
        let ahead = LookupAhead {
            namespace: NAMESPACE,
            region: sent.region,
            query: &query,
            query_bytes: sent.query_bytes,
            returned: sent.returned,
            buffers: sent.buffers(),
            expected,
        };
        let model = self.0.config().device.cost_model();
        let demands = self
            .0
            .device_for("an estimate of a lookup")?
            .search
            .demands(ahead, &model);
        let demands = demands.map_err(|status| match host::Error::check("lookup", status) {
            Err(error) => Error::from(error),
            Ok(()) => unreachable!("a refusal is no success"),
        })?;
        let cost = IdleDrive::live_in_turn(demands, &model);
        Ok(EstimateReport::of(&cost))
    }
}

impl Host {
    /// The query of a lookup, and what it sends.
    async fn lookup_sent(
        &self,
        name: &str,
        (groups, parts): (&[Vec<NameTerm>], &[Part]),
        wanted: Option<Wanted>,
    ) -> Result<(Query, Sent), Error> {
        let (region, _using) = self.use_store(name).await?;
        let query = query(&region, groups, parts)?;
        let sent = self.search_device().sent(&region, &query, wanted)?;
        Ok((query, sent))
    }
}
