package doctor

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/internal/preview"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const vpc = "11111111-1111-4111-8111-111111111111"

// sound are the facts of a cluster in which everything works.
func sound() *Facts {
	spec := coordinationv1.LeaseSpec{HolderIdentity: new("m1"), RenewTime: &metav1.MicroTime{Time: now.Add(-time.Second)}, LeaseDurationSeconds: new(int32(15))}
	f := &Facts{
		Now:      now,
		Settings: &config.Config{Region: "nyc3", VPCID: vpc, Firewall: &config.Firewall{Name: "fw", Tags: []string{"k8s"}}},
		Reads:    []Read{{What: readDroplets, Scope: "droplet:read"}, {What: readVPC, Scope: "vpc:read"}, {What: readLease}},
		Regions:  []godo.Region{{Slug: "nyc3"}},
		VPC:      &godo.VPC{ID: vpc, RegionSlug: "nyc3"},
		Droplets: []godo.Droplet{{ID: 1, Name: "w1", Region: &godo.Region{Slug: "nyc3"}, VPCUUID: vpc}},
		Nodes:    []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "w1", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}, Spec: v1.NodeSpec{ProviderID: "digitalocean://1"}}},
		Firewalls: []godo.Firewall{
			{Name: "fw", Tags: []string{"k8s"}},
			{Name: "other", Tags: []string{"x"}},
		},
		Lease: &coordinationv1.Lease{Spec: spec}, Quota: doapi.Quota{Limit: 5000, Remaining: 4000},
		Deployments: []appsv1.Deployment{deployment("ccm", "registry.example/digitalocean-cloud-controller-manager:v1"), deployment("judge", "registry.example/digitalocean-cloud-controller-manager-admission-server:v1")},
		Webhooks:    []admissionv1.ValidatingWebhookConfiguration{webhook()},
		Ready:       map[string]int{"kube-system/admission": 2},
		Entries: []preview.Entry{{Service: "shop/web", Forecast: reconciler.Forecast{
			Action: reconciler.ActionNone, LoadBalancer: &godo.LoadBalancer{ID: "lb", IP: "192.0.2.1", DropletIDs: []int{1}},
		}}},
	}
	return f
}

func deployment(name, image string) appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
	d.Spec.Template.Spec.Containers = []v1.Container{{Image: image}}
	return d
}

func webhook() admissionv1.ValidatingWebhookConfiguration {
	return admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "digitalocean-cloud-controller-manager-admission-server"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			FailurePolicy: new(admissionv1.Ignore), TimeoutSeconds: new(int32(5)),
			ClientConfig: admissionv1.WebhookClientConfig{CABundle: []byte("ca"), Service: &admissionv1.ServiceReference{Namespace: "kube-system", Name: "admission"}},
		}},
	}
}

// status is the API's answer of a status.
func status(code int) error {
	return &godo.ErrorResponse{Response: &http.Response{StatusCode: code, Request: &http.Request{}}, Message: "answer"}
}

// brief is a finding without its message and cure.
func brief(findings []Finding) []string {
	all := []string{}
	for _, f := range findings {
		all = append(all, f.Check+" "+string(f.Severity)+" "+f.Object)
	}
	return all
}

