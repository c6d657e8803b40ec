//! How many awaits the bare executor serves a second: the reference that the
//! drive's own figures are held against.
//!
//! Thirty-two tasks, each going round a server, a pipe, a sleep and a signal as
//! a request of a drive does.

use std::rc::Rc;
use std::time::Instant;

use sim::resource::{Pipe, Priority, Server};
use sim::{Simulation, Span};

fn main() {
    const ROUNDS: u64 = 300_000;
    let simulation = Simulation::new(1);
    let sim = simulation.handle();
    let wire = Rc::new(Pipe::new(&sim, 8_000_000_000));
    let channels: Vec<Rc<Server>> = (0..8).map(|_| Rc::new(Server::new(&sim))).collect();
    for task in 0..32u64 {
        let (sim, wire, channels) = (sim.clone(), wire.clone(), channels.clone());
        let mut random = sim.random(&format!("task {task}"));
        simulation.handle().spawn(async move {
            for _ in 0..ROUNDS / 32 {
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
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{:.2} million rounds of 7 awaits a second",
        ROUNDS as f64 / seconds / 1e6
    );
}
