"""Values of a file that are not known yet: variables that Flux substitutes, and what SOPS has encrypted.

No type, enum, pattern or rule is judged on an unknown value; everything else of its object is. An object is therefore
judged with stand-ins, which are valid where the unknown values are, without the rules that read one of them.
"""

from webhook.library.unknown.narrowing import NOTHING, Narrowing, Undecided, World
from webhook.library.unknown.substitution import (
    Substitutions,
    is_encrypted,
    prepared,
    substitutes,
    unknown_in,
    variables_of,
)
from webhook.library.unknown.unjudged import Unjudged
