//! Which worker gets a stream of a busy one.

/// How many more streams and connections than the worker with the fewest a busy worker may have, beside a quarter: fewer
/// are not worth the wake-ups of a stream on two threads.
const MORE_MAX: usize = 4;

/// The worker that gets the next stream of the busy worker `own`: the one with the smallest of `loads`, which has one item
/// for each worker, or `own` if it has hardly more.
pub(crate) fn destination(own: usize, loads: impl IntoIterator<Item = usize>) -> usize {
    let mut own_load = 0;
    let (mut least, mut least_load) = (own, usize::MAX);
    for (worker, load) in loads.into_iter().enumerate() {
        if worker == own {
            own_load = load;
        }
        if load < least_load {
            (least, least_load) = (worker, load);
        }
    }
    match 4 * own_load > 5 * least_load + 4 * MORE_MAX {
        true => least,
        false => own,
    }
}

#[cfg(test)]
mod tests {
    use super::destination;

    #[test]
    fn a_stream_leaves_a_busy_worker_that_has_a_quarter_and_four_more_than_the_one_with_the_fewest()
    {
        for (own, loads, expected) in [
            (0, &[1, 0][..], 0),
            (0, &[4, 0], 0),
            (0, &[5, 0], 1),
            (1, &[0, 5], 0),
            (0, &[9, 4], 0),
            (0, &[10, 4], 1),
            (0, &[129, 100], 0),
            (0, &[130, 100], 1),
            (0, &[100, 130], 0),
            (2, &[7, 3, 20, 5], 1),
            (2, &[7, 5, 20, 5], 1),
            (0, &[7], 0),
        ] {
            let found = destination(own, loads.iter().copied());
            assert_eq!(found, expected, "worker {own} of {loads:?}");
        }
    }
}
