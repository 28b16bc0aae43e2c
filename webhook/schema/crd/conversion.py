"""Checks the conversion webhook of a CRD."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from webhook.golang.names import dns_1035_label, dns_1123_subdomain
from webhook.schema.fielderror import FieldError, forbidden, invalid, not_supported, required

Raw = Mapping[str, Any]

_REVIEWS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def has_recognised_version(versions: list[str]) -> bool:
    return not versions or any(version in _REVIEWS for version in versions)


def conversion_errors(
    conversion: Raw | None, path: str, *, recognised: bool = True, valid_bundle: bool = False
) -> list[FieldError]:
    """All errors of ``spec.conversion``; the API server's default for it is the strategy None.

    ``recognised``: demand a known version of ConversionReview. ``valid_bundle``: demand a caBundle that parses.
    An update may keep values that an older API server accepted.
    """
    if conversion is None:
        return []
    webhook = conversion.get("webhook") or {}
    strategy, config = conversion.get("strategy") or "", webhook.get("clientConfig")
    reviews = webhook.get("conversionReviewVersions") or []
    errors = []
    if strategy not in ("None", "Webhook"):
        own = f"{path}.strategy"
        errors.append(not_supported(own, strategy, ("None", "Webhook")) if strategy else required(own))
    if strategy == "Webhook":
        own = f"{path}.conversionReviewVersions"
        errors += _config_errors(config, f"{path}.webhookClientConfig", valid_bundle=valid_bundle)
        return errors + _review_errors(reviews, own, recognised=recognised)
    why = "should not be set when strategy is not set to Webhook"
    if config is not None:
        errors.append(forbidden(f"{path}.webhookClientConfig", why))
    if reviews:
        errors.append(forbidden(f"{path}.conversionReviewVersions", why))
    return errors


def _review_errors(versions: list[str], path: str, *, recognised: bool) -> list[FieldError]:
    if not versions:
        return [required(path)]
    errors = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(invalid(f"{path}[{i}]", version, "duplicate version"))
        else:
            errors += [invalid(f"{path}[{i}]", version, why) for why in dns_1035_label(version)]
    if recognised and not has_recognised_version(versions):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}"))
    return errors


def _config_errors(config: Raw | None, path: str, *, valid_bundle: bool) -> list[FieldError]:
    if config is None:
        return [required(path, "required when strategy is set to Webhook")]
    url, service, bundle = config.get("url"), config.get("service"), config.get("caBundle")
    if (url is None) == (service is None):
        errors = [required(path, "exactly one of url or service is required")]
    elif url is not None:
        errors = _url_errors(url, f"{path}.url")
    else:
        errors = _service_errors(service or {}, f"{path}.service")
    if bundle and valid_bundle:
        errors += bundle_errors(bundle, f"{path}.caBundle")
    return errors


def _url_errors(url: str, path: str) -> list[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{_FORM}")]
    host = parts.netloc.rpartition("@")[2]
    user = parts.netloc.rpartition("@")[0]
    checks = (
        (parts.scheme != "https", parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"),
        (not host, host, f"host must be specified{_FORM}"),
        (bool(user), user, "user information is not permitted in the URL"),
        (bool(parts.fragment), parts.fragment, "fragments are not permitted in the URL"),
        (bool(parts.query), parts.query, "query parameters are not permitted in the URL"),
    )
    return [invalid(path, value, why) for wrong, value, why in checks if wrong]


def _service_errors(service: Raw, path: str) -> list[FieldError]:
    # The API server swaps the two names it passes on, so an absent one is reported as the other.
    swapped = (("name", "namespace"), ("namespace", "name"))
    errors = [required(f"{path}.{reported}") for key, reported in swapped if not service.get(key)]
    port = service.get("port")
    if port is not None and not 1 <= port <= 65535:
        errors.append(invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    return errors + _path_errors(service.get("path") or "/", f"{path}.path")


def _path_errors(path: str, own: str) -> list[FieldError]:
    if path == "/":
        return []
    if path == "//":
        return [invalid(own, path, "segment[0] may not be empty")]
    errors = [] if path.startswith("/") else [invalid(own, path, "must start with a '/'")]
    for i, step in enumerate(path[1:].removesuffix("/").split("/")):
        problems = [f"segment[{i}]: {why}" for why in dns_1123_subdomain(step)]
        errors += [invalid(own, path, why) for why in (problems if step else [f"segment[{i}] may not be empty"])]
    return errors


def bundle_errors(bundle: str, path: str) -> list[FieldError]:
    """Whether a caBundle (base64) holds at least one PEM certificate."""
    try:
        pem = base64.b64decode(bundle, validate=True)
    except binascii.Error:
        pem = b""
    if b"-----BEGIN CERTIFICATE-----" in pem:
        return []
    why = "unable to load root certificates: unable to parse bytes as PEM block"
    return [invalid(path, bundle, why)]
