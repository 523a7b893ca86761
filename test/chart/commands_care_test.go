package chart

import "strings"

// notRun are the commands of documents that no test gives, and why.
var notRun = map[string]string{
	// The manager runs until it is told to end.
	"DO_ACCESS_TOKEN_FILE=/path/to/token REGION=nyc3 DO_CLUSTER_ID=my-cluster bin/digitalocean-cloud-controller-manager --kubeconfig=$KUBECONFIG --authentication-kubeconfig=$KUBECONFIG --authorization-kubeconfig=$KUBECONFIG": "test/e2e and internal/sandbox run the manager by these flags",

	// There are no kubelets, and so no Pods.
	"kubectl -n kube-system logs -l app.kubernetes.io/component=manager --tail=-1 | grep -c LoadBalancerCreated": "needs a Pod",
	"kubectl -n kube-system port-forward <the leader's pod> 12301":                                               "needs a Pod",
	"kubectl -n kube-system port-forward deploy/digitalocean-cloud-controller-manager 12301":                     "needs a Pod",
	"curl http://127.0.0.1:12301/debug/state":                                                                    "needs the port of a Pod; test/e2e reads the page",
	"curl -s localhost:12301/debug/state | jq '.services[] | select(.awaySince)'":                                "needs the port of a Pod; test/e2e reads the page",

	// What isn't ours.
	"kubectl apply -f <the public manager's manifest>": "another project's",
	"doctl compute tag create $TAG":                    "changes an account of DigitalOcean's",
	`curl -X POST https://api.digitalocean.com/v2/tags/$TAG/resources -H "Authorization: Bearer $DO_ACCESS_TOKEN" -H "Content-Type: application/json" -d '{"resources": [{"resource_id": "LOAD_BALANCER_ID", "resource_type": "load_balancer"}]}'`: "changes an account of DigitalOcean's",
	"cosign verify --certificate-identity-regexp '/.github/workflows/release.yaml@refs/tags/' --certificate-oidc-issuer <the workflow's issuer> IMAGE":                                                                                             "needs a release",

	// What other tests do.
	"kubectl apply -k my-cluster":                          "TestTheKustomizationOfTheDocumentIsOne applies it",
	"kubectl apply -f web.yaml":                            "needs the admission server; TestAdmission of test/e2e compares what kubectl shows",
	"go test -run WhereverAProcessIsKilled ./internal/...": "make unit runs it",
	"#!/bin/sh\nexec kubectl do-ccm __complete \"$@\"":     "kubectl calls it with a line that is being typed",
}

// care is what a command needs of this test.
type care struct {
	// files are in the folder in which it is given.
	files map[string]string
	// before and after are scripts that make what it needs, and tidy up so that the
	// next document begins anew.
	before, after string
	// code with which it ends.
	code int
	// otherOutput: the document shows an example, and not this cluster.
	otherOutput bool
}

// prepared is what clusters have that documents speak of.
const prepared = `kubectl create -f - <<'END'
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: cloud-controller-manager, namespace: kube-system}
spec: {holderIdentity: somebody}
END`

const (
	admissionServer = "kubectl apply -f deploy/manifests/admission-rbac.yaml -f deploy/manifests/admission-server.yaml -f deploy/manifests/admission-webhook.yaml"

	uninstall    = "helm uninstall digitalocean-cloud-controller-manager --namespace kube-system"
	forgetSecret = "kubectl -n kube-system delete secret digitalocean"
	plainService = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: web}}
`
	wrongService = `apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations:
    service.beta.kubernetes.io/do-loadbalancer-name: web
    service.beta.kubernetes.io/do-loadbalancer-size-unit: "many"
    service.beta.kubernetes.io/do-loadbalancer-typ: "REGIONAL"
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: web}}
`
)

// namedService is what NAME stands for.
var namedService = care{before: "kubectl create service clusterip named --tcp=80", after: "kubectl delete service named"}

var someValues = map[string]string{"values.yaml": "config: {clusterID: my-cluster}\n"}

// cares are of the commands that don't work just so.
var cares = map[string]care{
	"kubectl -n kube-system create secret generic digitalocean --from-file=access-token=/path/to/token":                                                                                                    {after: forgetSecret},
	"helm install digitalocean-cloud-controller-manager deploy/charts/digitalocean-cloud-controller-manager --namespace kube-system --set config.clusterID=my-cluster --set image.repository=<your image>": {after: uninstall},
	"helm install digitalocean-cloud-controller-manager deploy/charts/digitalocean-cloud-controller-manager --namespace kube-system --set image.repository=registry.example.com/digitalocean-cloud-controller-manager --set config.clusterID=my-cluster": {
		after: uninstall,
	},
	"helm install digitalocean-cloud-controller-manager deploy/charts/digitalocean-cloud-controller-manager --namespace kube-system --set kind=DaemonSet --set image.repository=registry.example.com/digitalocean-cloud-controller-manager --set config.clusterID=my-cluster --set kubernetesAPI.host=localhost --set kubernetesAPI.port=7445": {
		after: uninstall,
	},
	"kubectl apply -f deploy/manifests/rbac.yaml": {after: "kubectl delete -f deploy/manifests/rbac.yaml"},

	admissionServer: {after: strings.Replace(admissionServer, "apply", "delete", 1)},

	// The public manager is there until it is deleted, and ours beside it and after it.
	"helm install observer deploy/charts/digitalocean-cloud-controller-manager --namespace kube-system --values values.yaml --set config.observeOnly=true --set replicas=1 --set fullnameOverride=observer --set serviceAccount.name=observer --set leaderElection.resourceName=observer --set secureServing.port=10268 --set debug.port=12311": {
		files: someValues, before: "kubectl apply -f test/chart/testdata/public-manager.yaml",
	},
	"helm install digitalocean-cloud-controller-manager deploy/charts/digitalocean-cloud-controller-manager --namespace kube-system --values values.yaml": {files: someValues},

	"ccmctl lint deploy/*.yaml": {files: map[string]string{"deploy/web.yaml": wrongService}, code: 1},
	"helm template my-chart | ccmctl lint -": {files: map[string]string{
		"my-chart/Chart.yaml": "{apiVersion: v2, name: my-chart, version: 1.0.0}\n", "my-chart/templates/web.yaml": plainService,
	}},
	"kubectl kustomize overlays/production | ccmctl lint -": {files: map[string]string{
		"overlays/production/kustomization.yaml": "resources: [web.yaml]\n", "overlays/production/web.yaml": plainService,
	}},
	"ccmctl plan -f service.yaml": {files: map[string]string{"service.yaml": plainService}, otherOutput: true},
	"ccmctl orphans":              {otherOutput: true},
	"ccmctl doctor":               {otherOutput: true},

	"TAG=k8s-svc:$(kubectl get service NAME -o jsonpath={.metadata.uid})": namedService,
	"kubectl get service NAME -o yaml --show-managed-fields":              namedService,
	// There are no Pods to be found.
	"kubectl get pods --all-namespaces -o wide | grep cloud-controller-manager": {code: 1},
}
