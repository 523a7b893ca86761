#!/usr/bin/env bash
# Prints a version's part of the changelog.
#
#   hack/release/notes.sh v1.2.3
set -euo pipefail
cd "$(dirname "$0")/../.."
awk -v heading="## $1 " 'index($0 " ", heading) == 1 {inside = 1; next} /^## / {inside = 0} inside' CHANGELOG.md
