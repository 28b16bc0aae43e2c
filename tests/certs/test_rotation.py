"""The succession of CAs under a moving clock: not one moment in which a client refuses a leaf that is served."""

from __future__ import annotations

import base64
import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from certs import rotation
from certs.authority import Authority
from certs.errors import ApiServerError, ClockError, StoreError
from certs.lifetimes import Lifetimes
from certs.state import Signer, State
from tests.certs.material import DAY, HOUR, NOW, ca, signed_by
from tests.certs.world import BOTH, LIFETIMES, SECOND, SECRET, Crash, Replica, World, webhook
from tests.laws import is_quick

YEAR = 365 * DAY
MOVING = {"publish", "wait"}


def steady_step(phase):
    return 5 * SECOND if phase in MOVING else 47 * HOUR


def live(world, duration, step=steady_step):
    """Look and let time pass until ``duration`` is over; the phases and the CAs that there were."""
    phases, signers, end = set(), {}, world.now + duration
    while world.now < end:
        world.look()
        state = stored(world)
        phases.add(rotation.phase(state, world.now, LIFETIMES))
        signers[state.signer.certificate] = world.now
        world.tick(min(step(rotation.phase(state, world.now, LIFETIMES)), end - world.now))
    return phases, list(signers)


def stored(world):
    data = world.objects[SECRET]["data"]
    return State.parse({name: base64.b64decode(text) for name, text in data.items()}, world.now)[0]


def put(world, authority, name="ca"):
    """Let something else write a CA, as cert-manager or a person does: three files, and nothing that we added."""
    files = authority.credentials().files()
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    world._put(SECRET, {"metadata": {"name": name}, "data": data})


def aged(folder, replicas, days, **options):
    """A world that is steady, and whose CA is that old."""
    world = World(folder, replicas, **options)
    put(world, Authority.create(NOW - days * DAY))
    world.look()
    world.look()
    world.refusals.clear()  # before the first bundle is published there is nothing to trust
    world.tick(60 * SECOND)
    assert world.refusals == []
    return world


def first(folder, replicas=1, **options):
    return aged(folder, replicas, 0, **options)


def out_of_step(world, longest=4 * HOUR):
    """At one call in ten, time passes and another replica does a whole look in between."""
    busy = []

    def happening(replica, _call):
        if busy or world.random.random() > 0.1:
            return
        busy.append(replica)
        world.tick(world.random.choice([SECOND, 40 * SECOND, longest]) * world.random.random())
        for other in world.replicas:
            if other is not replica and world.random.random() < 0.7:
                other.look()
        world.check()
        busy.clear()

    world.happening = happening


def test_three_years_go_by_without_a_refusal(tmp_path):
    world = first(tmp_path)
    phases, signers = live(world, 3 * YEAR)
    assert world.refusals == []
    assert phases == {"steady", "wait", "retire"}
    assert len(signers) == 5
    assert world.checks > 2000


@pytest.mark.parametrize(("replicas", "years"), [(1, 3), (2, 1), (3, 1)])
def test_replicas_out_of_step_are_never_refused(tmp_path, replicas, years):
    world = first(tmp_path, replicas, seed=replicas)
    out_of_step(world)
    _, signers = live(world, years * YEAR, lambda phase: 5 * SECOND if phase in MOVING else 40 * HOUR)
    assert world.refusals == []
    assert len(signers) == {1: 2, 3: 5}[years]


def due(folder, replicas=1, **options):
    """A world a moment before two thirds of its CA's life are over."""
    return aged(folder, replicas, 243, **options)


def test_without_the_wait_clients_would_refuse(tmp_path):
    """The proof that these tests can see a refusal."""
    world = due(tmp_path, 2)
    for replica in world.replicas:
        replica.keeper = replace(replica.keeper, lifetimes=Lifetimes(uptake=timedelta(0)))
    world.tick(8 * HOUR)
    live(world, 60 * SECOND, lambda _: SECOND)
    assert {complaint for *_, complaint in world.refusals} != set()


def test_each_phase_ends_when_it_should(tmp_path):
    world = due(tmp_path)
    old = stored(world).signer.certificate
    world.tick(8 * HOUR)
    world.look()
    state = stored(world)
    assert (state.signer.certificate, len(state.trusted), world.trusted()) == (old, 2, [2, 2])
    assert state.coming.confirmed == world.now  # read back by the second pass of the same look
    world.tick(LIFETIMES.uptake - SECOND)
    world.look()
    assert stored(world).signer.certificate == old
    world.tick(SECOND)
    world.look()
    new = stored(world)
    assert new.signer.certificate == state.coming.certificate
    assert world.replicas[0].look().leaf.issuer == new.signer.certificate
    assert [each.until for each in new.retired] == [world.now + LIFETIMES.leaf * 8 / 7]
    live(world, 8 * DAY - SECOND, lambda _: DAY)
    assert world.trusted() == [2, 2]
    live(world, 2 * DAY, lambda _: DAY)
    assert world.trusted() == [1, 1]
    assert world.refusals == []


