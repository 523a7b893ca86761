#!/usr/bin/env bash
# Prepares a release: the version file, the chart's version, the changelog's
# heading and the manifests of the release. What it changed is to be looked at,
# committed and tagged.
#
#   hack/release/bump-version.sh v1.2.3
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${1:-}
if [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
	echo "NEW_VERSION=$version: must be like v1.2.3 or v1.2.3-rc.1" >&2
	exit 2
fi
if grep -q "^## $version " CHANGELOG.md; then
	echo "CHANGELOG.md has a heading for $version already" >&2
	exit 1
fi

chart=deploy/charts/digitalocean-cloud-controller-manager
echo "$version" >VERSION
sed -i "s/^version: .*/version: ${version#v}/; s/^appVersion: .*/appVersion: $version/" "$chart/Chart.yaml"
sed -i "s/^## Unreleased$/## Unreleased\n\n## $version - $(date -u +%F)/" CHANGELOG.md
go test ./test/chart -run Golden -update >/dev/null
mkdir -p releases
go tool -modfile=hack/tools/go.mod helm template digitalocean-cloud-controller-manager "$chart" --namespace kube-system >"releases/$version.yaml"
echo "Prepared $version. Look at 'git diff', commit, and tag it: git tag -s $version"
