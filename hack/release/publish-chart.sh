#!/usr/bin/env bash
# Packages the chart into a directory and pushes it to a registry; prints its name
# with its digest. Its images are those that `make publish` puts there.
#
#   hack/release/publish-chart.sh v1.2.3 registry/path dist [ARGUMENTS OF HELM PUSH]
#
# The chart's version is the release's. What is no release gets one below all of
# them, so that it never takes a release's place.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$1 repository=$2 to=$3
shift 3
name=digitalocean-cloud-controller-manager
chart=deploy/charts/$name
chart_version=0.0.0-build-$version
if [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
	chart_version=${version#v}
fi
helm() { go tool -modfile=hack/tools/go.mod helm "$@"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$chart" "$work"
sed "s|^\( *repository: \)\(digitalocean-\)|\1$repository/\2|" "$chart/values.yaml" >"$work/$name/values.yaml"
rm -f "$to"/*.tgz # of another version
helm package "$work/$name" --version "$chart_version" --app-version "$version" --destination "$to" >&2
pushed=$(helm push "$to/$name-$chart_version.tgz" "oci://$repository/charts" "$@" 2>&1) || { echo "$pushed" >&2; exit 1; }
echo "$pushed" >&2
digest=$(sed -n 's/^Digest: //p' <<<"$pushed")
[[ $digest == sha256:* ]] || { echo "helm doesn't tell the chart's digest" >&2; exit 1; }
echo "$repository/charts/$name@$digest"
