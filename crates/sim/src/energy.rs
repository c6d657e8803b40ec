//! The energy ledger: who spent how much, on what.

use std::cell::RefCell;

use crate::quantity::Energy;

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

struct Meter {
    component: &'static str,
    cause: &'static str,
    read: Reading,
}

/// The accounts of a drive. A part opens its accounts once and then spends by
/// index; one that counts anyway what it moves is metered instead, which costs
/// nothing until somebody looks.
#[derive(Default)]
pub struct Ledger {
    accounts: RefCell<Vec<Account>>,
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

    /// Books `energy` on an account.
    #[inline]
    pub fn spend(&self, account: AccountId, energy: Energy) {
        let account = &mut self.accounts.borrow_mut()[account.0];
        account.energy += energy;
        account.events += 1;
    }

    /// Has the energy of `component` for `cause` read from `read`.
    pub fn meter(
        &self,
        component: &'static str,
        cause: &'static str,
        read: impl Fn() -> (Energy, u64) + 'static,
    ) {
        self.meters.borrow_mut().push(Meter {
            component,
            cause,
            read: Box::new(read),
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

    /// What all accounts add up to.
    pub fn total(&self) -> Energy {
        self.accounts().iter().map(|account| account.energy).sum()
    }
}
