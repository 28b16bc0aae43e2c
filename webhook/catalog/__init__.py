"""The kinds that Modelgate covers: definitions, policies, releases and installed forms, as one digested catalog.

A folder of data is loaded (``folders``), compiled when a kind is first met, and put under the releases
that run (``releases``, ``operators``) and the definitions that a cluster has (``installed``). ``applies`` says which
rules hold then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.catalog.applies import NOTHING_ASIDE, Aside, Dependences, Sight
from webhook.catalog.catalog import Catalog, api_folders, load, ship
from webhook.catalog.kept import POLICIES
from webhook.catalog.kinds import Kinds, KnownKind
from webhook.catalog.packs import NO_PACK, PACK, By, InForce, Pack, built_in, groups_of, installed_pack, known_apis
from webhook.catalog.references import facts_of, unfitting
from webhook.catalog.releases import UNKNOWN, chosen, later_releases
from webhook.catalog.settings import check_settings, names_of_children, names_read, with_operator
from webhook.catalog.shapes import FORMS
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.catalog.installed import Deviation, with_installed
    from webhook.catalog.neighbours import neighbour
    from webhook.catalog.operators import definition_names, forms, names_of

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
