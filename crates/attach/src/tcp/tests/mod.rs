//! The target without sockets and without a drive: random PDUs, most of them nearly right, in random portions.

mod bounded;
mod fuzz;
mod hostile;
mod made;
mod shut_down;
