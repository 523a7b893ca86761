# Everything that a contributor or CI runs. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
PACKAGE := digitalocean-cloud-controller-manager
LDFLAGS := -s -w -X $(PACKAGE)/internal/version.version=$(VERSION) -X $(PACKAGE)/internal/version.commit=$(COMMIT)
# Packages of the tests against a real control plane.
E2E     := ./test/e2e ./test/chart ./internal/sandbox ./test/chaos ./test/harness
TOOLS   := go tool -modfile=hack/tools/go.mod
HAS_CHROMIUM := command -v chromium chromium-browser google-chrome chrome >/dev/null
# Packages with tests that take long with the race detector, which gets samples of
# them (-short); they run whole without it.
LONG    := ./internal/admission/policy ./internal/firewall ./internal/instances ./internal/inventory ./internal/loadbalancer/reconciler ./internal/tagging \
	./internal/targets ./test/conformance
# Arguments of `make sandbox` and `make e2e`.
ARGS    ?=

##@ Use

.PHONY: sandbox
sandbox: build ## Try it: a cluster, DigitalOcean's API and the manager on this machine (ARGS=--help tells more).
	bin/ccmctl sandbox $(ARGS)

.PHONY: build
build: ## Build every program into bin/.
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

##@ Check

.PHONY: test
test: lint unit e2e image-test ## Everything that must pass: lint, unit and end-to-end tests, and tests of the images.

.PHONY: lint
lint: ## gofmt, go vet and staticcheck.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [[ -n $$unformatted ]]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	go vet ./...
	$(TOOLS) staticcheck ./...

.PHONY: unit
unit: ## Tests that need nothing but Go, and the smaller counts of API calls.
	@$(HAS_CHROMIUM) || [[ -n "$${REQUIRE_CHROMIUM:-}" ]] || echo "SKIPPED: the tests of the simulator's console, as there is no Chromium (make chromium)"
	go test -race -short $$(go list ./... | grep -v -e /test/e2e -e /test/bench -e /test/chart -e /internal/sandbox -e /test/harness -e '/test/chaos$$')
	go test $(LONG)
	go test -short -skip '^TestMatrix$$' ./test/bench

.PHONY: e2e
e2e: ## Tests of the built manager against a real kube-apiserver, etcd and the simulator.
	KUBEBUILDER_ASSETS=$$(go run ./cmd/ccmctl controlplane) go test -race -count=1 -timeout 30m -parallel 7 $(ARGS) $(E2E)
	KUBEBUILDER_ASSETS=$$(go run ./cmd/ccmctl controlplane) go test -count=1 -short -run '^TestMatrix$$' ./test/bench

# Versions of Kubernetes that `make test-versions` tests against.
VERSIONS ?= 1.34.4 1.35.4 1.36.3 1.37.2

.PHONY: test-versions
test-versions: ## End-to-end tests against each supported Kubernetes (VERSIONS=, ARGS=), which takes hours; a table of what passed.
	ARGS='$(ARGS)' hack/test-versions.sh $(VERSIONS)

.PHONY: image-test
image-test: ## Build the images, look into them, and publish them to a registry of the test's.
	cd hack/image && go vet ./... && go test -count=1 $(ARGS) ./...

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what is used (asks the Go vulnerability database).
	$(TOOLS) govulncheck ./...

.PHONY: ci
ci: test vulncheck ## What CI runs: test and vulncheck.
# Storms of `make chaos`: how long each lasts, the first seed, how many seeds, and
# how many storms at once.
CHAOS_TIME     ?= 30s
CHAOS_SEED     ?= 1
CHAOS_SEEDS    ?= 10
CHAOS_PARALLEL ?= 2

.PHONY: chaos
chaos: controlplane ## Random storms of everything that can go wrong (CHAOS_TIME=, CHAOS_SEED=, CHAOS_SEEDS=, CHAOS_RACE=true; docs/reliability.md).
	CHAOS_TIME=$(CHAOS_TIME) CHAOS_SEED=$(CHAOS_SEED) CHAOS_SEEDS=$(CHAOS_SEEDS) CHAOS_PARALLEL=$(CHAOS_PARALLEL) \
		KUBEBUILDER_ASSETS=$$(go run ./cmd/ccmctl controlplane) go test -count=1 -timeout 24h -v -run TestStorms ./test/chaos 2>&1 | grep -v '^[IWE][0-9]'

