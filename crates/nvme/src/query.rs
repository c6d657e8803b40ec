//! Names with don't-care bits, and queries over them, as they cross the link (ANVIL 4.4).
//!
//! Bit i of a name is bit i mod 8, least significant first, of byte i / 8. A *pattern* is a name and a mask of as many
//! bytes: a bit of the mask that is 0 says that this bit of the name is a don't care (X). A *query* finds the entries that match all terms of
//! any of its groups. It is little-endian: the number of groups and of parts, 16 bits each; of each group the number of its
//! terms, 16 bits; of each term the search region and the length of its pattern in bits, 16 bits each, then name and mask;
//! after the groups, of each part of the values that is wanted, the first byte and the number of bytes, 32 bits each. No parts: the values as a whole.

use smallvec::{SmallVec, smallvec};
use thiserror::Error;

use crate::identifier::RegionId;
use crate::status::Status;

/// The most bits of a name.
pub const MAX_NAME_BITS: u32 = 8192;
/// The most terms of a query, in all groups.
pub const MAX_TERMS: usize = 1024;
/// The most parts of values that a query asks for.
pub const MAX_PARTS: usize = 256;
/// The most bytes of an encoded query.
pub const MAX_QUERY_BYTES: usize = 1 << 18;

/// Bytes of names that take no memory of their own.
const SHORT_BYTES: usize = 16;
/// The terms of a group; most queries have one.
pub type Terms = SmallVec<[Term; 1]>;

/// A name of so many bits, some of which may be don't cares.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Pattern {
    bits: u16,
    /// Zero where the mask is.
    name: SmallVec<[u8; SHORT_BYTES]>,
    mask: SmallVec<[u8; SHORT_BYTES]>,
}

/// One condition: the name in a search region matches a pattern. Bits of names past the pattern's are don't cares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The search region.
    pub region: RegionId,
    /// What its names are compared with.
    pub pattern: Pattern,
}

/// A part of every value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its first byte.
    pub first: u32,
    /// Its bytes, at least 1.
    pub bytes: u32,
}

/// What is looked for, and what of it is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    groups: SmallVec<[Terms; 1]>,
    parts: Vec<Part>,
}

/// Why bytes are no query, or a query cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No group, or a group without terms.
    #[error("a query has at least one group, and each group at least one term")]
    Empty,
    /// A pattern of no bits, or too many.
    #[error("a pattern has 1 to {MAX_NAME_BITS} bits, not {0}")]
    Bits(u32),
    /// Name and mask are not as many bytes as the bits take.
    #[error("a pattern of {bits} bits has {} bytes of name and of mask, not {bytes}", .bits.div_ceil(8))]
    Bytes {
        /// The bits.
        bits: u32,
        /// Bytes of the name or the mask.
        bytes: usize,
    },
    /// More than [`MAX_TERMS`].
    #[error("more than {MAX_TERMS} terms")]
    TooManyTerms,
    /// More than [`MAX_PARTS`].
    #[error("more than {MAX_PARTS} parts of values")]
    TooManyParts,
    /// A part of no bytes.
    #[error("part {0} of the values has no bytes")]
    EmptyPart(usize),
    /// More than [`MAX_QUERY_BYTES`] when encoded.
    #[error("a query of {0} bytes: at most {MAX_QUERY_BYTES} can be sent")]
    TooLong(usize),
    /// The bytes end within the query.
    #[error("the query is truncated at byte {0}")]
    Truncated(usize),
    /// Bytes follow the query.
    #[error("{0} bytes follow the query")]
    Trailing(usize),
}

impl From<QueryError> for Status {
    fn from(_: QueryError) -> Status {
        Status::INVALID_QUERY
    }
}

impl Pattern {
    /// The first `bits` of a name, of which those count whose bit in `mask` is 1.
    ///
    /// # Errors
    /// Bits or bytes that cannot be.
    pub fn new(bits: u32, name: &[u8], mask: &[u8]) -> Result<Pattern, QueryError> {
        if !(1..=MAX_NAME_BITS).contains(&bits) {
            return Err(QueryError::Bits(bits));
        }
        for bytes in [name.len(), mask.len()] {
            if bytes != bits.div_ceil(8) as usize {
                return Err(QueryError::Bytes { bits, bytes });
            }
        }
        let mut mask = SmallVec::from_slice(mask);
        if let Some(last) = mask.last_mut()
            && !bits.is_multiple_of(8)
        {
            *last &= (1 << (bits % 8)) - 1;
        }
        let name = name.iter().zip(&mask).map(|(name, mask)| name & mask);
        Ok(Pattern {
            bits: bits as u16,
            name: name.collect(),
            mask,
        })
    }

