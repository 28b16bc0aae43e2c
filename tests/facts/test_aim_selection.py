"""Which template is chosen for a service that names none, where the cluster wants that."""

import pytest

from tests.facts.aim import available, image, node, service, template
from webhook.cluster import MemoryView
from webhook.facts.aim import gpu_model, resolve_template
from webhook.facts.aim.resources import models_of_node, models_on_nodes


def chosen(it, *others):
    return resolve_template(it, MemoryView([image(), *others]), choose=True)


def name_of_chosen(*others, **spec):
    return chosen(service(**spec), *others).name


def error_of(*others, **spec):
    return chosen(service(**spec), *others).error


NONE_FITS = 'No available templates match the service requirements for image "img"'


def test_a_template_is_chosen_by_gpu_then_metric_then_precision():
    found = [
        available("slow", "MI300X", "latency", "fp8"),
        available("big", "MI325X", "throughput", "fp16"),
        available("fine", "MI325X", "throughput", "fp8"),
    ]
    assert name_of_chosen(*found) == "fine"
    assert name_of_chosen(*found[:2]) == "big"
    assert resolve_template(service(), MemoryView([image(), *found])).origin == "none"


def test_latency_goes_before_throughput_and_a_known_gpu_before_one_that_is_not_ranked():
    assert name_of_chosen(available("a", "MI300X", "throughput"), available("b", "MI300X", "latency")) == "b"
    assert name_of_chosen(available("a", "MI355X"), available("b", "MI210")) == "b"


def test_a_tie_is_not_a_choice():
    twins = [available("a", "MI300X", "latency", "fp8"), available("b", "MI300X", "latency", "fp8")]
    assert error_of(*twins) == 'Multiple templates (2) satisfy image "img"'


def test_a_choice_gives_the_reason_against_all_templates():
    assert error_of() == 'No templates found for image "img"'
    assert error_of(template("t")) == "Waiting for templates to become Available"
    assert error_of(available("t", metric="throughput"), overrides={"metric": "latency"}) == NONE_FITS


def test_nothing_is_chosen_for_an_image_that_is_not_there_or_not_ready():
    view = MemoryView([available("t")])
    assert resolve_template(service(), view, choose=True).error == 'No AIMImage or AIMClusterImage found for "img"'
    view = MemoryView([available("t"), image(status="Degraded")])
    found = resolve_template(service(), view, choose=True)
    assert found.error == 'Waiting for image "img" to become Ready, it is Degraded'


def test_templates_of_the_namespace_go_before_better_ones_of_the_cluster():
    assert name_of_chosen(available("own", "MI210"), available("shared", "MI325X", cluster=True)) == "own"


def test_a_template_named_or_set_as_default_is_not_chosen_for():
    found = [available("best", "MI325X"), template("other")]
    assert name_of_chosen(*found, templateRef="other") == "other"
    view = MemoryView([image(defaultServiceTemplate="other"), *found])
    assert resolve_template(service(), view, choose=True).origin == "default"


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ({"metric": "throughput"}, "b"),
        ({"precision": "fp16"}, "b"),
        ({"gpuSelector": {"count": 1, "model": "instinct mi210"}}, "b"),
        ({"gpuSelector": {"count": 1, "model": "MI325X"}}, "a"),
        ({}, "a"),
    ],
)
def test_a_template_that_overrides_contradict_falls_out(overrides, name):
    found = [available("a", "MI325X", "latency", "fp8"), available("b", "MI210", "throughput", "fp16")]
    assert chosen(service(overrides=overrides), *found).base == name


def test_the_number_of_gpus_counts_where_both_are_known():
    eight, unknown = available("eight", "MI300X", count=8), available("unknown", "MI210")
    wish = {"gpuSelector": {"count": 1, "model": "MI300X"}}
    assert error_of(eight, overrides=wish) == NONE_FITS
    assert chosen(service(overrides={"gpuSelector": {"count": 8, "model": "MI300X"}}), eight).base == "eight"
    assert chosen(service(overrides={"gpuSelector": {"count": 1, "model": "MI210"}}), unknown).base == "unknown"


def test_a_profile_that_is_not_optimized_falls_out_and_one_that_does_not_say_stays():
    preview, silent = available("preview", "MI325X", type="preview"), available("silent", "MI210")
    assert name_of_chosen(preview, silent) == "silent"
    assert name_of_chosen(silent, available("tuned", "MI210", type="optimized")) == "tuned"
    assert error_of(preview, available("un", type="unoptimized")) == NONE_FITS


def test_a_gpu_that_no_node_has_falls_out():
    found = [available("a", "MI325X"), available("b", "MI300X"), available("any")]
    assert name_of_chosen(*found, node("n", **{"amd.com/gpu.device-id": "74a1"})) == "b"
    assert name_of_chosen(*found, node("n")) == "any"
    assert name_of_chosen(*found) == "a"


@pytest.mark.parametrize(
    ("labels", "models"),
    [
        ({"amd.com/gpu.product-name": "MI300X"}, ["MI300X"]),
        ({"amd.com/gpu.product-name": "MI300X (rev 2)"}, ["MI300X"]),
        ({"amd.com/gpu.product-name.MI300X": "4"}, ["MI300X"]),
        ({"amd.com/gpu.product-name.MI300X": "0"}, []),
        ({"amd.com/gpu.device-id": "0x74a1"}, ["MI300X"]),
        ({"beta.amd.com/gpu.device-id.74a5": "8"}, ["MI325X"]),
        ({"amd.com/gpu.device-id": "74b9", "amd.com/gpu.product-name": "MI300X"}, ["MI325X"]),
        ({"amd.com/gpu.device-id": "ffff"}, ["AMD-FFFF"]),
        ({"beta.amd.com/gpu.family": "AI"}, ["AI"]),
        ({"nvidia.com/gpu.product": "A100-SXM4-40GB"}, ["A100"]),
        ({"feature.node.kubernetes.io/nvidia-gpu-model": "Tesla-T4"}, ["T4"]),
        ({"nvidia.com/gpu.product": "Tesla-T4", "amd.com/gpu.device-id": "7410"}, ["MI210", "T4"]),
        ({"kubernetes.io/hostname": "node1"}, []),
    ],
)
def test_labels_tell_the_gpus_of_a_node(labels, models):
    assert list(models_of_node(node("n", **labels))) == models


def test_without_nodes_nothing_is_known_of_gpus():
    assert models_on_nodes(MemoryView()) is None
    assert models_on_nodes(MemoryView([node("n")])) == frozenset()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Tesla T4", "T4"),
        ("NVIDIA-A100-SXM4-40GB", "A100"),
        ("MI300X_OAM", "MI300X"),
        ("Radeon", "RADEON"),
        ("", ""),
    ],
)
def test_the_model_of_a_gpu(name, model):
    assert gpu_model(name) == model