# How long `make fuzz` runs each fuzzer, and with how many workers.
FUZZTIME      ?= 1m
FUZZ_PARALLEL ?= $(shell nproc)

.PHONY: mangle
mangle: ## Every field of the API's answers missing, empty and of every other type, one at a time (make test: two ways each).
	MANGLE=all go test -count=1 -timeout 60m -run Mangle\|Wrong ./internal/loadbalancer/reconciler ./internal/instances ./internal/firewall ./internal/tagging ./internal/targets

.PHONY: fuzz
fuzz: ## Run every fuzzer, one after the other (FUZZTIME=10m, FUZZ_PARALLEL=1); inputs that fail stay in testdata/fuzz.
	@failed=; for file in $$(grep -rl --include='*_test.go' '^func Fuzz' . | sort); do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$$file"); do \
			echo "== $$(dirname "$$file") $$name"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s -parallel $(FUZZ_PARALLEL) "$$(dirname "$$file")" || failed="$$failed $$name"; \
		done; \
	done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

.PHONY: bench
bench: controlplane ## Count API calls and measure times at scale (ARGS='-args -whole' for all sizes); results: docs/performance.md.
	go test -count=1 -timeout 5h -v ./test/bench $(ARGS) 2>&1 | grep -v '^[IWE][0-9]'

.PHONY: controlplane
controlplane: ## Build etcd, kube-apiserver and kubectl, once, into the user's cache (CONTROLPLANE=download fetches them).
	@go run ./cmd/ccmctl controlplane >/dev/null

.PHONY: chromium
chromium: ## Install Debian's Chromium, if there is none yet, for the tests of the simulator's console.
	@$(HAS_CHROMIUM) || (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium)

##@ Release

# Where what is released is put, and further arguments of `helm push`, such as
# --plain-http for a registry without TLS.
DIST           ?= $(CURDIR)/dist
HELM_PUSH_ARGS ?=
# When the images count as made, in seconds since 1970.
CREATED        ?= $(shell git log -1 --format=%ct 2>/dev/null)

IMAGE := cd hack/image && go run . --root ../.. --version $(VERSION) --commit $(COMMIT) --created $(CREATED)

.PHONY: image
image: ## Build the images for all platforms into dist/images, as OCI layouts (VERSION=v1.2.3).
	$(IMAGE) --layout $(DIST)/images

.PHONY: publish
publish: ## Push images and chart (VERSION=v1.2.3 REPOSITORY=registry/path); dist/published lists them by digest.
	@[[ -n "$(REPOSITORY)" ]] || { echo "Where to? Set REPOSITORY=registry/path, such as: VERSION=$(VERSION) REPOSITORY=registry.example.com/me make publish" >&2; exit 2; }
	mkdir -p $(DIST)
	$(IMAGE) --repository $(REPOSITORY) --sbom $(DIST)/sbom | tee $(DIST)/published
	hack/release/publish-chart.sh $(VERSION) $(REPOSITORY) $(DIST) $(HELM_PUSH_ARGS) | tee -a $(DIST)/published

.PHONY: bump-version
bump-version: ## Prepare a release: version file, chart, changelog, manifests (NEW_VERSION=v1.2.3, and REPOSITORY= where the images will be).
	REPOSITORY=$(REPOSITORY) hack/release/bump-version.sh $(NEW_VERSION)

##@ Change

.PHONY: manifests
manifests: ## Render deploy/manifests and the chart's list of values from the Helm chart.
	go test ./test/chart -run "Documentation|Golden" -update

.PHONY: generate
generate: ## Write the documents, golden files and manifests that are made from the code.
	go test ./internal/annotation ./internal/events ./internal/state ./internal/lint ./internal/preview ./internal/admission/policy ./internal/loadbalancer/reconciler ./examples -run "Documentation|Golden" -update
	@$(MAKE) --no-print-directory manifests # the chart holds some of it

.PHONY: format
format: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: clean
clean: ## Remove what was built here (the control plane in the user's cache stays).
	rm -rf bin dist

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "make TARGET [ARGS=...]\n"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*##/ {printf "  %-13s%s\n", $$1, $$2}' $(MAKEFILE_LIST)
