package reconciler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// CertificateAPI is the part of DigitalOcean's API that tells of certificates.
type CertificateAPI interface {
	Get(context.Context, string) (*godo.Certificate, *godo.Response, error)
	ListByName(context.Context, string, *godo.ListOptions) ([]godo.Certificate, *godo.Response, error)
}

const (
	// certificateAge is how long a certificate's name is believed to stand for
	// the same id: the new one of a renewal is seen at the latest after that.
	certificateAge = 5 * time.Minute

	typeLetsEncrypt  = "lets_encrypt"
	statePending     = "pending"
	stateCertErrored = "error"
)

// errNoCertificate is a certificate that doesn't exist.
var errNoCertificate = errors.New("no such certificate")

// certificates remembers certificates for a while, by name and by id.
type certificates struct {
	api   CertificateAPI
	clock clock.PassiveClock

	mu    sync.Mutex
	known map[string]certificate
}

type certificate struct {
	godo.Certificate
	read time.Time
}

func newCertificates(api CertificateAPI, clock clock.PassiveClock) *certificates {
	return &certificates{api: api, clock: clock, known: map[string]certificate{}}
}

// byID returns a certificate, or [errNoCertificate].
func (c *certificates) byID(ctx context.Context, id string, maxAge time.Duration) (godo.Certificate, error) {
	return c.get("id "+id, maxAge, func() (*godo.Certificate, error) {
		found, _, err := c.api.Get(ctx, id)
		if doapi.IsNotFound(err) {
			return nil, errNoCertificate
		}
		return found, err
	})
}

// byName returns a certificate, or [errNoCertificate]. Names are unique.
func (c *certificates) byName(ctx context.Context, name string, maxAge time.Duration) (godo.Certificate, error) {
	return c.get("name "+name, maxAge, func() (*godo.Certificate, error) {
		found, _, err := c.api.ListByName(ctx, name, nil)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].Name == name {
				return &found[i], nil
			}
		}
		return nil, errNoCertificate
	})
}