def deleted(world):
    del world.objects[SECRET]


def foreign(world):
    put(world, ca_at(world))


def foreign_twice(world):
    put(world, ca_at(world))
    world.look()
    put(world, ca_at(world))


def nothing(world):
    world.tick(8 * HOUR)


def ca_at(world):
    return Authority.create(world.now)


def restored(world):
    """A backup from before a rotation, its state with it."""
    backup, old = world.objects[SECRET], stored(world).signer.certificate
    live(world, 12 * DAY)
    assert stored(world).signer.certificate != old
    world._put(SECRET, backup)


HAPPENINGS = [nothing, deleted, foreign, foreign_twice, restored]


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("happening", HAPPENINGS)
def test_whatever_happens_to_the_store_no_call_fails(tmp_path, happening, replicas):
    world = due(tmp_path, replicas, seed=replicas)
    out_of_step(world, HOUR)
    happening(world)
    live(world, 12 * DAY, lambda phase: 5 * SECOND if phase in MOVING else 12 * HOUR)
    assert world.refusals == []
    assert world.trusted() == [1, 1]
    assert {each.look().leaf.issuer for each in world.replicas} == {stored(world).signer.certificate}


def crashing(world, number, moment):
    """The process ends at the ``number``-th write, before or after it."""
    writes = itertools.count()

    def happening(_replica, call):
        when, verb = call.split()
        if verb != "get" and when == moment and next(writes) == number:
            raise Crash

    world.happening = happening


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("happening", [nothing, deleted, foreign])
def test_a_crash_at_any_write_is_made_good_by_the_next_look(tmp_path, happening, moment):
    for number in itertools.count(step=3 if is_quick() else 1):
        world = due(tmp_path / str(number), 2, seed=number)
        happening(world)
        crashing(world, number, moment)
        live(world, 12 * DAY, lambda phase: 5 * SECOND if phase in MOVING else 24 * HOUR)
        assert world.refusals == []
        assert world.trusted() == [1, 1]
        if not world.calls["crash"]:
            break
    assert number >= 7


def test_a_replica_that_was_suspended_does_not_put_an_older_bundle_over_a_newer_one(tmp_path):
    world = due(tmp_path, 2)
    sleeper, other = world.replicas
    bundle = world.objects[BOTH[0].path]
    for each in BOTH:  # so that there is something to write
        world._put(
            each.path, {**bundle, "webhooks": [{"name": "gate.modelgate.dev", "clientConfig": {"caBundle": ""}}]}
        )
    nested = []

    def happening(replica, call):
        if replica is sleeper and call == "before apply" and not nested:
            nested.append(call)
            world.tick(8 * HOUR)
            other.look()
            assert world.trusted() == [2, 2]

    world.happening = happening
    sleeper.look()
    assert nested
    assert world.trusted() == [2, 2]


def test_what_others_write_over_a_bundle_is_put_right_and_not_trusted(tmp_path):
    world = first(tmp_path)
    before = world.bundle(BOTH[1].path)
    theirs = {"name": "gate.modelgate.dev", "clientConfig": {"caBundle": base64.b64encode(ca().bundle).decode()}}
    world._put(BOTH[1].path, {**world.objects[BOTH[1].path], "webhooks": [theirs]})
    world.look()
    assert world.bundle(BOTH[1].path) == before


def test_after_a_reinstallation_the_ca_that_was_kept_signs_at_once(tmp_path):
    """Also soon after a rotation, when an older CA is still trusted."""
    world = due(tmp_path)
    live(world, 2 * DAY)
    assert len(stored(world).trusted) == 2
    for each in BOTH:
        world.objects[each.path]["webhooks"] = [webhook()]
    pods = [Replica(world, tmp_path / f"new-{number}") for number in range(2)]
    assert [pod.look().complete for pod in pods] == [True, True]
    assert world.trusted() == [2, 2]


