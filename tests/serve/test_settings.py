"""Settings: flags over environment over defaults, and every mistake named."""

from dataclasses import replace
from pathlib import Path

import pytest

from webhook.admission.errors import SettingsError
from webhook.facts.settings import DEFAULT_SETTINGS, Behaviour
from webhook.policy import Profile
from webhook.serve.settings import Settings

OF_A_GATE = replace(DEFAULT_SETTINGS, nodes="off")
"""A gate watches nodes only if it is told to."""


def test_flags_come_before_the_environment() -> None:
    environment = {"MODELGATE_LISTEN_PORT": "1", "MODELGATE_TLS_DIR": "/tls", "MODELGATE_PROFILE": "strict"}
    settings = Settings.of({"listen_port": 2, "host": None}, environment)
    assert (settings.listen_port, settings.tls_dir, settings.profile) == (2, Path("/tls"), Profile.STRICT)
    assert settings.host == "127.0.0.1"


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.of({}, {"MODELGATE_LISTEN_PORT": "x", "MODELGATE_COLOUR": "red"})
    assert str(caught.value).splitlines() == [
        "--listen-port (MODELGATE_LISTEN_PORT): must be a whole number from 0 to 65535",
        "--tls-dir (MODELGATE_TLS_DIR): is required",
        "--colour (MODELGATE_COLOUR): unknown setting",
    ]


def test_where_an_api_has_more_than_one_right_answer_each_choice_is_a_setting() -> None:
    environment = {"MODELGATE_TLS_DIR": "/t", "MODELGATE_OME": "doc-era", "MODELGATE_OME_MIGRATION": "false"}
    facts = Settings.of({"ome": "upstream-head", "aim_auto_selection": True}, environment).facts
    assert facts == replace(OF_A_GATE, ome=Behaviour.UPSTREAM_HEAD, ome_migration=False, aim_auto_selection=True)
    assert Settings.of({"nodes": "fixed"}, environment).facts.nodes == "fixed"


def test_a_choice_that_there_is_not_is_refused_with_those_there_are() -> None:
    environment = {"MODELGATE_TLS_DIR": "/t", "MODELGATE_OME": "newest", "MODELGATE_AIM_NAMESPACE": "../secrets"}
    with pytest.raises(SettingsError) as caught:
        Settings.of({}, {**environment, "MODELGATE_OME_MIGRATION": "perhaps", "MODELGATE_FACTS": "x"})
    with pytest.raises(SettingsError) as alone:
        Settings.of({}, {**environment, "MODELGATE_OME_MIGRATION": "perhaps"})
    assert "--facts (MODELGATE_FACTS): " in str(caught.value)
    assert str(alone.value).splitlines() == [
        "--ome (MODELGATE_OME): Input should be 'recommended', 'upstream-head' or 'doc-era'",
        "--ome-migration (MODELGATE_OME_MIGRATION): Input should be a valid boolean, unable to interpret input",
        "--aim-namespace (MODELGATE_AIM_NAMESPACE): String should match pattern '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'",
    ]


def test_settings_of_operators_are_those_of_flags_or_of_one_variable() -> None:
    environment = {"MODELGATE_TLS_DIR": "/t", "MODELGATE_OPERATORS": "llmkube.hostPathRoots=/a,/b; ome.namespace=o"}
    found = Settings.of({}, environment).facts
    assert found == replace(OF_A_GATE, ome_namespace="o", operators=(("llmkube.hostPathRoots", "/a,/b"),))
    assert Settings.of({"operators": ["llmkube.defaultFSGroup=0"]}, environment).facts == replace(
        OF_A_GATE, operators=(("llmkube.defaultFSGroup", "0"),)
    )
    with pytest.raises(SettingsError, match=r"--set \(MODELGATE_OPERATORS\): 'nothing' sets nothing"):
        Settings.of({}, {**environment, "MODELGATE_OPERATORS": "nothing"})


def test_the_log_level_is_a_setting_with_four_values() -> None:
    assert Settings.of({}, {"MODELGATE_TLS_DIR": "/t"}).log_level == "info"
    assert (
        Settings.of({"log_level": None}, {"MODELGATE_TLS_DIR": "/t", "MODELGATE_LOG_LEVEL": "error"}).log_level
        == "error"
    )
    with pytest.raises(SettingsError, match="--log-level"):
        Settings.of({}, {"MODELGATE_TLS_DIR": "/t", "MODELGATE_LOG_LEVEL": "loud"})


def test_variables_that_kubernetes_makes_for_our_service_are_not_settings() -> None:
    environment = {
        "MODELGATE_PORT": "tcp://10.0.0.1:443",
        "MODELGATE_SERVICE_HOST": "10.0.0.1",
        "MODELGATE_TLS_DIR": "/t",
    }
    assert Settings.of({}, environment).listen_port == 9443


@pytest.mark.parametrize(
    ("caller", "missing"),
    [("mtls", "--client-ca (MODELGATE_CLIENT_CA)"), ("token", "--token-audience (MODELGATE_TOKEN_AUDIENCE)")],
)
def test_a_proof_needs_what_it_is_checked_with(caller: str, missing: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.of({"caller": caller}, {"MODELGATE_TLS_DIR": "/t"})
    assert str(caught.value) == f"{missing}: is required by --caller={caller}"


def test_names_in_a_variable_are_separated_by_commas() -> None:
    environment = {"MODELGATE_TLS_DIR": "/t", "MODELGATE_CLIENT_NAME": "a,b"}
    assert Settings.of({}, environment).client_name == ("a", "b")
    assert Settings.of({"client_name": ["c"]}, environment).client_name == ("c",)


def test_health_cannot_have_the_port_of_the_webhooks() -> None:
    with pytest.raises(SettingsError, match="must differ from --port"):
        Settings.of({"health_port": 9443}, {"MODELGATE_TLS_DIR": "/t"})


def test_folders_of_rules_are_all_that_are_given() -> None:
    environment = {"MODELGATE_TLS_DIR": "/t", "MODELGATE_POLICIES": "/a,/b"}
    assert Settings.of({}, environment).policies == (Path("/a"), Path("/b"))
    assert Settings.of({"policies": [Path("/c"), Path("/d")]}, environment).policies == (Path("/c"), Path("/d"))
    assert Settings.of({}, {"MODELGATE_TLS_DIR": "/t"}).policies == ()
