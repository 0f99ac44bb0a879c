//! Prints what evaluations cost: `cargo test --release -p headgate-expression timing -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::exchange::RecordedExchange;
use super::hostile::{hostile_bodies, hostile_expressions};
use super::random::{ExpressionKind, SeededRandom};
use crate::{EvaluationPhase, Expression};

const ROUNDS: u32 = 20_000;

#[test]
#[ignore = "prints times, which need a release build"]
fn the_time_of_ordinary_expressions() {
    let exchange = RecordedExchange::default();
    let table = [
        r#"request.headers["x-tier"] == "gold""#,
        r#"request.method == "POST" && "x-tier" in request.headers"#,
        r#"in_network(client.address, "10.0.0.0/8")"#,
        r#"json("/max_tokens") > 4096"#,
        r#"json("/messages").exists(m, m.role == "system")"#,
        r#"request.path.matches("^/v1/(chat|messages)")"#,
        r#"sample(5, caller)"#,
        r#"min(json("/max_tokens"), 4096)"#,
        r#""fast-" + request.headers["x-tier"]"#,
    ];
    for text in table {
        let expression = Expression::compile(text, EvaluationPhase::Body).unwrap();
        for _ in 0..2 {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                let _ = black_box(expression.is_true(black_box(&exchange)));
            }
            let each = start.elapsed() / ROUNDS;
            exchange.read.borrow_mut().clear();
            println!("{each:>10?}  {text}");
        }
    }
}

#[test]
#[ignore = "prints times, which need a release build"]
fn the_time_of_hostile_expressions() {
    for (name, exchange) in hostile_bodies() {
        for text in hostile_expressions() {
            let Ok(expression) = Expression::compile(&text, EvaluationPhase::ResponseBody) else {
                continue;
            };
            let (time, result) = shortest_time(&expression, &exchange);
            let start: String = text.chars().take(70).collect();
            println!("{time:>10?}  {name}: {start} {result}");
        }
    }
}

#[test]
#[ignore = "prints times, which need a release build"]
fn the_time_of_random_expressions() {
    let mut random = SeededRandom(3);
    let exchange = RecordedExchange::default();
    let (mut compiling, mut evaluating) = (Duration::ZERO, Duration::ZERO);
    for round in 0..100_000 {
        let text = match round % 4 {
            0 => random.tokens(),
            1 => random.damaged(),
            2 => random.characters(),
            _ => random.expression(ExpressionKind::Open, 7),
        };
        let start = Instant::now();
        let compiled = Expression::compile(&text, EvaluationPhase::ResponseBody);
        let elapsed = start.elapsed();
        if elapsed > compiling {
            println!("{elapsed:>10?} to compile {text:?}");
            compiling = elapsed;
        }
        let Ok(expression) = compiled else {
            continue;
        };
        let start = Instant::now();
        let _ = black_box(expression.json(&exchange));
        if start.elapsed() > evaluating {
            let shortest = shortest_time(&expression, &exchange).0;
            if shortest > evaluating {
                evaluating = shortest;
                println!("{evaluating:>10?} to evaluate {text}");
            }
        }
        exchange.read.borrow_mut().clear();
    }
}

/// The shortest time of several, because others use the machine, too.
fn shortest_time(expression: &Expression, exchange: &RecordedExchange) -> (Duration, String) {
    let mut best = Duration::MAX;
    let mut result = String::new();
    for _ in 0..5 {
        let start = Instant::now();
        let value = black_box(expression.json(exchange));
        best = best.min(start.elapsed());
        exchange.read.borrow_mut().clear();
        result = match value {
            Ok(json) => format!("-> {} bytes", json.len()),
            Err(error) => format!("-> {}", error.message),
        };
    }
    (best, result)
}
