"""What `serve`, `check` and `normalise` share: the flags for where an API has more than one right answer."""

from __future__ import annotations

import argparse
from dataclasses import fields

from pydantic import TypeAdapter, ValidationError

from webhook.admission.errors import Problem, SettingsError
from webhook.facts.settings import Behaviour, Settings

__all__ = ["add_arguments", "chosen"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One flag for each setting, by its name; None where it is not given."""
    add = parser.add_argument_group("where an API has more than one right answer").add_argument
    boolean = argparse.BooleanOptionalAction
    add(
        "--ome",
        choices=[each.value for each in Behaviour],
        help="whose behaviour: upstream's without its defects (default), that of its newest code, or that of the code "
        "from which its document was made",
    )
    add("--ome-migration", action=boolean, help="make an engine of a predictor, as upstream does (default)")
    add("--ome-namespace", metavar="NAME", help="where the ConfigMap inferenceservice-config is (default ome)")
    add(
        "--aim-documented-precision",
        action=boolean,
        help="allow all eight precisions of the document, and warn of those four that upstream's definitions refuse",
    )
    add(
        "--aim-auto-selection",
        action=boolean,
        help="choose a template for a service that names none, as AIM does from its release 0.2 on",
    )
    add("--aim-namespace", metavar="NAME", help="where AIM's operator is (default kaiwo-system)")


def chosen(options: argparse.Namespace) -> Settings:
    """The settings of the flags.

    Raises:
        SettingsError: with every value that does not fit.
    """
    given = {each.name: value for each in fields(Settings) if (value := getattr(options, each.name)) is not None}
    try:
        return TypeAdapter(Settings).validate_python(given)
    except ValidationError as error:
        raise SettingsError(
            [Problem(f"--{str(item['loc'][0]).replace('_', '-')}", "", item["msg"]) for item in error.errors()]
        ) from None
