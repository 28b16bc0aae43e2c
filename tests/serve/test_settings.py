"""Settings: flags over environment over defaults, and every mistake named."""

from pathlib import Path

import pytest

from webhook.errors import SettingsError
from webhook.policy import Profile
from webhook.serve.settings import Settings


def test_flags_come_before_the_environment() -> None:
    environment = {"MODELGATE_LISTEN_PORT": "1", "MODELGATE_TLS_DIR": "/tls", "MODELGATE_PROFILE": "strict"}
    settings = Settings.of({"listen_port": 2, "host": None}, environment)
    assert (settings.listen_port, settings.tls_dir, settings.profile) == (2, Path("/tls"), Profile.STRICT)
    assert settings.host == "127.0.0.1"


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.of({}, {"MODELGATE_LISTEN_PORT": "x", "MODELGATE_COLOUR": "red"})
    assert str(caught.value).splitlines() == [
        "--listen-port (MODELGATE_LISTEN_PORT): Input should be a valid integer, unable to parse string as an integer",
        "--tls-dir (MODELGATE_TLS_DIR): is needed",
        "--colour (MODELGATE_COLOUR): unknown setting",
    ]


def test_variables_that_kubernetes_makes_for_our_service_are_not_settings() -> None:
    environment = {
        "MODELGATE_PORT": "tcp://10.0.0.1:443",
        "MODELGATE_SERVICE_HOST": "10.0.0.1",
        "MODELGATE_TLS_DIR": "/t",
    }
    assert Settings.of({}, environment).listen_port == 9443
