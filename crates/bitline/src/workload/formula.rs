//! Expressions over names of vectors: what a workload asks, before its names are looked up on a drive.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use nvme::{Expression, VectorId};
use serde::{Deserialize, Serialize};

/// Vectors that an error lists.
const VECTORS_TOLD: usize = 8;

/// A bitwise expression over vectors by their names.
///
/// ```
/// use bitline::workload::Formula;
///
/// let months = Formula::All("months".into());
/// let cheap = Formula::vector("prices", "cheap");
/// let formula = Formula::And(vec![months, Formula::Not(cheap.into())]);
/// assert_eq!(formula.to_string(), "and(months) & ~prices:cheap");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Formula {
    /// A vector: the name of its group, and its own.
    Vector(String, String),
    /// 1 where all vectors of a group are.
    All(String),
    /// 1 where any vector of a group is.
    Any(String),
    /// 1 where an odd number of vectors of a group are.
    Parity(String),
    /// The complement.
    Not(Box<Formula>),
    /// 1 where all operands are.
    And(Vec<Formula>),
    /// 1 where any operand is.
    Or(Vec<Formula>),
    /// 1 where an odd number of operands are.
    Xor(Vec<Formula>),
}

impl Default for Formula {
    /// No expression yet.
    fn default() -> Formula {
        Formula::And(Vec::new())
    }
}

/// The vectors of groups, by name and in the order of their numbers.
pub(super) type Groups = BTreeMap<String, Vec<(String, VectorId)>>;

impl Formula {
    /// The vector of a name, in a group.
    pub fn vector(group: impl Into<String>, name: impl Into<String>) -> Formula {
        Formula::Vector(group.into(), name.into())
    }

    /// The groups that it names.
    pub(super) fn groups(&self) -> BTreeSet<&str> {
        let (mut found, mut pending) = (BTreeSet::new(), vec![self]);
        while let Some(formula) = pending.pop() {
            match formula {
                Formula::Vector(group, _)
                | Formula::All(group)
                | Formula::Any(group)
                | Formula::Parity(group) => {
                    found.insert(group.as_str());
                }
                Formula::Not(operand) => pending.push(operand),
                Formula::And(operands) | Formula::Or(operands) | Formula::Xor(operands) => {
                    pending.extend(operands);
                }
            }
        }
        found
    }

    /// What the drive understands. An operand that is itself a chain of its operator joins the chain.
    ///
    /// # Errors
    /// A name that no vector has; an expression beyond the bounds of a command.
    pub(super) fn resolved(&self, groups: &Groups) -> Result<Expression, String> {
        let expression = self.expression(groups)?;
        expression.encode().map_err(|error| error.to_string())?;
        Ok(expression)
    }

    fn expression(&self, groups: &Groups) -> Result<Expression, String> {
        let chain = |operands: &[Formula], join: fn(&mut Expression) -> Joined<'_>| {
            let mut found = Vec::new();
            for operand in operands {
                let mut operand = operand.expression(groups)?;
                match join(&mut operand) {
                    Some(operands) => found.append(operands),
                    None => found.push(operand),
                }
            }
            Ok::<_, String>(found)
        };
        let combined = match self {
            Formula::Vector(group, name) => return Ok(vector(groups, group, name)?.into()),
            Formula::Not(operand) => return Ok(!operand.expression(groups)?),
            Formula::All(group) => Expression::all(members(groups, group)?),
            Formula::Any(group) => Expression::any(members(groups, group)?),
            Formula::Parity(group) => Expression::parity(members(groups, group)?),
            Formula::And(operands) => Expression::all(chain(operands, |operand| match operand {
                Expression::And(operands) => Some(operands),
                _ => None,
            })?),
            Formula::Or(operands) => Expression::any(chain(operands, |operand| match operand {
                Expression::Or(operands) => Some(operands),
                _ => None,
            })?),
            Formula::Xor(operands) => {
                Expression::parity(chain(operands, |operand| match operand {
                    Expression::Xor(operands) => Some(operands),
                    _ => None,
                })?)
            }
        };
        combined.map_err(|error| error.to_string())
    }

    fn nested(&self) -> String {
        match self {
            Formula::And(_) | Formula::Or(_) | Formula::Xor(_) => format!("({self})"),
            _ => self.to_string(),
        }
    }
}

/// The operands of an expression that is a chain of the operator in question.
type Joined<'a> = Option<&'a mut Vec<Expression>>;

fn vector(groups: &Groups, group: &str, name: &str) -> Result<VectorId, String> {
    let members = of_group(groups, group)?;
    let found = members.iter().find(|(member, _)| member == name);
    found.map(|(_, id)| *id).ok_or_else(|| {
        let names = members.iter().map(|(name, _)| name.as_str());
        let told: Vec<&str> = names.take(VECTORS_TOLD).collect();
        let more = if members.len() > told.len() {
            ", ..."
        } else {
            ""
        };
        format!(
            "group {group:?} has no vector {name:?}; it has {}{more}",
            told.join(", ")
        )
    })
}

fn members<'g>(
    groups: &'g Groups,
    group: &str,
) -> Result<impl Iterator<Item = VectorId> + use<'g>, String> {
    Ok(of_group(groups, group)?.iter().map(|(_, id)| *id))
}

fn of_group<'g>(groups: &'g Groups, group: &str) -> Result<&'g [(String, VectorId)], String> {
    let members = groups.get(group).filter(|members| !members.is_empty());
    let missing = || format!("the drive has no group {group:?} with vectors");
    Ok(members.ok_or_else(missing)?)
}

impl fmt::Display for Formula {
    /// As people write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operands, sign) = match self {
            Formula::Vector(group, name) => return write!(f, "{group}:{name}"),
            Formula::All(group) => return write!(f, "and({group})"),
            Formula::Any(group) => return write!(f, "or({group})"),
            Formula::Parity(group) => return write!(f, "xor({group})"),
            Formula::Not(operand) => return write!(f, "~{}", operand.nested()),
            Formula::And(operands) => (operands, " & "),
            Formula::Or(operands) => (operands, " | "),
            Formula::Xor(operands) => (operands, " ^ "),
        };
        let words: Vec<String> = operands.iter().map(Formula::nested).collect();
        f.write_str(&words.join(sign))
    }
}
