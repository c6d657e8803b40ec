//! Commands of name-value lookup.

use nvme::command::{
    Append, Delete, Lookup, LookupContinue, RegionAllocate, RegionDeallocate, RegionReport,
    Returned, SimpleLookup, Update,
};
use nvme::{Lba, RegionId, SearchCommand};
use proptest::prelude::*;

use super::{data, namespace};

pub(super) fn search_command() -> impl Strategy<Value = SearchCommand> {
    prop_oneof![region_command(), entry_command(), lookup_command()]
}

fn returned() -> impl Strategy<Value = Returned> {
    any::<(bool, bool, bool)>().prop_map(|(pages, numbers, count_only)| Returned {
        pages,
        numbers,
        count_only,
    })
}

fn region() -> impl Strategy<Value = RegionId> {
    any::<u16>().prop_map(RegionId::new)
}

fn region_command() -> impl Strategy<Value = SearchCommand> {
    let sizes = (1u32.., 1u32..=8192, 1u32..=1 << 24, any::<u32>());
    let allocate = (
        namespace(),
        any::<u64>(),
        sizes,
        any::<(bool, bool)>(),
        data(),
    )
        .prop_map(|(namespace, start, sizes, (ternary, linked), data)| {
            let (entries, name_bits, value_bytes, records) = sizes;
            SearchCommand::Allocate(RegionAllocate {
                namespace,
                start: Lba::new(start),
                entries,
                name_bits,
                ternary,
                linked,
                value_bytes,
                records,
                data,
            })
        });
    let deallocate = (namespace(), region()).prop_map(|(namespace, region)| {
        SearchCommand::Deallocate(RegionDeallocate { namespace, region })
    });
    let report = (namespace(), 1u32.., data()).prop_map(|(namespace, records, data)| {
        SearchCommand::Report(RegionReport {
            namespace,
            records,
            data,
        })
    });
    prop_oneof![allocate, deallocate, report]
}

fn append() -> impl Strategy<Value = Append> {
    (namespace(), region(), 1u32.., data()).prop_map(|(namespace, region, records, data)| Append {
        namespace,
        region,
        records,
        data,
    })
}

fn entry_command() -> impl Strategy<Value = SearchCommand> {
    let update = (append(), any::<u64>(), 0u32..=1 << 18).prop_map(
        |(append, query_address, query_bytes)| {
            SearchCommand::Update(Update {
                append,
                query_address,
                query_bytes,
            })
        },
    );
    let delete = (namespace(), region(), 1u32..=1 << 18, data()).prop_map(
        |(namespace, region, query_bytes, data)| {
            SearchCommand::Delete(Delete {
                namespace,
                region,
                query_bytes,
                data,
            })
        },
    );
    prop_oneof![append().prop_map(SearchCommand::Append), update, delete]
}

fn lookup_command() -> impl Strategy<Value = SearchCommand> {
    let simple = (
        (namespace(), region(), returned(), any::<u32>()),
        any::<([u8; 16], u128)>(),
        data(),
    )
        .prop_map(
            |((namespace, region, returned, buffer_bytes), (name, mask), data)| {
                SearchCommand::SimpleLookup(SimpleLookup {
                    namespace,
                    region,
                    returned,
                    buffer_bytes,
                    name,
                    mask: (mask >> 1).to_le_bytes(),
                    data,
                })
            },
        );
    let lookup = (
        (namespace(), region(), returned(), any::<u32>()),
        (any::<u64>(), 1u32..=1 << 18),
        data(),
    )
        .prop_map(
            |((namespace, region, returned, buffer_bytes), query, data)| {
                SearchCommand::Lookup(Lookup {
                    namespace,
                    region,
                    returned,
                    query_address: query.0,
                    query_bytes: query.1,
                    buffer_bytes,
                    data,
                })
            },
        );
    let further = (namespace(), region(), any::<(u32, u32)>(), data()).prop_map(
        |(namespace, region, (cursor, buffer_bytes), data)| {
            SearchCommand::LookupContinue(LookupContinue {
                namespace,
                region,
                cursor,
                buffer_bytes,
                data,
            })
        },
    );
    prop_oneof![simple, lookup, further]
}
