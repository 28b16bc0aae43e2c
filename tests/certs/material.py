"""CAs and times for the tests of certificates; nothing here looks at a clock."""

from datetime import UTC, datetime, timedelta

from certs.authority import Authority
from certs.names import Names

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
SERVICE = Names.of_service("modelgate", "modelgate-system")


def ca() -> Authority:
    return Authority.create(NOW)