func TestASoundClusterHasNoFindings(t *testing.T) {
	if found := Examine(sound()); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestEachTroubleIsFoundWithItsCure(t *testing.T) {
	balanced := func(f *Facts) *v1.Service {
		f.Services = []v1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}}
		return &f.Services[0]
	}
	taint := v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}
	for name, tc := range map[string]struct {
		trouble func(*Facts)
		// says is a part of the first finding.
		says string
		want []string
	}{
		"token refused": {func(f *Facts) {
			f.Reads = append(f.Reads, Read{"The account", "account:read", status(401)}, Read{"Tags", "tag:read", fmt.Errorf("not asked: %w", doapi.ErrUnauthorized)})
		}, "The account, Tags can't be read: DigitalOcean refuses the token (401).", []string{"access error API token"}},
		"API away altogether": {func(f *Facts) {
			f.Reads = append(f.Reads, Read{"The account", "account:read", status(503)}, Read{"Tags", "tag:read", status(503)})
		}, "The account, Tags can't be read: answer", []string{"access error DigitalOcean's API"}},
		"scopes missing": {func(f *Facts) {
			f.Reads = append(f.Reads, Read{"Regions", "regions:read", status(403)}, Read{"Tags", "tag:read", status(403)})
		}, "regions:read", []string{"access error API token", "access error API token"}},
		"scope missing":     {func(f *Facts) { f.Reads = append(f.Reads, Read{"Tags", "tag:read", status(403)}) }, "Tags can't be read", []string{"access error API token"}},
		"API away":          {func(f *Facts) { f.Reads = append(f.Reads, Read{"Tags", "tag:read", status(503)}) }, "Tags", []string{"access error DigitalOcean's API"}},
		"no right in kube":  {func(f *Facts) { f.Reads = append(f.Reads, Read{"Deployments", "", errors.New("forbidden")}) }, "forbidden", []string{"access error Kubernetes"}},
		"unknown region":    {func(f *Facts) { f.Regions = []godo.Region{{Slug: "ams3"}} }, `no region "nyc3"`, []string{"region error REGION"}},
		"droplet elsewhere": {func(f *Facts) { f.Droplets[0].Region.Slug = "ams3" }, "in the region ams3", []string{"region error Node w1"}},
		"no VPC":            {func(f *Facts) { f.VPC = nil }, "There is no VPC", []string{"vpc error DO_CLUSTER_VPC_ID"}},
		"VPC elsewhere":     {func(f *Facts) { f.VPC.RegionSlug = "ams3" }, "in the region ams3", []string{"vpc error DO_CLUSTER_VPC_ID"}},
		"another VPC":       {func(f *Facts) { f.Droplets[0].VPCUUID = "other" }, "in the VPC other", []string{"vpc error Node w1"}},
		"kubelet's flag":    {func(f *Facts) { f.Nodes[0].Spec.ProviderID = "" }, "--cloud-provider=external", []string{"kubelets error Node w1"}},
		"never initialised": {func(f *Facts) { f.Nodes[0].Spec = v1.NodeSpec{Taints: []v1.Taint{taint}} }, "still has the taint", []string{"kubelets error Node w1"}},
		"just joined": {func(f *Facts) {
			f.Nodes[0].Spec = v1.NodeSpec{Taints: []v1.Taint{taint}}
			f.Nodes[0].CreationTimestamp = metav1.NewTime(now)
		}, "", []string{}},
		"foreign":      {func(f *Facts) { f.Nodes[0].Spec.ProviderID = "aws:///x/y" }, "aws:///x/y", []string{"kubelets warning Node w1"}},
		"droplet gone": {func(f *Facts) { f.Droplets[0].ID = 2 }, "no droplet 1", []string{"droplets error Node w1"}},
		"name differs": {func(f *Facts) {
			f.Nodes[0].Spec = v1.NodeSpec{Taints: []v1.Taint{taint}}
			f.Nodes[0].CreationTimestamp = metav1.NewTime(now)
			f.Droplets[0].Name = "w1.example.com"
		}, "The droplet w1.example.com has nearly its name", []string{"droplets error Node w1"}},
		"name twice": {func(f *Facts) {
			f.Nodes[0].Spec = v1.NodeSpec{Taints: []v1.Taint{taint}}
			f.Nodes[0].CreationTimestamp = metav1.NewTime(now)
			f.Droplets = append(f.Droplets, godo.Droplet{ID: 2, Name: "w1"})
		}, "2 droplets", []string{"droplets warning Node w1"}},
		"no manager":   {func(f *Facts) { f.Lease = nil }, "none runs", []string{"manager error cloud-controller-manager"}},
		"manager gone": {func(f *Facts) { f.Now = now.Add(time.Minute) }, "m1 holds the lease, and renewed it 1m1s ago", []string{"manager error cloud-controller-manager"}},
		"two managers": {func(f *Facts) {
			f.Deployments = append(f.Deployments, deployment("old", "digitalocean/digitalocean-cloud-controller-manager:v0.1.50"))
		}, "Another manager", []string{"controllers error Deployment kube-system/ccm", "controllers error Deployment kube-system/old"}},
		"another controller": {func(f *Facts) {
			d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "metallb", Name: "speaker"}}
			d.Spec.Template.Spec.Containers = []v1.Container{{Image: "quay.io/metallb/speaker:v1"}}
			f.DaemonSets = append(f.DaemonSets, d)
		}, "another controller", []string{"controllers warning DaemonSet metallb/speaker"}},
		"strange writer": {func(f *Facts) {
			balanced(f).ManagedFields = []metav1.ManagedFieldsEntry{
				{Manager: "speaker", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:loadBalancer":{}}}`)},
				{Manager: "digitalocean-cloud-controller-manager", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:loadBalancer":{}}}`)},
			}
		}, `"speaker" wrote`, []string{"controllers warning Service shop/web"}},
		"refused Service": {func(f *Facts) {
			f.Entries[0].Action = reconciler.ActionRefuse
			f.Entries[0].Problems = []annotation.Problem{{Field: annotation.SizeUnit, Value: "x", Allowed: "must be a number"}}
		}, "must be a number", []string{"services error Service shop/web"}},
		"no backends": {func(f *Facts) {
			f.Entries[0].LoadBalancer.DropletIDs = nil
			f.Entries[0].Notes = []preview.Note{{Reason: "NoEligibleBackends", Message: "all Nodes are excluded."}}
		}, "has the address 192.0.2.1 and no backends. all Nodes are excluded.", []string{"backends error Service shop/web"}},
		"all Nodes excluded": {func(f *Facts) {
			f.Entries[0].LoadBalancer.DropletIDs = nil
			f.Entries[0].Notes = []preview.Note{{Reason: "NoEligibleBackends", Message: "none of 1 Nodes qualifies."}}
			f.Nodes[0].Labels = map[string]string{v1.LabelNodeExcludeBalancers: ""}
		}, "kubectl label node w1 node.kubernetes.io/exclude-from-external-load-balancers-", []string{"backends error Service shop/web"}},
		"only the control plane excluded": {func(f *Facts) {
			f.Entries[0].LoadBalancer.DropletIDs = nil
			f.Entries[0].Notes = []preview.Note{{Reason: "NoEligibleBackends", Message: "none of 2 Nodes qualifies."}}
			excluded := f.Nodes[0].DeepCopy()
			excluded.Name, excluded.Labels = "a", map[string]string{v1.LabelNodeExcludeBalancers: ""}
			f.Nodes = append([]v1.Node{*excluded}, f.Nodes...)
		}, "Mend what keeps the Nodes out", []string{"backends error Service shop/web"}},
		"backends never put in": {func(f *Facts) { f.Entries[0].LoadBalancer.DropletIDs = nil }, "no manager has put them in", []string{"backends error Service shop/web"}},
		"selector without Pods": {func(f *Facts) {
			balanced(f).Spec.Selector = map[string]string{"app": "wbe"}
			f.Pods = map[string]Endpoints{"shop/web": {}}
		}, "Its selector app=wbe matches no Pod", []string{"pods warning Service shop/web"}},
		"Pods not ready": {func(f *Facts) {
			balanced(f).Spec.Selector = map[string]string{"app": "web"}
			f.Pods = map[string]Endpoints{"shop/web": {All: 3}}
		}, "none of them is ready", []string{"pods warning Service shop/web"}},
		"no selector, no endpoints": {func(f *Facts) {
			balanced(f)
			f.Pods = map[string]Endpoints{"shop/web": {}}
		}, "kubernetes.io/service-name=web", []string{"pods warning Service shop/web"}},
		"Pods ready": {func(f *Facts) {
			balanced(f)
			f.Pods = map[string]Endpoints{"shop/web": {Ready: 1, All: 3}}
		}, "", []string{}},
		"endpoints unread":    {func(f *Facts) { balanced(f) }, "", []string{}},
		"firewall twice":      {func(f *Facts) { f.Firewalls[1] = f.Firewalls[0] }, "2 firewalls", []string{"firewall error firewall fw"}},
		"firewall of another": {func(f *Facts) { f.Firewalls[0].Tags = []string{"other"} }, "may be another cluster's", []string{"firewall warning firewall fw"}},
		"webhook without CA":  {func(f *Facts) { f.Webhooks[0].Webhooks[0].ClientConfig.CABundle = nil }, "no caBundle", []string{"webhook warning webhook digitalocean-cloud-controller-manager-admission-server"}},
		"webhook without Service": {func(f *Facts) { f.Ready = nil }, "does not exist",
			[]string{"webhook warning webhook digitalocean-cloud-controller-manager-admission-server"}},
		"webhook blocks": {func(f *Facts) {
			f.Webhooks[0].Webhooks[0].FailurePolicy = new(admissionv1.Fail)
			f.Webhooks[0].Webhooks[0].TimeoutSeconds = new(int32(30))
			f.Ready["kube-system/admission"] = 0
		}, "failurePolicy is Fail", []string{
			"webhook warning webhook digitalocean-cloud-controller-manager-admission-server",
			"webhook warning webhook digitalocean-cloud-controller-manager-admission-server",
			"webhook error webhook digitalocean-cloud-controller-manager-admission-server",
		}},
		"low quota": {func(f *Facts) { f.Quota.Remaining = 499 }, "499 of 5000", []string{"quota warning API token"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := sound()
			tc.trouble(f)
			found := Examine(f)
			if diff := cmp.Diff(tc.want, brief(found)); diff != "" {
				t.Fatal(diff)
			}
			if len(found) > 0 && !strings.Contains(found[0].Message+found[0].Cure, tc.says) {
				t.Errorf("%q, want %q", found[0].Message, tc.says)
			}
			for _, one := range found {
				if one.Cure == "" {
					t.Errorf("there is no cure of %+v", one)
				}
			}
		})
	}
}

func TestWhatCouldNotBeReadIsNotTakenForMissing(t *testing.T) {
	f := sound()
	f.Droplets, f.Reads[0].Err = nil, status(403)
	if diff := cmp.Diff([]string{"access error API token"}, brief(Examine(f))); diff != "" {
		t.Error(diff)
	}
}
