"""``python -m tests.fuzz.schema -n N``: random schemas and objects, our answer against the API server's own code.

Each case is one schema with a few objects, created and updated; every fifth asks whether a CRD
with the schema would be taken. A disagreement is made small and printed; the seed repeats it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from tests.conformance.compare import differs, errors_differ, first, warnings_differ
from tests.crds import crd
from tests.fuzz.generate import Generator
from tests.fuzz.oracle import Oracle
from tests.fuzz.shrink import shrink
from webhook.schema import Structural
from webhook.schema.crd.document import validate_crd
from webhook.schema.crd.shape import shape_errors
from webhook.schema.fielderror import CoerceError

Request = dict[str, Any]

_BLOCKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def main(argv: list[str] | None = None) -> int:
    """Run N cases; 1 if there was a disagreement."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.schema", description=main.__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many cases")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--show", type=int, default=10, help="how many disagreements to shrink and print")
    options = parser.parse_args(argv)
    found, asked, start = 0, 0, time.monotonic()
    with Oracle() as oracle:
        for seed in range(options.seed, options.seed + options.n):
            for request in requests(seed):
                asked += 1
                if disagreement(request, oracle):
                    found += 1
                    if found <= options.show:
                        _report(seed, request, oracle)
                    break
    taken = time.monotonic() - start
    print(f"{options.n} schemas, {asked} requests in {taken:.0f} s: {found} disagreements")
    return 1 if found else 0


def requests(seed: int) -> Iterator[Request]:
    """The requests to the oracle for one seed."""
    make = Generator(seed)
    schema = make.root_schema()
    if seed % 5 == 0:
        yield {"mode": "crd", "crd": _crd(schema)}
        yield {"mode": "crd", "crd": _crd(make.broken(schema))}
        yield {"mode": "crd", "crd": stored(make.broken(schema)), "oldCrd": stored(make.broken(schema))}
    for _ in range(3):
        obj = make.object(schema)
        yield {"schema": schema, "obj": obj}
        yield {"schema": schema, "obj": obj, "oldObj": make.old(obj, schema)}


def _crd(schema: dict[str, Any]) -> dict[str, Any]:
    return crd("example.com", "Foo", schema)


def stored(schema: dict[str, Any]) -> dict[str, Any]:
    """A CRD as it is in storage, so that it can be updated."""
    document = _crd(schema)
    document["metadata"]["resourceVersion"] = "1"
    return document | {"status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}}


def disagreement(request: Request, oracle: Oracle) -> str | None:
    """What differs; None if we say the same, or if the request makes no sense to the API server.

    It is asked again where it differs: some of its answers depend on the order of a Go map.
    """
    problem: str | None = None
    for _ in range(20):
        (answer,) = oracle.ask([request])
        problem = _disagreement(request, answer)
        if problem is None:
            return None
    return problem


def _disagreement(request: Request, answer: dict[str, Any]) -> str | None:
    if request.get("mode") == "crd":
        if "decodeError" in answer:
            return None
        if shape_errors(request["crd"]):
            return "we refuse to decode it"
        return errors_differ(answer.get("errors") or [], validate_crd(request["crd"], request.get("oldCrd")))
    if any(key in answer for key in ("schemaError", "structuralErrors", "pruneDefaultsError")):
        return None
    return _object_disagreement(request, answer)


def _object_disagreement(request: Request, answer: dict[str, Any]) -> str | None:
    schema = Structural(request["schema"])
    try:
        decoded, unknown, _ = schema.decode_file(request["obj"])
    except CoerceError:
        return None if "decodeError" in answer else "we refuse to decode it"
    if "decodeError" in answer:
        return None if answer["decodeError"].startswith("old: ") else f"not decoded: {answer['decodeError']}"
    old = request.get("oldObj")
    old = None if old is None else schema.decode_file(old, drop_invalid=True).object
    errors, warnings, _ = schema.check(decoded, old)
    wanted = [error for key in ("openapi", "embedded", "listtype", "cel") for error in answer.get(key) or []]
    if answer.get("celBlocked"):
        wanted.append({"type": "FieldValueInvalid", "message": _BLOCKED})
    again, dropped, _ = schema.decode(decoded)
    return first(
        differs("object", _plain(answer["obj"]), _plain(decoded)),
        differs("unknown fields", answer.get("unknownFields") or [], unknown),
        errors_differ(wanted, errors),
        warnings_differ(answer.get("warnings") or [], warnings),
        None if again is decoded and not dropped else "decoding twice changes the object again",
    )


def _plain(value: Any) -> Any:
    """Go writes 2.0 as 2, so whole floats cannot be told from integers in its answers."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _report(seed: int, request: Request, oracle: Oracle) -> None:
    def refusals(candidate: Request) -> set[str]:
        if "crd" in candidate:
            return {error.detail for error in shape_errors(candidate["crd"])}
        return {error.detail for error in validate_crd(_crd(candidate["schema"]))}

    known = refusals(request)

    def fails(candidate: Request) -> bool:
        try:
            return refusals(candidate) <= known and disagreement(candidate, oracle) is not None
        except Exception:  # noqa: BLE001 - a shrunk request may be senseless to us as well
            return False

    small = shrink(request, fails)
    print(f"seed {seed}: {json.dumps(small, ensure_ascii=False)}\n    {disagreement(small, oracle)}")


if __name__ == "__main__":
    sys.exit(main())
