package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/chaos/plan"
)

// kubePatience is how long an action waits for a kube-apiserver that restarts.
const kubePatience = time.Minute

// insist does something to Kubernetes until it works or can't.
func (s *storm) insist(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(s.ctx, kubePatience)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		s.pause(200 * time.Millisecond)
	}
}

func (s *storm) createService(a plan.Action) error {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: a.Object, Annotations: map[string]string{}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": a.Object}, Ports: servicePorts(a.Ports)},
	}
	if a.On {
		svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	}
	for key, value := range a.Annotations {
		if value != "" {
			svc.Annotations[key] = s.resolve(value)
		}
	}
	return s.insist(func(ctx context.Context) error {
		_, err := s.kube.CoreV1().Services(namespace).Create(ctx, svc, metav1.CreateOptions{})
		return err
	})
}

func servicePorts(ports []plan.Port) []v1.ServicePort {
	var all []v1.ServicePort
	for _, p := range ports {
		port := v1.ServicePort{Name: fmt.Sprintf("port-%d", p.Port), Port: p.Port, Protocol: v1.ProtocolTCP}
		if p.UDP {
			port.Protocol = v1.ProtocolUDP
		}
		all = append(all, port)
	}
	return all
}

// resolve puts the certificate's id in the place of what stands for it.
func (s *storm) resolve(value string) string {
	name, stands := strings.CutPrefix(value, plan.CertificateOf)
	if !stands {
		return value
	}
	id, err := s.certificateID(name)
	if err != nil {
		s.t.Error(err)
	}
	return id
}

// annotate sets annotations; an empty value removes one.
func (s *storm) annotate(name string, values map[string]string) error {
	changes := map[string]any{}
	for key, value := range values {
		changes[key] = s.resolve(value)
		if value == "" {
			changes[key] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": changes}})
	if err != nil {
		return err
	}
	return s.insist(func(ctx context.Context) error {
		_, err := s.kube.CoreV1().Services(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// bare takes all annotations off a Service that people give it.
func (s *storm) bare(name string) error {
	none := map[string]string{}
	for _, d := range annotation.Registry {
		if !d.Written && d.Key != annotation.Disown {
			none[d.Key] = ""
		}
	}
	// A certificate's id is written by the manager as well.
	none[annotation.CertificateID] = ""
	return s.annotate(name, none)
}

// change edits a Service as it is now.
func (s *storm) change(name string, edit func(*v1.Service)) error {
	return s.insist(func(ctx context.Context) error {
		svc, err := s.kube.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(svc)
		_, err = s.kube.CoreV1().Services(namespace).Update(ctx, svc, metav1.UpdateOptions{})
		return err
	})
}

func (s *storm) changePorts(name string, ports []plan.Port) error {
	return s.change(name, func(svc *v1.Service) { svc.Spec.Ports = servicePorts(ports) })
}

func (s *storm) retype(name string, balanced bool) error {
	return s.change(name, func(svc *v1.Service) {
		if balanced {
			svc.Spec.Type = v1.ServiceTypeLoadBalancer
			return
		}
		svc.Spec.Type, svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceTypeClusterIP, "", 0
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].NodePort = 0
		}
	})
}

func (s *storm) disown(name string, disowned bool) error {
	value := ""
	if disowned {
		value = "true"
	}
	return s.annotate(name, map[string]string{annotation.Disown: value})
}

func (s *storm) deleteService(name string) error {
	return s.insist(func(ctx context.Context) error {
		return s.kube.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// addNode makes a droplet and its Node. The variant chooses addresses and labels.
func (s *storm) addNode(name string, variant int) error {
	droplet := s.sim.AddDroplet(simulator.DropletSpec{
		Name: name, Team: team, Region: region, Tags: []string{workerTag}, IPv6: variant%2 == 1, NoPublicIPv4: variant == 2,
		CreatedAt: time.Now().Add(-time.Hour),
	})
	s.mu.Lock()
	s.droplets[name] = droplet.ID
	s.mu.Unlock()
	pool := []string{"a", "b"}[variant%2]
	err := s.insist(func(ctx context.Context) error {
		_, err := sandbox.RegisterNode(ctx, s.kube, sandbox.NewNode(name, sandbox.NodeOptions{Labels: map[string]string{"pool": pool}}))
		return err
	})
	if apierrors.IsAlreadyExists(err) { // an attempt before did it, and nobody said so
		return nil
	}
	return err
}

func (s *storm) dropletID(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.droplets[name]
}

// removeNode takes a Node out of the cluster as people do: the Node first.
func (s *storm) removeNode(name string, dropletToo bool) error {
	err := s.insist(func(ctx context.Context) error {
		node, err := s.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.record.willRemove(node)
		return s.kube.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	})
	if !dropletToo {
		return err
	}
	return errors.Join(err, s.sim.DeleteDroplet(s.dropletID(name)))
}

// power turns a droplet on or off; its kubelet speaks or falls silent.
func (s *storm) power(name string, on bool) error {
	turn := s.sim.StopDroplet
	if on {
		turn = s.sim.StartDroplet
	}
	if err := turn(s.dropletID(name)); err != nil {
		return err
	}
	return s.ready(name, on)
}

func (s *storm) ready(name string, ready bool) error {
	return s.insist(func(ctx context.Context) error { return sandbox.SetNodeReady(ctx, s.kube, name, ready) })
}

// loseDroplet deletes the droplet under its Node.
func (s *storm) loseDroplet(name string) error {
	if err := s.sim.DeleteDroplet(s.dropletID(name)); err != nil {
		return err
	}
	return s.ready(name, false)
}

// recreate puts another droplet in the place of one, and registers it anew.
func (s *storm) recreate(name string) error {
	// The old one may be gone already.
	_ = s.sim.DeleteDroplet(s.dropletID(name))
	if err := s.removeNode(name, false); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.addNode(name, 0)
}