func (c *certificates) get(key string, maxAge time.Duration, ask func() (*godo.Certificate, error)) (godo.Certificate, error) {
	c.mu.Lock()
	known, ok := c.known[key]
	c.mu.Unlock()
	now := c.clock.Now()
	if ok && now.Sub(known.read) < maxAge {
		return known.Certificate, nil
	}
	found, err := ask()
	switch {
	case errors.Is(err, errNoCertificate):
		return godo.Certificate{}, err
	case err != nil:
		return godo.Certificate{}, &requestError{"read certificate by " + key, err}
	case found == nil || found.ID == "":
		return godo.Certificate{}, fmt.Errorf("read certificate by %s: the API answered without an id", key)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// What is pending may be verified a moment later.
	if found.State != statePending && found.State != stateCertErrored {
		c.known[key] = certificate{*found, now}
	}
	return *found, nil
}

// resolveCertificates puts the ids of the certificates that the Service's TLS
// rules are to have into the inputs, or returns what is wrong with those that it
// names.
func (r *Reconciler) resolveCertificates(ctx context.Context, w *work, lb *godo.LoadBalancer, in *loadbalancer.Inputs) (problems []annotation.Problem, err error) {
	if w.spec.Type != annotation.TypeRegional {
		return nil, nil
	}
	shared := usage{lb, func(port int) bool { _, own := w.spec.PortCertificates[port]; return !own }}
	if in.CertificateID, problems, err = r.resolveCertificate(ctx, w, w.spec.Certificate(), shared); err != nil {
		return nil, err
	}
	in.PortCertificateIDs = map[int]string{}
	for _, port := range slices.Sorted(maps.Keys(w.spec.PortCertificates)) {
		own := usage{lb, func(p int) bool { return p == port }}
		id, more, err := r.resolveCertificate(ctx, w, w.spec.PortCertificates[port], own)
		if err != nil {
			return nil, err
		}
		in.PortCertificateIDs[port] = id
		problems = append(problems, more...)
	}
	return w.spec.Attribute(problems), nil
}

func (r *Reconciler) resolveCertificate(ctx context.Context, w *work, named annotation.Certificate, used usage) (string, []annotation.Problem, error) {
	switch {
	case named.ID != "":
		return r.certificateByID(ctx, w, named, used)
	case named.Name != "":
		return r.certificateByName(ctx, named, used.current())
	}
	return "", nil, nil
}

// usage is the use of a certificate at some entry ports of a load balancer.
type usage struct {
	lb   *godo.LoadBalancer // nil: there is none yet
	port func(int) bool
}

// current is the id of the certificate that the load balancer has there.
func (u usage) current() string {
	if u.lb == nil {
		return ""
	}
	for _, rule := range u.lb.ForwardingRules {
		if rule.CertificateID != "" && u.port(rule.EntryPort) {
			return rule.CertificateID
		}
	}
	return ""
}

func (r *Reconciler) certificateByName(ctx context.Context, named annotation.Certificate, current string) (string, []annotation.Problem, error) {
	name := named.Name
	found, err := r.certificates.byName(ctx, name, certificateAge)
	if err == nil && current != "" && found.ID != current {
		// Either the Service's name is new, or the certificate was renewed.
		found, err = r.certificates.byName(ctx, name, 0)
	}
	if errors.Is(err, errNoCertificate) {
		return "", problem(named.Key, name, "must be the name of a certificate in the account, and there is none of that name"), nil
	}
	if err != nil {
		return "", nil, err
	}
	return found.ID, notReady(named.Key, name, found), nil
}

// certificateByID follows a certificate that Let's Encrypt renewed: the load
// balancer then has another id of the same name than the annotation.
func (r *Reconciler) certificateByID(ctx context.Context, w *work, named annotation.Certificate, used usage) (string, []annotation.Problem, error) {
	id, current := named.ID, used.current()
	if current == id {
		return id, nil, nil
	}
	wanted, err := r.certificates.byID(ctx, id, 0)
	missing := errors.Is(err, errNoCertificate)
	if err != nil && !missing {
		return "", nil, err
	}
	if current != "" {
		present, err := r.certificates.byID(ctx, current, certificateAge)
		if err != nil && !errors.Is(err, errNoCertificate) {
			return "", nil, err
		}
		renewed := err == nil && present.Type == typeLetsEncrypt && (missing || present.Name == wanted.Name)
		if renewed && !r.hadCertificate(w.svc, current, used.port) {
			if r.rehearses(w.spec) || w.foretold {
				return current, nil, nil
			}
			return current, nil, r.followCertificate(ctx, w.svc, named, present)
		}
	}
	if missing {
		return "", problem(named.Key, id,
			"must be the id of a certificate in the account, and this one doesn't exist (any more): a renewal by Let's Encrypt brings a new id; "+
				annotation.CertificateName+" names a certificate for good"), nil
	}
	return id, notReady(named.Key, id, wanted), nil
}

// hadCertificate tells whether the load balancer has the same certificate at these
// ports as when it last was as the Service wanted it: then the annotation differs
// as somebody edited it.
func (r *Reconciler) hadCertificate(svc *v1.Service, current string, port func(int) bool) bool {
	agreed := r.recall(svc).agreed.settings
	return agreed != nil && slices.ContainsFunc(agreed.ForwardingRules, func(rule loadbalancer.ForwardingRule) bool {
		return rule.CertificateID == current && port(rule.EntryPort)
	})
}

// followCertificate brings the annotation up to date with a renewal.
func (r *Reconciler) followCertificate(ctx context.Context, svc *v1.Service, named annotation.Certificate, present godo.Certificate) error {
	if err := r.annotate(ctx, svc, map[string]any{named.Key: present.ID}); err != nil {
		return fmt.Errorf("write the renewed certificate's id %s to the Service: %w", present.ID, err)
	}
	klog.FromContext(ctx).Info("Followed a renewed certificate", "service", klog.KObj(svc), "name", present.Name, "annotation", named.Key, "old", named.ID, "new", present.ID)
	r.recorder.Tell(svc, events.CertificateRenewed, fmt.Sprintf("Certificate %s was renewed: its id %s is now %s, and the annotation follows.", present.Name, named.ID, present.ID))
	return nil
}

func notReady(field, value string, c godo.Certificate) []annotation.Problem {
	switch c.State {
	case statePending:
		return problem(field, value, "must be a verified certificate, and this one is still pending: it is looked at again each minute")
	case stateCertErrored:
		return problem(field, value, "must be a verified certificate, and the verification of this one failed")
	}
	return nil
}

func problem(field, value, allowed string) []annotation.Problem {
	return []annotation.Problem{{Field: field, Value: value, Allowed: allowed}}
}
