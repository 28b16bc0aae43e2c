"""Settings that a program or a command line gives, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from webhook.admission.errors import Problem, SettingsError
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.policy import Profile

__all__ = ["checked_settings", "profile_of", "settings_of"]


def settings_of(given: Mapping[str, Any], named: Callable[[str], str] = str) -> Settings:
    """The settings with these values; ``named`` gives what errors call one.

    Raises:
        SettingsError: with every invalid value.
    """
    if not given:
        return DEFAULT_SETTINGS
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - takes 60 ms

    try:
        return TypeAdapter(Settings).validate_python(given)
    except ValidationError as error:
        found = [(named(str(item["loc"][0])), item["msg"].removeprefix("Value error, ")) for item in error.errors()]
        raise SettingsError([Problem(name, "", message) for name, message in found]) from None


def checked_settings(settings: object) -> Settings:
    """Settings that a program has made, which may have any values.

    Raises:
        SettingsError: with every invalid value.
    """
    if not isinstance(settings, Settings):
        raise SettingsError([Problem("settings", "", f"is of type {type(settings).__name__}: give modelgate.Settings")])
    if settings is DEFAULT_SETTINGS:
        return settings
    return settings_of({each.name: getattr(settings, each.name) for each in fields(Settings)})


def profile_of(name: object) -> Profile:
    """The profile of this name.

    Raises:
        SettingsError: there is none.
    """
    if name in {each.value for each in Profile if isinstance(name, str)}:
        return Profile(name)
    raise SettingsError(
        [Problem("profile", "", f"{str(name)[:60]!r}: use {', '.join(each.value for each in Profile)}")]
    )
