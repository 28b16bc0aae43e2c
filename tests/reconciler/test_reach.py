"""What the reconciler is not to judge, it reads and leaves alone."""

import argparse

import pytest

from reconciler import Reach
from reconciler.loop import Loop
from reconciler.projections.kinds import CLUSTER_MODELS
from reconciler.projections.llmkube import MODELS
from tests.reconciler.looping import stored
from tests.reconciler.models import model
from webhook.cli.reconcile import add_parser

CLUSTER = {
    "apiVersion": "ome.io/v1beta1",
    "kind": "ClusterBaseModel",
    "metadata": {"name": "c", "generation": 1},
    "spec": {"vendor": "v", "modelFormat": {"name": "safetensors"}, "storage": {"storageUri": "hf://org/repo"}},
}


@pytest.mark.parametrize("whole", [True, False])
def test_objects_of_cluster_scope_are_left_alone_unless_they_are_meant(world, whole):
    reach = Reach(("default",), whole)
    old = world.loop
    world.loop = Loop(world.server.api(), world.view, world.rules, {}, reach.holds, old._now, world.time)
    world.server.put("clusterbasemodels", CLUSTER)
    stored(world, model())
    world.reconcile()
    world.loop.use(world.rules.under({}))
    world.reconcile()
    written = [path for _, path in world.server.writes()]
    assert any("clusterbasemodels" in each for each in written) is whole
    assert any("models/m" in each for each in written)


def test_without_a_list_everything_is_meant():
    assert Reach().holds(CLUSTER_MODELS)
    assert Reach(("a",), whole=False).holds(MODELS)
    assert not Reach(("a",), whole=False).holds(CLUSTER_MODELS)


def parsed(*arguments):
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_parser(parser.add_subparsers())
    return parser.parse_args(["reconcile", *arguments])


def test_the_list_is_of_names_of_namespaces():
    assert parsed("--only-namespaces=a,b-1,,a").only_namespaces == ("a", "b-1")
    assert parsed().only_namespaces == ()


@pytest.mark.parametrize("text", ["*", "A", "a/b", "-a", "a" * 64, "a b"])
def test_another_text_than_names_of_namespaces_is_refused(text, capsys):
    with pytest.raises((SystemExit, argparse.ArgumentError)) as refused:
        parsed(f"--only-namespaces={text}")
    assert "is not the name of a namespace" in str(refused.value) + capsys.readouterr().err
