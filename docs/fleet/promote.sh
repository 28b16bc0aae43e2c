#!/bin/sh
# What an artefact changes for the stored objects of a cluster: docs/fleet.md.
#
#     promote.sh ARTEFACT [FLAG OF scan …]      such as: promote.sh fleet/ --context eu-1
#
# Exit code 0: nothing is newly refused; 1: something is, so do not promote; 2: it could not be judged.
set -eu
artefact=$1
shift
for pack in "$artefact"/packs/*/; do
  set -- "$@" --what-if "policies=${pack%/}"
done
if [ -d "$artefact/enforcement" ]; then
  set -- "$@" --what-if "enforcement=$artefact/enforcement"
fi
exec modelgate scan "$@" --output markdown
