"""The queue's laws, in virtual time where time matters and with threads where they do."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reconciler.queue import Queue
from tests.reconciler.models import Time


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def queue(time):
    return Queue(time)


def drain(queue):
    taken = []
    while (key := queue.get(wait=False)) is not None:
        taken.append(key)
        queue.done(key)
    return taken


def test_keys_come_in_order_and_each_once(queue):
    for key in "abacb":
        queue.add(key)
    assert drain(queue) == ["a", "b", "c"]


def test_a_key_that_changes_while_it_is_held_comes_again_when_it_is_done(queue):
    queue.add("a")
    assert queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert queue.get(wait=False) is None
    queue.done("a")
    assert drain(queue) == ["a"]


def test_a_delayed_key_comes_when_it_is_due_and_not_before(queue, time):
    queue.add_after("a", 10)
    time.seconds += 9.9
    assert drain(queue) == []
    time.seconds += 0.1
    assert drain(queue) == ["a"]


def test_of_two_delays_the_shorter_counts_and_the_longer_is_forgotten(queue, time):
    queue.add_after("a", 10)
    queue.add_after("a", 3)
    queue.add_after("a", 20)
    time.seconds += 3
    assert drain(queue) == ["a"]
    time.seconds += 100
    assert drain(queue) == []


def test_taking_a_key_up_drops_the_time_that_was_set_for_it(queue, time):
    queue.add_after("a", 10)
    queue.add("a")
    assert drain(queue) == ["a"]
    time.seconds += 10
    assert drain(queue) == []


def test_a_delayed_key_that_is_held_waits_for_its_worker(queue, time):
    queue.add("a")
    queue.get()
    queue.add_after("a", 1)
    time.seconds += 1
    assert queue.get(wait=False) is None
    queue.done("a")
    assert drain(queue) == ["a"]


def test_the_backoff_doubles_up_to_the_limit_and_begins_anew_when_forgotten(queue):
    assert [queue.backoff("a", 1, 10) for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    assert queue.backoff("b", 1, 10) == 1
    queue.forget("a")
    assert queue.backoff("a", 1, 10) == 1


def test_thousands_of_failures_do_not_overflow(queue):
    assert {queue.backoff("a", 0.5, 300) for _ in range(2000)} >= {0.5, 300}


def test_closing_wakes_every_waiting_worker():
    queue = Queue()
    results = []
    workers = [threading.Thread(target=lambda: results.append(queue.get())) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.close()
    for worker in workers:
        worker.join(10)
    assert results == [None] * 3


def test_a_closed_queue_hands_out_nothing(queue):
    queue.add("a")
    queue.close()
    assert queue.get() is None


def test_a_waiting_worker_is_woken_by_a_key_that_becomes_due():
    queue = Queue()
    queue.add_after("late", 3600)
    worker = threading.Thread(target=queue.get)
    worker.start()
    queue.add_after("soon", 0)
    worker.join(10)
    assert not worker.is_alive()


def test_no_key_is_ever_with_two_workers_and_none_is_lost():
    queue = Queue()
    lock = threading.Lock()
    held, seen, clashes = set(), [], []

    def work():
        while (key := queue.get()) is not None:
            with lock:
                clashes.extend({key} & held)
                held.add(key)
                seen.append(key)
            with lock:
                held.discard(key)
            queue.done(key)
            if len(set(seen)) == 50:
                queue.close()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for number in range(500):
        queue.add(number % 50)
    for worker in workers:
        worker.join(10)
    assert not clashes
    assert set(seen) == set(range(50))


def test_shares_take_turns_so_that_many_keys_of_one_do_not_delay_another(time):
    queue = Queue(time, share=lambda key: key[0])
    for key in ("a1", "a2", "a3", "b1", "a4", "c1", "b2"):
        queue.add(key)
    assert drain(queue) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_the_age_is_that_of_the_oldest_key_of_all_shares(time):
    queue = Queue(time, share=lambda key: key[0])
    for key in ("a1", "b1", "a2"):
        queue.add(key)
        time.seconds += 1
    queue.get()
    assert (len(queue), queue.age()) == (2, 2.0)
    queue.get()
    assert (len(queue), queue.age()) == (1, 1.0)


class Model(RuleBasedStateMachine):
    """Against the plainest model: a set of dirty keys, a set of held keys, times."""

    keys = st.sampled_from("abc")

    def __init__(self):
        super().__init__()
        self.time = Time()
        self.queue = Queue(self.time)
        self.dirty, self.held, self.due = set(), set(), {}

    @rule(key=keys)
    def add(self, key):
        self.queue.add(key)
        self.dirty.add(key)

    @rule(key=keys, seconds=st.integers(0, 5))
    def add_after(self, key, seconds):
        self.queue.add_after(key, seconds)
        due = self.time.seconds + seconds
        self.due[key] = min(due, self.due.get(key, due))

    @rule(seconds=st.integers(0, 5))
    def pass_time(self, seconds):
        self.time.seconds += seconds

    @rule()
    def get(self):
        self.dirty |= {key for key, due in self.due.items() if due <= self.time.seconds}
        self.due = {key: due for key, due in self.due.items() if due > self.time.seconds}
        key = self.queue.get(wait=False)
        assert key in self.dirty - self.held if self.dirty - self.held else key is None
        if key is not None:
            self.dirty.discard(key)
            self.due.pop(key, None)
            self.held.add(key)

    @rule(key=keys)
    def done(self, key):
        if key in self.held:
            self.queue.done(key)
            self.held.discard(key)

    @invariant()
    def what_waits_is_dirty_and_free(self):
        assert len(self.queue) <= len(self.dirty - self.held)


TestAgainstTheModel = Model.TestCase


@given(st.lists(st.sampled_from("abcd")))
def test_whatever_is_added_comes_out_once(keys):
    queue = Queue()
    for key in keys:
        queue.add(key)
    assert drain(queue) == list(dict.fromkeys(keys))
