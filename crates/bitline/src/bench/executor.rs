//! The bare executor: what requests are held against.

use std::rc::Rc;
use std::time::Instant;

use sim::resource::{Pipe, Priority, Server};
use sim::{Simulation, Span};

/// Rounds, each of [`AWAITS_PER_ROUND`] awaits.
const ROUNDS: u64 = 500_000;
/// About what a request needs.
pub(super) const AWAITS_PER_ROUND: u64 = 7;

/// Thirty-two tasks go round a server, pipes and sleeps as a request does.
pub(super) fn awaits_per_second() -> f64 {
    const TASKS: u64 = 32;
    let simulation = Simulation::new(1);
    let sim = simulation.handle();
    let wire = Rc::new(Pipe::new(&sim, 8_000_000_000));
    let channels: Vec<Rc<Server>> = (0..8).map(|_| Rc::new(Server::new(&sim))).collect();
    for task in 0..TASKS {
        let (sim, wire, channels) = (sim.clone(), wire.clone(), channels.clone());
        let mut random = sim.random(&format!("task {task}"));
        simulation.handle().spawn_detached(async move {
            for _ in 0..ROUNDS / TASKS {
                let channel = &channels[random.below(8) as usize];
                wire.transfer(64).await;
                channel.serve(Priority(0), Span::from_ns(200)).await;
                sim.sleep(Span::from_ns(22_500)).await;
                channel.serve(Priority(1), Span::from_ns(3_400)).await;
                wire.transfer(4096).await;
                wire.transfer(16).await;
                sim.sleep(Span::from_ns(100)).await;
            }
        });
    }
    let begin = Instant::now();
    simulation.run();
    (ROUNDS / TASKS * TASKS * AWAITS_PER_ROUND) as f64 / begin.elapsed().as_secs_f64()
}
