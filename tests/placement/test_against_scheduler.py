"""Our text about a pod and a fleet is that of kube-scheduler's own code."""

import json
import subprocess
from random import Random

import pytest

from tests.oracle.scheduling import find_scheduler
from tests.placement.fleets import fleet, pod
from tests.placement.scheduler import scheduler_text
from webhook.placement import NodeTable, needs_of

ROUNDS = 1500


@pytest.mark.skipif(find_scheduler() is None, reason="kube-scheduler's code: python -m tests.oracle.scheduling")
def test_texts_of_random_pods_are_those_of_kube_scheduler():
    random, program = Random(37), find_scheduler()
    questions = [{"pod": pod(random), "nodes": fleet(random)} for _ in range(ROUNDS)]
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=600)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == ROUNDS
    assert not [answer["error"] for answer in answers if answer.get("error")]
    for question, answer in zip(questions, answers, strict=True):
        needs = needs_of(question["pod"])
        assert needs is not None, question
        assert scheduler_text(needs, NodeTable.of(question["nodes"], rounded=False)) == answer["message"], question
    assert sum(bool(answer["message"]) for answer in answers) > ROUNDS // 3  # the border is near