    /// A name all bits of which count.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn exact(bits: u32, name: &[u8]) -> Result<Pattern, QueryError> {
        let mask: SmallVec<[u8; SHORT_BYTES]> = smallvec![u8::MAX; name.len()];
        Pattern::new(bits, name, &mask)
    }

    /// How many bits.
    pub fn bits(&self) -> u32 {
        self.bits.into()
    }

    /// The name; zero where it does not count.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Which bits count.
    pub fn mask(&self) -> &[u8] {
        &self.mask
    }

    /// Whether all its bits count.
    pub fn is_exact(&self) -> bool {
        let ones: u32 = self.mask.iter().map(|mask| mask.count_ones()).sum();
        ones == self.bits()
    }

    /// The bits that count, ascending, and what they are.
    pub fn cares(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        let bit = |bytes: &[u8], at: u32| bytes[at as usize / 8] >> (at % 8) & 1 != 0;
        let counting = (0..self.bits()).filter(move |&at| bit(&self.mask, at));
        counting.map(move |at| (at, bit(&self.name, at)))
    }

    /// Whether a stored name, which may have don't cares too, matches. Of a shorter one the bits that it has are compared.
    pub fn matches(&self, stored: &Pattern) -> bool {
        let ours = self.name.iter().zip(&self.mask);
        let theirs = stored.name.iter().zip(&stored.mask);
        ours.zip(theirs)
            .all(|((name, mask), (other, cares))| (name ^ other) & mask & cares == 0)
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.bits.to_le_bytes());
        into.extend(&*self.name);
        into.extend(&*self.mask);
    }
}

impl Query {
    /// What matches all terms of any group; of the values the parts, or all without.
    ///
    /// # Errors
    /// No terms, or more of anything than can be sent.
    pub fn new<G>(
        groups: impl IntoIterator<Item = G>,
        parts: Vec<Part>,
    ) -> Result<Query, QueryError>
    where
        G: IntoIterator<Item = Term>,
    {
        let groups = groups.into_iter().map(Terms::from_iter);
        let groups: SmallVec<[Terms; 1]> = groups.collect();
        if groups.is_empty() || groups.iter().any(|terms| terms.is_empty()) {
            return Err(QueryError::Empty);
        }
        if groups.iter().map(|terms| terms.len()).sum::<usize>() > MAX_TERMS {
            return Err(QueryError::TooManyTerms);
        }
        if parts.len() > MAX_PARTS {
            return Err(QueryError::TooManyParts);
        }
        if let Some(empty) = parts.iter().position(|part| part.bytes == 0) {
            return Err(QueryError::EmptyPart(empty));
        }
        Ok(Query { groups, parts })
    }

    /// What matches one pattern.
    pub fn of(region: RegionId, pattern: Pattern) -> Query {
        Query {
            groups: smallvec![smallvec![Term { region, pattern }]],
            parts: Vec::new(),
        }
    }

    /// The groups: an entry is found that matches all terms of one.
    pub fn groups(&self) -> &[Terms] {
        &self.groups
    }

    /// The parts of values that are wanted; none for all of them.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All terms.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.groups.iter().flatten()
    }

    /// Its bytes.
    ///
    /// # Errors
    /// More than [`MAX_QUERY_BYTES`].
    pub fn encode(&self) -> Result<Vec<u8>, QueryError> {
        let mut bytes = Vec::new();
        bytes.extend((self.groups.len() as u16).to_le_bytes());
        bytes.extend((self.parts.len() as u16).to_le_bytes());
        for group in &self.groups {
            bytes.extend((group.len() as u16).to_le_bytes());
            for term in group {
                bytes.extend(term.region.get().to_le_bytes());
                term.pattern.encode(&mut bytes);
            }
        }
        for part in &self.parts {
            bytes.extend(part.first.to_le_bytes());
            bytes.extend(part.bytes.to_le_bytes());
        }
        match bytes.len() {
            0..=MAX_QUERY_BYTES => Ok(bytes),
            bytes => Err(QueryError::TooLong(bytes)),
        }
    }

    /// The query that these bytes are.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn decode(bytes: &[u8]) -> Result<Query, QueryError> {
        if bytes.len() > MAX_QUERY_BYTES {
            return Err(QueryError::TooLong(bytes.len()));
        }
        let mut reader = Reader { bytes, at: 0 };
        let (groups, parts) = (reader.half()?, reader.half()?);
        let mut left = MAX_TERMS;
        let mut decoded = Vec::new();
        for _ in 0..groups {
            let terms = usize::from(reader.half()?);
            left = left.checked_sub(terms).ok_or(QueryError::TooManyTerms)?;
            let terms = (0..terms).map(|_| reader.term());
            decoded.push(terms.collect::<Result<Vec<_>, _>>()?);
        }
        let parts = (0..parts).map(|_| reader.part());
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        match bytes.len() - reader.at {
            0 => Query::new(decoded, parts),
            trailing => Err(QueryError::Trailing(trailing)),
        }
    }
}

/// Takes a query's bytes one field after another.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], QueryError> {
        let taken = self.bytes.get(self.at..self.at + bytes);
        let taken = taken.ok_or(QueryError::Truncated(self.bytes.len()))?;
        self.at += bytes;
        Ok(taken)
    }

    fn half(&mut self) -> Result<u16, QueryError> {
        let [low, high] = [self.take(1)?[0], self.take(1)?[0]];
        Ok(u16::from_le_bytes([low, high]))
    }

    fn word(&mut self) -> Result<u32, QueryError> {
        let [low, high] = [self.half()?, self.half()?];
        Ok(u32::from(low) | u32::from(high) << 16)
    }

    fn term(&mut self) -> Result<Term, QueryError> {
        let region = RegionId::new(self.half()?);
        let bits = u32::from(self.half()?);
        let bytes = bits.div_ceil(8) as usize;
        let (name, mask) = (self.take(bytes)?, self.take(bytes)?);
        let pattern = Pattern::new(bits, name, mask)?;
        Ok(Term { region, pattern })
    }

    fn part(&mut self) -> Result<Part, QueryError> {
        Ok(Part {
            first: self.word()?,
            bytes: self.word()?,
        })
    }
}
