#!/usr/bin/env bash
# Prepares a release: the version file, the chart's version, the changelog's
# heading and the manifests of the release. What it changed is to be looked at,
# committed and tagged.
#
#   REPOSITORY=registry/path hack/release/bump-version.sh v1.2.3
#
# REPOSITORY is where `make publish` will put the images; without it the manifests
# of the release name them without a registry.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${1:-}
if [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
	echo "NEW_VERSION=$version: must be like v1.2.3 or v1.2.3-rc.1" >&2
	exit 2
fi
if grep -qF "## $version " CHANGELOG.md; then
	echo "CHANGELOG.md has a heading for $version already" >&2
	exit 1
fi
if ! grep -qx "## Unreleased" CHANGELOG.md; then
	echo "CHANGELOG.md has no heading '## Unreleased', below which the release's would go" >&2
	exit 1
fi

# edit FILE COMMAND... replaces a file by what the command makes of it.
edit() {
	local file=$1 text
	shift
	text=$("$@" "$file")
	printf '%s\n' "$text" >"$file"
}

chart=deploy/charts/digitalocean-cloud-controller-manager
echo "$version" >VERSION
edit "$chart/Chart.yaml" sed "s/^version: .*/version: ${version#v}/; s/^appVersion: .*/appVersion: $version/"
edit CHANGELOG.md awk -v heading="## $version - $(date -u +%F)" '{print} $0 == "## Unreleased" {print ""; print heading}'
if ! output=$(go test ./test/chart -run Golden -update 2>&1); then
	echo "$output" >&2
	exit 1
fi
mkdir -p releases
go tool -modfile=hack/tools/go.mod helm template digitalocean-cloud-controller-manager "$chart" --namespace kube-system \
	${REPOSITORY:+--set "image.repository=$REPOSITORY/digitalocean-cloud-controller-manager"} >"releases/$version.yaml"
if [[ -z ${REPOSITORY:-} ]]; then
	echo "releases/$version.yaml names its image without a registry. Set REPOSITORY=registry/path to have it there." >&2
fi
echo "Prepared $version. Look at 'git diff', commit, and tag it: git tag -s $version"