def test_a_bundle_that_was_replaced_by_another_starts_the_wait_anew(tmp_path):
    world = due(tmp_path)
    live(world, 2 * DAY)
    theirs = {"name": "gate.modelgate.dev", "clientConfig": {"caBundle": base64.b64encode(ca().bundle).decode()}}
    for each in BOTH:
        world.objects[each.path]["webhooks"] = [theirs]
    pod = Replica(world, tmp_path / "new")
    assert not pod.look().complete
    world.tick(LIFETIMES.uptake)
    assert pod.look().complete


def test_a_configuration_that_is_missing_does_not_hold_up_a_rotation(tmp_path):
    world = due(tmp_path)
    del world.objects[BOTH[0].path], world.seen[BOTH[0].path]
    _, signers = live(world, 2 * DAY)
    assert len(signers) == 2


def test_a_configuration_that_cannot_be_read_holds_up_a_rotation_and_no_renewal(tmp_path):
    world = due(tmp_path)
    (replica,) = world.replicas
    ends = replica.look().leaf.ends
    whole = world.get

    def get(path):
        if path == BOTH[0].path:
            raise ApiServerError(403, "forbidden")
        return whole(path)

    world.get = get
    _, signers = live(world, 10 * DAY, lambda _: 12 * HOUR)
    assert len(signers) == 1
    assert replica.look().faults
    assert replica.look().leaf.ends > ends
    assert world.refusals == []
    world.get = whole
    _, signers = live(world, 2 * DAY)
    assert len(signers) == 2


def test_an_expired_ca_is_replaced(tmp_path):
    world = World(tmp_path, 2)
    put(world, Authority.create(NOW - 400 * DAY))
    live(world, HOUR, lambda phase: 5 * SECOND if phase in MOVING else 600 * SECOND)
    world.check()
    assert world.refusals == []
    assert {each.look().leaf.issuer for each in world.replicas} == {stored(world).signer.certificate}


def test_a_clock_that_is_behind_leaves_a_good_ca_alone_and_says_so(tmp_path):
    world = first(tmp_path)
    before = world.objects[SECRET]
    world.now -= 2 * DAY
    with pytest.raises(ClockError, match="correct the clock and keep the CA"):
        world.replicas[0].look()
    assert world.objects[SECRET] == before


def test_a_spoiled_store_is_left_as_it_is_and_the_leaf_goes_on_serving(tmp_path):
    world = first(tmp_path)
    world.objects[SECRET]["data"]["tls.key"] = base64.b64encode(b"hello").decode()
    before = world.objects[SECRET]
    with pytest.raises(StoreError, match=r"Secret ns/ca: tls.key is not an unencrypted PEM .*\. Correct or delete it"):
        world.replicas[0].look()
    world.tick(DAY)
    assert (world.objects[SECRET], world.refusals) == (before, [])
    deleted(world)
    live(world, 10 * DAY)
    assert world.refusals == []


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b'{"signer": {}}', b'{"signer": 1, "next": null}'])
def test_a_spoiled_record_is_made_anew(tmp_path, record):
    world = first(tmp_path)
    before = stored(world).signer.certificate
    world.objects[SECRET]["data"]["state.json"] = base64.b64encode(record).decode()
    live(world, DAY)
    assert stored(world).signer.certificate == before
    assert world.refusals == []


def test_what_others_keep_in_the_secret_stays(tmp_path):
    world = first(tmp_path)
    world.objects[SECRET]["data"]["note"] = "aGVsbG8="
    world.objects[SECRET]["metadata"]["annotations"] = {"a": "b"}
    world.tick(120 * DAY)
    put_back = world.objects[SECRET]["data"]["tls.key"]
    world.look()
    assert world.objects[SECRET]["data"]["note"] == "aGVsbG8="
    assert world.objects[SECRET]["metadata"]["annotations"] == {"a": "b"}
    assert world.objects[SECRET]["data"]["tls.key"] == put_back


def test_a_state_is_read_as_it_was_written():
    state = rotation.adopt(State(Signer(ca(), NOW), Signer(ca())), [ca().certificate], NOW, LIFETIMES)
    found, unaccounted = State.parse(state.files(), NOW)
    assert (found.files(), unaccounted) == (state.files(), ())
    assert (found.signer.confirmed, found.coming.confirmed, found.retired) == (NOW, None, state.retired)


def test_a_ca_of_others_is_theirs_to_renew_until_they_are_late(tmp_path):
    world = World(tmp_path)
    put(world, Authority.load(signed_by(ec.generate_private_key(ec.SECP256R1()), ca=True, days=60), NOW))
    _, signers = live(world, 50 * DAY, lambda _: DAY)
    assert len(signers) == 1
    live(world, 10 * DAY)
    assert stored(world).signer.authority.own
    assert world.refusals == []
