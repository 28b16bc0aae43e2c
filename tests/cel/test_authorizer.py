import pytest

from tests.cel.calls import call, error
from webhook.cel.environment import Environment
from webhook.cel.library.authorizer import Authorizer, Decision, Question
from webhook.cel.program import Budget

SOURCE = (
    "authorizer.serviceAccount('ns', 'bot').group('apps').resource('deployments').subresource('status')"
    ".namespace('ns').name('web').fieldSelector('a=b').labelSelector('c=d').check('get').allowed()"
)
QUESTION = Question("get", "", "apps", "deployments", "status", "ns", "web", "a=b", "c=d", ("ns", "bot"))
WITH = Environment((1, 36), variables={"authorizer": Authorizer.cel_type})


def test_a_check_asks_what_was_written():
    asked = []

    def decide(question):
        asked.append(question)
        return Decision(allowed=True, reason="because")

    assert WITH.compile(SOURCE).evaluate({"authorizer": Authorizer(decide)}) is True
    assert asked == [QUESTION]
    reason = WITH.compile("authorizer.path('/healthz').check('get').reason()")
    assert reason.evaluate({"authorizer": Authorizer(decide)}) == "because"
    assert asked[1] == Question("get", path="/healthz")


def test_an_unknown_answer_stops_the_evaluation_and_no_other_operand_hides_it():
    program = WITH.compile(f"{SOURCE} || true")
    known = {}
    with pytest.raises(KeyError) as missing:
        program.evaluate({"authorizer": Authorizer(known.__getitem__)})
    known[missing.value.args[0]] = Decision(allowed=False, error="timeout")
    assert program.evaluate({"authorizer": Authorizer(known.__getitem__)}) is True


def test_two_checks_fit_in_the_limit_of_an_expression_and_three_do_not():
    budget = Budget()
    check = "authorizer.path('/a').check('get').allowed()"
    always = Authorizer(lambda _question: Decision(allowed=True))
    WITH.compile(f"{check} && {check}").evaluate({"authorizer": always}, budget)
    assert budget.spent == 2 * 350_003
    with pytest.raises(Exception, match="operation cancelled: actual cost limit exceeded"):
        WITH.compile(f"{check} && {check} && {check}").evaluate({"authorizer": always})


def test_errors_and_what_a_decision_tells():
    authorizer = Authorizer({}.__getitem__)
    assert error("path", authorizer, " ") == "path must not be empty"
    assert error("resource", call("group", authorizer, ""), "") == "resource must not be empty"
    assert error("serviceAccount", authorizer, "ns", "A") == "Invalid service account name"
    assert error("serviceAccount", authorizer, "a.b", "a") == "Invalid service account namespace"
    assert error("_==_", authorizer, authorizer) == "no such overload"
    failed = Decision(allowed=False, error="boom")
    assert [call(name, failed) for name in ("errored", "error", "allowed", "reason")] == [True, "boom", False, ""]
    assert call("error", Decision(allowed=True)) == ""
