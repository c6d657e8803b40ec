//! Waiting for several things at once, inside one task.
//!
//! All futures are polled, in the order given, each time the task wakes; what is
//! not needed any more is dropped, which cancels it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// The output of whichever future of [`select`] finished first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first future finished; it wins when both do in the same instant.
    Left(A),
    /// The second future finished.
    Right(B),
}

/// Waits for both, and gives both outputs.
pub async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut from_a, mut from_b) = (None, None);
    poll_fn(move |context| {
        if from_a.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            from_a = Some(output);
        }
        if from_b.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            from_b = Some(output);
        }
        match (from_a.take(), from_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (from_a, from_b) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

/// Waits for all, and gives their outputs in the order of the futures.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    let mut missing = futures.len();
    poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                *output = Some(value);
                missing -= 1;
            }
        }
        if missing == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// Waits for the first to finish and drops the other.
pub async fn select<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(move |context| {
        if let Poll::Ready(output) = a.as_mut().poll(context) {
            return Poll::Ready(Either::Left(output));
        }
        b.as_mut().poll(context).map(Either::Right)
    })
    .await
}
