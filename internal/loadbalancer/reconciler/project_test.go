package reconciler

import (
	"testing"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestAProjectActsAtCreationOnly(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		client := clientOf(s.t, s.sim)
		mine, theirs := addProject(s.t, client, "mine"), addProject(s.t, client, "theirs")
		before := s.ready(annotation.ProjectID, mine)
		if before.ProjectID != mine {
			s.t.Fatalf("made in project %s, want %s", before.ProjectID, mine)
		}
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.ProjectID = theirs })
		s.pass()
		s.wantWrites()
		s.edit(annotation.SizeUnit, "2")
		s.restart()
		s.edit(annotation.SizeUnit, "3", annotation.ProjectID, "")
		if now := s.mine(); now.ProjectID != theirs || now.SizeUnit != 3 {
			s.t.Errorf("load balancer %+v", now)
		}
	})
}

func TestAProjectOfTheClusterIsForNewLoadBalancers(t *testing.T) {
	project := ""
	values := map[string]string{}
	inStand(t, func(o *Options) { o.Defaults.Values = values }, func(s *stand) {
		before := s.ready()
		project = addProject(s.t, clientOf(s.t, s.sim), "ours")
		values[annotation.ProjectID] = project
		s.restart()
		s.edit(annotation.SizeUnit, "2")
		if now := s.mine(); now.ProjectID != before.ProjectID {
			s.t.Errorf("one that existed is in project %s", now.ProjectID)
		}
		other := webService(map[string]string{})
		other.Name, other.UID = "other", "aaaabbbb-4b5a-6978-8796-a5b4c3d2e1f0"
		s.apply(other)
		for _, lb := range s.sim.LoadBalancers() {
			if lb.ID != before.ID && lb.ProjectID != project {
				s.t.Errorf("a new one is in project %s, want %s", lb.ProjectID, project)
			}
		}
	})
}

func TestAnUnknownProjectIsToldWithItsID(t *testing.T) {
	const nobodys = "4de7ac8b-495b-4884-9a69-1050c6793cd6"
	inStand(t, nil, func(s *stand) {
		s.apply(webService(map[string]string{annotation.ProjectID: nobodys}))
		s.wantNews(nobodys, events.LoadBalancerRequestFailed)
	})
}

// Whoever edits the Service would look in vain for what it has from the manager's
// configuration.
func TestWhatIsWrongWithADefaultIsNotBlamedOnTheService(t *testing.T) {
	tests := map[string]struct {
		defaults annotation.Defaults
		service  []string
		reason   events.Reason
		says     string
	}{
		"a certificate that isn't there": {
			annotation.Defaults{Values: map[string]string{annotation.CertificateName: "nope"}},
			[]string{annotation.Type, "REGIONAL"}, events.LoadBalancerConfigError,
			`"nope" is not valid: must be the name of a certificate in the account, and there is none of that name (the value is of the cluster's default)`,
		},
		"settings that don't go together": {
			annotation.Defaults{Classes: map[string]map[string]string{"a": {annotation.SubnetUUID: "5a4981aa-9653-4bd1-bef5-d6bff52042e4"}}},
			[]string{annotation.Class, "a"}, events.LoadBalancerConfigError,
			`DO_CLUSTER_VPC_ID (the value is of the class "a")`,
		},
		"a project that isn't there": {
			annotation.Defaults{Values: map[string]string{annotation.ProjectID: "5a4981aa-9653-4bd1-bef5-d6bff52042e4"}},
			nil, events.LoadBalancerRequestFailed,
			"Edit the Service, or the manager's configuration, which decides for it: project-id of the cluster's default.",
		},
		"a project of the Service's own that isn't there": {
			annotation.Defaults{},
			[]string{annotation.ProjectID, "5a4981aa-9653-4bd1-bef5-d6bff52042e4"}, events.LoadBalancerRequestFailed,
			"could not be found. Edit the Service.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inStand(t, func(o *Options) {
				o.Defaults.Values, o.Defaults.Classes = test.defaults.Values, test.defaults.Classes
			}, func(s *stand) {
				s.made("shop", 1, test.service...)
				s.wantNews(test.says, test.reason)
			})
		})
	}
}

