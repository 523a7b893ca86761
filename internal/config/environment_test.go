package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

const testToken = "dop_v1_0123456789abcdef"

// environment makes a lookup function of pairs.
func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func with(values map[string]string) map[string]string {
	all := map[string]string{EnvToken: testToken}
	for k, v := range values {
		all[k] = v
	}
	return all
}

func TestFromEnvironmentReadsEveryVariable(t *testing.T) {
	c, err := FromEnvironment(environment(map[string]string{
		EnvToken:        testToken,
		EnvAPIURL:       "http://127.0.0.1:8080",
		EnvRateLimit:    "2.5",
		EnvRegion:       "nyc3",
		EnvMetadataURL:  "http://127.0.0.1:8081/",
		EnvClusterID:    "6f1c2d3e-0000-4000-8000-000000000001",
		EnvVPCID:        "5a4981aa-9653-4bd1-bef5-d6bff52042e4",
		EnvDefaultType:  "REGIONAL",
		EnvFirewallName: "k8s-public",
		EnvFirewallTags: " k8s:worker , k8s ,",
		EnvMetricsAddr:  "127.0.0.1:9100",
		EnvDebugAddr:    ":9101",
		EnvNodeBrake:    "5, 50%",
		EnvNodeTags:     "pool:*, env:*",
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.API.URL.String(), c.API.RateLimitQPS, c.Region, c.MetadataURL.String(), c.ClusterID, c.VPCID, c.Defaults.Type,
		*c.Firewall, c.MetricsAddress, c.DebugAddress}
	want := []any{"http://127.0.0.1:8080/", 2.5, "nyc3", "http://127.0.0.1:8081/", "6f1c2d3e-0000-4000-8000-000000000001",
		"5a4981aa-9653-4bd1-bef5-d6bff52042e4", "REGIONAL", Firewall{Name: "k8s-public", Tags: []string{"k8s:worker", "k8s"}}, "127.0.0.1:9100", ":9101"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantNodes := Nodes{DeletionBrake: Brake{Count: 5, Percent: 50, Window: time.Minute}, TagLabels: []string{"pool:*", "env:*"}}
	if diff := cmp.Diff(wantNodes, c.Nodes); diff != "" {
		t.Error(diff)
	}
	if c.API.Token.IsZero() {
		t.Error("the token is not read")
	}
}

func TestFromEnvironmentDefaults(t *testing.T) {
	// Charts render what isn't set as an empty string.
	c, err := FromEnvironment(environment(with(map[string]string{EnvRegion: "", EnvDefaultType: "", EnvFirewallName: " "})))
	if err != nil {
		t.Fatal(err)
	}
	if c.Defaults.Type != annotation.TypeRegionalNetwork {
		t.Errorf("default type is %q, want %q", c.Defaults.Type, annotation.TypeRegionalNetwork)
	}
	if c.Firewall != nil || c.API.URL != nil || c.Region != "" {
		t.Errorf("unset variables have values: %+v", c)
	}
	if want := (Brake{Count: 3, Percent: 20, Window: time.Minute}); c.Nodes.DeletionBrake != want {
		t.Errorf("brake is %+v, want %+v", c.Nodes.DeletionBrake, want)
	}
	if got := c.MetadataURL.String(); got != "http://169.254.169.254/" {
		t.Errorf("metadata URL is %q", got)
	}
}

func TestFromEnvironmentRefuses(t *testing.T) {
	directory := t.TempDir()
	tests := []struct {
		name string
		env  map[string]string
		// setting and value are what the message must name.
		setting, value string
	}{
		{"targets without a cluster ID", with(map[string]string{EnvTargets: "tag"}), EnvTargets, EnvClusterID},
		{"targets that are none", with(map[string]string{EnvTargets: "nodes"}), EnvTargets, `"nodes"`},
		{"a health check without a port", with(map[string]string{EnvHealthCheck: "http:/x"}), EnvHealthCheck, `"http:/x"`},
		{"what to do about missing ones", with(map[string]string{EnvMissing: "yes"}), EnvMissing, "recreate, keep"},
		{"observe-only that is neither", with(map[string]string{EnvObserveOnly: "yes"}), EnvObserveOnly, `"yes"`},
		{"a drift period without a unit", with(map[string]string{EnvDriftPeriod: "300"}), EnvDriftPeriod, `"300"`},
		{"a drift period that is too short", with(map[string]string{EnvDriftPeriod: "10ms"}), EnvDriftPeriod, "1s to 24h"},
		{"six tags of a firewall", with(map[string]string{EnvFirewallName: "fw", EnvFirewallTags: "a,b,c,d,e,f"}), EnvFirewallTags, "at most 5"},
		{"region with a space", with(map[string]string{EnvRegion: "new york"}), EnvRegion, `"new york"`},
		{"region in upper case", with(map[string]string{EnvRegion: "NYC3"}), EnvRegion, `"NYC3"`},
		{"type in lower case", with(map[string]string{EnvDefaultType: "regional"}), EnvDefaultType, `"regional"`},
		{"type that Services can't have", with(map[string]string{EnvDefaultType: "GLOBAL"}), EnvDefaultType, `"GLOBAL"`},
		{"VPC that is no UUID", with(map[string]string{EnvVPCID: "default"}), EnvVPCID, `"default"`},
		{"API without a scheme", with(map[string]string{EnvAPIURL: "api.example.com"}), EnvAPIURL, `"api.example.com"`},
		{"API with a path", with(map[string]string{EnvAPIURL: "https://api.example.com/v2"}), EnvAPIURL, `"https://api.example.com/v2"`},
		{"API of another scheme", with(map[string]string{EnvAPIURL: "ftp://api.example.com"}), EnvAPIURL, `"ftp://api.example.com"`},
		{"rate that is no number", with(map[string]string{EnvRateLimit: "fast"}), EnvRateLimit, `"fast"`},
		{"rate of zero", with(map[string]string{EnvRateLimit: "0"}), EnvRateLimit, `"0"`},
		{"negative rate", with(map[string]string{EnvRateLimit: "-1"}), EnvRateLimit, `"-1"`},
		{"rate that is not a number", with(map[string]string{EnvRateLimit: "NaN"}), EnvRateLimit, `"NaN"`},
		{"cluster ID with a dot", with(map[string]string{EnvClusterID: "a.b"}), EnvClusterID, `"a.b"`},
		{"cluster ID too long for a tag", with(map[string]string{EnvClusterID: strings.Repeat("a", 252)}), EnvClusterID, "251"},
		{"metrics without a port", with(map[string]string{EnvMetricsAddr: "localhost"}), EnvMetricsAddr, `"localhost"`},
		{"debug with a bad port", with(map[string]string{EnvDebugAddr: ":70000"}), EnvDebugAddr, `":70000"`},
		{"firewall without tags", with(map[string]string{EnvFirewallName: "web"}), EnvFirewallTags, EnvFirewallName},
		{"firewall tags without a name", with(map[string]string{EnvFirewallTags: "k8s"}), EnvFirewallName, EnvFirewallTags},
		{"firewall name with a space", with(map[string]string{EnvFirewallName: "my fw", EnvFirewallTags: "k8s"}), EnvFirewallName, `"my fw"`},
		{"firewall tag with a dot", with(map[string]string{EnvFirewallName: "fw", EnvFirewallTags: "k8s,a.b"}), EnvFirewallTags, `"a.b"`},
		{"brake without a percentage", with(map[string]string{EnvNodeBrake: "3"}), EnvNodeBrake, `"3"`},
		{"brake beyond all", with(map[string]string{EnvNodeBrake: "3,120%"}), EnvNodeBrake, `"3,120%"`},
		{"tag pattern that can't match", with(map[string]string{EnvNodeTags: "pool:["}), EnvNodeTags, `"pool:["`},
		{"no token", map[string]string{}, EnvToken, EnvTokenFile},
		{"token file that is a directory", map[string]string{EnvTokenFile: directory}, EnvTokenFile, directory},
		{"token and file", with(map[string]string{EnvTokenFile: filepath.Join(directory, "token")}), EnvTokenFile, EnvToken},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := FromEnvironment(environment(test.env))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.HasPrefix(err.Error(), test.setting+": ") || !strings.Contains(err.Error(), test.value) {
				t.Errorf("the message names neither %s nor %s: %v", test.setting, test.value, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one problem: %v", err)
			}
			var problem *Problem
			if !errors.As(err, &problem) || problem.Allowed == "" {
				t.Errorf("no Problem that says what is allowed: %v", err)
			}
		})
	}
}

func TestFromEnvironmentReportsAllProblemsAtOnce(t *testing.T) {
	_, err := FromEnvironment(environment(map[string]string{
		EnvRegion: "?", EnvVPCID: "?", EnvRateLimit: "?", EnvDefaultType: "?", EnvMetricsAddr: "?",
	}))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, setting := range []string{EnvToken, EnvRegion, EnvVPCID, EnvRateLimit, EnvDefaultType, EnvMetricsAddr} {
		if !strings.Contains(err.Error(), setting+": ") {
			t.Errorf("%s is not reported: %v", setting, err)
		}
	}
}

func TestTokenIsNeverShown(t *testing.T) {
	for _, token := range []string{testToken, testToken + "\n", "abc def" + testToken, testToken + "\x00"} {
		c, err := FromEnvironment(environment(map[string]string{EnvToken: token, EnvRegion: "?"}))
		shown := fmt.Sprintf("%v %+v %#v %v %v", c, c, c, err, c.Notes)
		if strings.Contains(shown, testToken) {
			t.Errorf("the token is shown: %s", shown)
		}
	}
}

func TestATokenInTheWrongSettingIsNotShown(t *testing.T) {
	const old = "77e027c7447f468068a7d4fea41e7149a75a94088082c66fcf555de3977f69d3" // without the prefix of today's
	for token, environ := range map[string]map[string]string{
		testToken: {EnvRegion: testToken, EnvRateLimit: "1" + testToken},
		old:       {EnvToken: old, EnvVPCID: old, EnvRateLimit: "x" + old},
	} {
		_, err := FromEnvironment(environment(environ))
		if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "[redacted]") {
			t.Errorf("%v", err)
		}
	}
	_, err := Read(environment(nil), strings.NewReader("version: 1\nregion: "+testToken+"\n"))
	if err == nil || strings.Contains(err.Error(), testToken) {
		t.Errorf("%v", err)
	}
}

func TestTokenFromFileNeedNotExistYet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	c, err := FromEnvironment(environment(map[string]string{EnvTokenFile: path}))
	if err != nil {
		t.Fatal(err)
	}
	if c.API.TokenFile != path {
		t.Errorf("token file is %q, want %q", c.API.TokenFile, path)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made")
	}
}
