#!/usr/bin/env bash
# Runs the end-to-end tests, and those of the chart and the manifests, against each
# of some versions of Kubernetes, and prints a table of what passed. The tests'
# output is in dist/versions.
#
#   hack/test-versions.sh 1.36.3 1.37.2
#
# ARGS are further arguments of `go test`, as -run of some tests alone.
set -euo pipefail
cd "$(dirname "$0")/.."

logs=dist/versions
mkdir -p "$logs"
rows=()
failed=()
for version in "$@"; do
	log=$logs/$version.log
	assets=$(go run ./cmd/ccmctl controlplane --kubernetes-version "$version")
	result=passed
	# shellcheck disable=SC2086 # ARGS are several
	if ! KUBEBUILDER_ASSETS=$assets go test -race -count=1 -timeout 60m -parallel 4 -v ${ARGS:-} ./test/e2e ./test/chart >"$log" 2>&1; then
		result=failed
		failed+=("$version")
	fi
	count() { grep -c -- "^--- $1:" "$log" || true; }
	rows+=("| $("$assets/kube-apiserver" --version | cut -d' ' -f2) | $result | $(count PASS) | $(count FAIL) | $(count SKIP) |")
	echo "${rows[-1]}" >&2
done
printf '%s\n' '| kube-apiserver | result | tests passed | failed | skipped |' '|---|---|---:|---:|---:|' "${rows[@]}"
if ((${#failed[@]})); then
	echo "failed with Kubernetes ${failed[*]}; see $logs" >&2
	exit 1
fi
