//! The energy ledger: who spent how much, on what.

use std::cell::RefCell;

use crate::quantity::Energy;

/// For whom something is done and energy is spent: a small number. What the numbers mean is the
/// business of whoever hands them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(pub u16);

impl Tenant {
    /// Its place in a table of tenants.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something counted for each tenant, such as bytes moved.
#[derive(Default)]
pub struct ByTenant(RefCell<Vec<u64>>);

impl ByTenant {
    /// Adds `amount` to what `tenant` has.
    #[inline]
    pub fn add(&self, tenant: Tenant, amount: u64) {
        let counts = &mut *self.0.borrow_mut();
        match counts.get_mut(tenant.index()) {
            Some(count) => *count += amount,
            None => add_new(counts, tenant, amount),
        }
    }

    /// What `tenant` has.
    pub fn of(&self, tenant: Tenant) -> u64 {
        let counts = self.0.borrow();
        counts.get(tenant.index()).copied().unwrap_or(0)
    }

    /// What all of them have together.
    pub fn sum(&self) -> u64 {
        self.0.borrow().iter().sum()
    }

    /// The sum of what `value` says of what each of them has.
    pub fn sum_of<T: std::iter::Sum>(&self, value: impl FnMut(u64) -> T) -> T {
        self.0.borrow().iter().copied().map(value).sum()
    }
}

/// Makes room for a tenant that had nothing before.
#[cold]
fn add_new(counts: &mut Vec<u64>, tenant: Tenant, amount: u64) {
    counts.resize(tenant.index() + 1, 0);
    counts[tenant.index()] = amount;
}

/// One line of the ledger: a component and a cause, and what they add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The part that spends, such as "nand" or "channel".
    pub component: &'static str,
    /// What it spends on, such as "sense" or "data out".
    pub cause: &'static str,
    /// The sum so far.
    pub energy: Energy,
    /// How many times energy was spent.
    pub events: u64,
}

/// Names an account, for [`Ledger::spend`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountId(usize);

/// Reads what a part has spent, and in how many events, from its own counts.
type Reading = Box<dyn Fn() -> (Energy, u64)>;
/// Reads how much of that was spent for a tenant.
type Share = Box<dyn Fn(Tenant) -> Energy>;

struct Meter {
    component: &'static str,
    cause: &'static str,
    read: Reading,
    share: Share,
}

/// The accounts of a drive. A part opens its accounts once and then spends by
/// index; one that counts anyway what it moves is metered instead, which costs
/// nothing until somebody looks.
#[derive(Default)]
pub struct Ledger {
    accounts: RefCell<Vec<Account>>,
    /// Picojoules spent on all accounts for each tenant.
    spent_for: ByTenant,
    meters: RefCell<Vec<Meter>>,
}

impl Ledger {
    /// The account of `component` for `cause`, opened if need be.
    pub fn open(&self, component: &'static str, cause: &'static str) -> AccountId {
        let mut accounts = self.accounts.borrow_mut();
        let found = accounts
            .iter()
            .position(|account| (account.component, account.cause) == (component, cause));
        AccountId(found.unwrap_or_else(|| {
            accounts.push(Account {
                component,
                cause,
                energy: Energy::ZERO,
                events: 0,
            });
            accounts.len() - 1
        }))
    }

    /// Books `energy` on an account, spent for `tenant`.
    #[inline]
    pub fn spend(&self, account: AccountId, tenant: Tenant, energy: Energy) {
        self.spend_for_all(account, energy, [(tenant, energy)]);
    }

    /// Books `energy`, in one event, on an account; `shares` say how much of it was spent for whom,
    /// and add up to it.
    #[inline]
    pub fn spend_for_all(
        &self,
        account: AccountId,
        energy: Energy,
        shares: impl IntoIterator<Item = (Tenant, Energy)>,
    ) {
        let account = &mut self.accounts.borrow_mut()[account.0];
        account.energy += energy;
        account.events += 1;
        for (tenant, share) in shares {
            self.spent_for.add(tenant, share.as_pj());
        }
    }

    /// What was spent on an account so far.
    pub fn account(&self, account: AccountId) -> Account {
        self.accounts.borrow()[account.0]
    }

    /// Books so much in so many events on an account, spent for `tenant`.
    #[inline]
    pub fn spend_often(&self, account: AccountId, tenant: Tenant, energy: Energy, events: u64) {
        let account = &mut self.accounts.borrow_mut()[account.0];
        account.energy += energy;
        account.events += events;
        self.spent_for.add(tenant, energy.as_pj());
    }

    /// Has the energy of `component` for `cause` read from `read`, and what of it was spent for a
    /// tenant from `share`.
    pub fn meter(
        &self,
        component: &'static str,
        cause: &'static str,
        read: impl Fn() -> (Energy, u64) + 'static,
        share: impl Fn(Tenant) -> Energy + 'static,
    ) {
        self.meters.borrow_mut().push(Meter {
            component,
            cause,
            read: Box::new(read),
            share: Box::new(share),
        });
    }

    /// Every account, in the order in which they were opened, and every meter.
    pub fn accounts(&self) -> Vec<Account> {
        let mut accounts = self.accounts.borrow().clone();
        accounts.extend(self.meters.borrow().iter().map(|meter| {
            let (energy, events) = (meter.read)();
            Account {
                component: meter.component,
                cause: meter.cause,
                energy,
                events,
            }
        }));
        accounts
    }

    /// What was spent for `tenant`, on all accounts and meters.
    pub fn spent_for(&self, tenant: Tenant) -> Energy {
        let meters = self.meters.borrow();
        let metered: Energy = meters.iter().map(|meter| (meter.share)(tenant)).sum();
        Energy::from_pj(self.spent_for.of(tenant)) + metered
    }

    /// What all accounts add up to.
    pub fn total(&self) -> Energy {
        self.accounts().iter().map(|account| account.energy).sum()
    }
}
