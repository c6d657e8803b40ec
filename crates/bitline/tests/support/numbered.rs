//! For tests that make many vectors: groups and vectors are called by numbers, which are written out as their names.

#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bitline::{
    Answer, Drive, Error, Expression, Home, Host, Platform, Query, Request, Rows, Vector, VectorId,
};
use host::bits::Checked;

/// A vector that the drive holds, by numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) id: VectorId,
    pub(crate) bits: u64,
    pub(crate) inverse: bool,
    pub(crate) home: Home,
    pub(crate) vector: Vector,
}

fn of(vector: &Vector) -> VectorId {
    let number = |name: &str| name.parse().expect("names are numbers here");
    VectorId::new(number(&vector.group), number(&vector.name))
}

/// The vectors of one group or all, by numbers.
pub(crate) async fn list(host: &Host, group: Option<u32>) -> Result<Vec<Stored>, Error> {
    let mut stored = Vec::new();
    for found in host.groups().await? {
        if group.is_none_or(|group| group.to_string() == found.name) {
            let vectors = host.group_vectors(&found.name).await?;
            stored.extend(vectors.into_iter().map(|vector| Stored {
                id: of(&vector),
                bits: vector.bits,
                inverse: vector.inverse,
                home: found.home,
                vector,
            }));
        }
    }
    stored.sort_by_key(|stored| stored.id);
    Ok(stored)
}

/// An expression over vectors by numbers, as the drive knows them; what it does not know it does not find.
pub(crate) async fn known(host: &Host, expression: &Expression) -> Result<Expression, Error> {
    let stored = list(host, None).await?;
    let ids: BTreeMap<VectorId, VectorId> = stored
        .iter()
        .map(|stored| (stored.id, stored.vector.id))
        .collect();
    Ok(expression.map(|id| *ids.get(&id).unwrap_or(&VectorId::new(u32::MAX, id.vector))))
}

/// Writes a vector, or overwrites it, in a group on some dies.
pub(crate) async fn write_at(
    host: &Host,
    home: Home,
    id: VectorId,
    bits: u64,
    inverse: bool,
    data: &[u8],
) -> Result<(), Error> {
    let (group, name) = (id.group.to_string(), id.vector.to_string());
    let stored = list(host, Some(id.group)).await?;
    let is_there = stored.iter().any(|stored| stored.id == id);
    if is_there && stored[0].bits == bits {
        let vector = host.vector(&group, &name).await?;
        host.overwrite_vector(vector.id, Some(inverse), data)
            .await?;
    } else {
        let mut rows = Rows::new(bits);
        rows.inverse = inverse;
        rows.names = Some(vec![name]);
        rows.home = Some(home);
        host.write_vectors(&group, &rows, &[data]).await?;
    }
    Ok(())
}

/// As [`write_at`], on all dies.
pub(crate) async fn write(
    host: &Host,
    id: VectorId,
    bits: u64,
    inverse: bool,
    data: &[u8],
) -> Result<(), Error> {
    write_at(host, Home::ALL, id, bits, inverse, data).await
}

/// Deletes a group, or a vector of it.
pub(crate) async fn delete(host: &Host, group: u32, vector: Option<u32>) -> Result<(), Error> {
    let group = group.to_string();
    match vector {
        Some(vector) => {
            let vector = host.vector(&group, &vector.to_string()).await?;
            host.delete_vector(vector.id).await
        }
        None => host.remove_object(&group).await,
    }
}

/// Evaluates an expression over vectors by numbers.
pub(crate) async fn evaluate(
    host: &Host,
    expression: &Expression,
    platform: Platform,
) -> Result<Vec<u8>, Error> {
    let known = known(host, expression).await?;
    let request = Request::new(&known).on(platform);
    let request = request.answered_by(Answer::Read);
    Ok(host.ask(&request).await?.bits)
}

/// The same of a drive.
pub(crate) trait Numbered {
    fn known(&mut self, expression: &Expression) -> Expression;
    fn write_vector_at(
        &mut self,
        home: Home,
        id: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error>;
    fn vectors(&mut self, group: Option<u32>) -> Result<Vec<Stored>, Error>;
    fn delete_vectors(&mut self, group: u32, vector: Option<u32>) -> Result<(), Error>;

    fn write_vector(
        &mut self,
        id: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        self.write_vector_at(Home::ALL, id, bits, inverse, data)
    }

    /// Sets vectors up at once, under the numbers that follow.
    fn place_vectors(
        &mut self,
        group: u32,
        count: u32,
        bits: u64,
        inverse: bool,
    ) -> Result<Vec<Vector>, Error>;
    /// A question about vectors by numbers.
    fn ask(&mut self, expression: &Expression) -> Query<'_>;
    fn evaluate(&mut self, expression: &Expression, platform: Platform) -> Result<Vec<u8>, Error>;
    fn count_ones(&mut self, expression: &Expression, platform: Platform) -> Result<u64, Error>;
    fn evaluate_checked(
        &mut self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<Checked<Vec<u8>>, Error>;
    fn count_ones_checked(
        &mut self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<Checked<u64>, Error>;
}

impl Numbered for Drive {
    fn known(&mut self, expression: &Expression) -> Expression {
        let expression = expression.clone();
        let known = self.run(|host| async move { known(&host, &expression).await });
        known.expect("power").expect("a catalogue")
    }

    fn write_vector_at(
        &mut self,
        home: Home,
        id: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        let data = data.to_vec();
        self.run(move |host| async move { write_at(&host, home, id, bits, inverse, &data).await })?
    }

    fn vectors(&mut self, group: Option<u32>) -> Result<Vec<Stored>, Error> {
        self.run(move |host| async move { list(&host, group).await })?
    }

    fn delete_vectors(&mut self, group: u32, vector: Option<u32>) -> Result<(), Error> {
        self.run(move |host| async move { delete(&host, group, vector).await })?
    }

    fn place_vectors(
        &mut self,
        group: u32,
        count: u32,
        bits: u64,
        inverse: bool,
    ) -> Result<Vec<Vector>, Error> {
        let group = self.group(&group.to_string())?;
        let on = |_| ControlFlow::Continue(());
        match inverse {
            true => group.inverse().place(bits, count, on),
            false => group.place(bits, count, on),
        }
    }

    fn ask(&mut self, expression: &Expression) -> Query<'_> {
        let known = self.known(expression);
        self.query(&known)
    }

    fn evaluate(&mut self, expression: &Expression, platform: Platform) -> Result<Vec<u8>, Error> {
        self.ask(expression).on(platform).read()
    }

    fn count_ones(&mut self, expression: &Expression, platform: Platform) -> Result<u64, Error> {
        self.ask(expression).on(platform).count()
    }

    fn evaluate_checked(
        &mut self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<Checked<Vec<u8>>, Error> {
        self.ask(expression).on(platform).read_checked()
    }

    fn count_ones_checked(
        &mut self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<Checked<u64>, Error> {
        self.ask(expression).on(platform).count_checked()
    }
}