func TestCiphersComeAndGoAndAreNobodysOtherwise(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		certificate := s.sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
		want := func(policy string) {
			s.t.Helper()
			if now := s.mine().TLSCipherPolicy; now != policy {
				s.t.Errorf("ciphers %s, want %s", now, policy)
			}
		}
		before := s.ready(annotation.Type, "REGIONAL", annotation.CertificateName, certificate.Name, annotation.TLSCipherPolicy, "STRONG")
		want("STRONG")
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.TLSCipherPolicy = "DEFAULT" })
		s.pass()
		s.wantNews("TLS cipher policy DEFAULT -> STRONG", events.LoadBalancerDrift)
		s.edit(annotation.TLSCipherPolicy, "")
		want("DEFAULT")
		s.wantNews("TLS cipher policy STRONG -> DEFAULT", events.LoadBalancerUpdated)
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.TLSCipherPolicy = "STRONG" })
		s.pass()
		s.edit(annotation.SizeUnit, "2")
		want("STRONG")
	})
}

// Whose ciphers they are outlives the process: a wish may end while no manager
// runs, and that of a default always does.
func TestCiphersThatNobodyAsksForAnyMoreGoAfterARestart(t *testing.T) {
	class := map[string]map[string]string{"strict": {annotation.TLSCipherPolicy: "STRONG"}}
	for name, test := range map[string]struct {
		defaults annotation.Defaults
		wish     []string
		end      func(*stand)
	}{
		"the annotation is removed meanwhile": {
			wish: []string{annotation.TLSCipherPolicy, "STRONG"},
			end:  func(s *stand) { s.edit(annotation.TLSCipherPolicy, "") },
		},
		"the class is another meanwhile": {
			defaults: annotation.Defaults{Classes: class},
			wish:     []string{annotation.Class, "strict"},
			end:      func(s *stand) { s.edit(annotation.Class, "") },
		},
		"the default is gone": {
			defaults: annotation.Defaults{Values: class["strict"]},
			end:      (*stand).sync,
		},
	} {
		t.Run(name, func(t *testing.T) {
			defaults := test.defaults
			inStand(t, func(o *Options) {
				o.Defaults.Values, o.Defaults.Classes = defaults.Values, defaults.Classes
			}, func(s *stand) {
				certificate := s.sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
				before := s.ready(append(test.wish, annotation.Type, "REGIONAL", annotation.CertificateName, certificate.Name)...)
				if mark := s.web().Annotations[annotation.StrongCiphers]; mark != before.ID || before.TLSCipherPolicy != "STRONG" {
					s.t.Fatalf("mark %q, load balancer %+v", mark, before)
				}
				s.end()
				defaults.Values = nil
				s.start()
				test.end(s)
				if now := s.mine().TLSCipherPolicy; now != "DEFAULT" {
					s.t.Errorf("ciphers %s", now)
				}
				s.wantNews("TLS cipher policy STRONG -> DEFAULT", events.LoadBalancerUpdated)
				if mark := s.web().Annotations[annotation.StrongCiphers]; mark != "" {
					s.t.Errorf("the mark %q stays", mark)
				}
				// From now on they are whoever's.
				s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.TLSCipherPolicy = "STRONG" })
				s.restart()
				s.sync()
				s.wantWrites("PUT /v2/load_balancers/" + before.ID)
			})
		})
	}
}

func TestTheMarkOfStrongCiphersIsOneLoadBalancers(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		certificate := s.sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
		before := s.ready(annotation.Type, "REGIONAL", annotation.CertificateName, certificate.Name)
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.TLSCipherPolicy = "STRONG" })
		s.edit(annotation.StrongCiphers, "5a4981aa-9653-4bd1-bef5-d6bff52042e4")
		s.wantWrites()
		if mark := s.web().Annotations[annotation.StrongCiphers]; mark != "" || s.mine().TLSCipherPolicy != "STRONG" {
			s.t.Errorf("mark %q, ciphers %s", mark, s.mine().TLSCipherPolicy)
		}
	})
}

func TestStrongCiphersThatAPolicyLeavesKeepTheirMark(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		certificate := s.sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
		before := s.ready(annotation.Type, "REGIONAL", annotation.CertificateName, certificate.Name, annotation.TLSCipherPolicy, "STRONG")
		s.end()
		s.start()
		s.edit(annotation.TLSCipherPolicy, "", annotation.Drift, "report")
		s.wantWrites()
		s.wantNews("TLS cipher policy STRONG -> DEFAULT", events.LoadBalancerDrift)
		s.edit(annotation.Drift, "")
		if now := s.mine().TLSCipherPolicy; now != "DEFAULT" {
			s.t.Errorf("ciphers %s", now)
		}
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
	})
}
