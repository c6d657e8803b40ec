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

/// The accounts of a drive. A part opens its accounts once and then spends by
/// index.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: RefCell<Vec<Account>>,
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

    /// Every account, in the order in which they were opened.
    pub fn accounts(&self) -> Vec<Account> {
        self.accounts.borrow().clone()
    }

    /// What all accounts add up to.
    pub fn total(&self) -> Energy {
        self.accounts
            .borrow()
            .iter()
            .map(|account| account.energy)
            .sum()
    }
}
