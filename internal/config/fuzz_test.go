package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// variables are all environment variables, in a fixed order.
func variables() []string {
	var names []string
	for _, name := range fileSettings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Whatever file and environment hold, nothing panics, every refusal names its
// setting and what is allowed, none tells a token, and the same settings read
// the same again.
func FuzzSettings(f *testing.F) {
	f.Add(completeFile, "")
	f.Add("version: 1\nloadBalancer:\n  defaults:\n    size-unit: 2\n  classes:\n    a: {}\n  limits: []\n", EnvToken+"=dop_v1_x")
	for _, name := range variables() {
		for _, value := range []string{"1", "x,y", "-1", "10m", "off", "http://x:y@z/?q", "{{name}}", "\x00"} {
			f.Add("", name+"="+value+"\n"+EnvToken+"="+testToken)
		}
	}
	f.Fuzz(func(t *testing.T, file, lines string) {
		env := map[string]string{}
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if len(name) == 1 {
				name = variables()[int(name[0])%len(fileSettings)]
			}
			if name != EnvTokenFile { // what files hold isn't the fuzzer's
				env[name] = value
			}
		}
		c, err := Read(environment(env), strings.NewReader(file))
		checkRefusals(t, err)
		again, errAgain := Read(environment(env), strings.NewReader(file))
		if diff := cmp.Diff(c, again, cmp.AllowUnexported(API{}.Token), sameSelector); diff != "" || (err == nil) != (errAgain == nil) {
			t.Errorf("read otherwise again: %s%v, %v", diff, err, errAgain)
		}
		if err == nil && (c.API.Token.IsZero() == (c.API.TokenFile == "")) {
			t.Errorf("neither or both of token and file: %+v", c.API)
		}
		// A quote may be that around the value of another setting.
		if secret := strings.TrimSpace(env[EnvToken]); err != nil && len(secret) > 12 && !strings.ContainsRune(secret, '"') && strings.Contains(err.Error(), secret) {
			t.Errorf("tells the token: %v", err)
		}
	})
}

// checkRefusals fails for one that doesn't help.
func checkRefusals(t *testing.T, err error) {
	t.Helper()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			checkRefusals(t, e)
		}
		return
	}
	var p *Problem
	if errors.As(err, &p) && (p.Setting == "" || p.Allowed == "") {
		t.Errorf("%#v doesn't say what or why", p)
	}
}
