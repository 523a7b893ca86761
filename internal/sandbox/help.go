package sandbox

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"digitalocean-cloud-controller-manager/simulator"
)

// helpTemplate is what a person reads once everything is up.
var helpTemplate = template.Must(template.New("help").Parse(`
In another terminal:

  export KUBECONFIG={{.Kubeconfig}}
{{- if .KubectlDir}}
  export PATH="$PATH:{{.KubectlDir}}"
{{- end}}

  kubectl get nodes -o wide
  kubectl get service {{.Service}}
  kubectl describe service {{.Service}}
  # Its load balancer goes with it:
  kubectl delete service {{.Service}}

What the manager would do, and what is wrong, with the settings that it has here:

  export {{.Settings}}
  {{.Program}} plan{{.Config}}
  {{.Program}} doctor{{.Config}}

DigitalOcean is at {{.API}}.

Console  {{.API}}/

shows in a browser what there is and what is asked, and changes it. So does:

  # {{.StopNode}}'s droplet is switched off and on; the Node is tainted meanwhile:
  curl -X POST {{.Control}}droplets/{{.Stop}}/stop
  curl -X POST {{.Control}}droplets/{{.Stop}}/start
  # {{.DeleteNode}}'s droplet is destroyed; the Node goes too, once it is two minutes old:
  curl -X DELETE {{.Control}}droplets/{{.Delete}}
  # What the manager asked of the API, and the API itself:
  curl {{.Control}}requests
  curl -H "Authorization: Bearer {{.Token}}" {{.API}}/v2/load_balancers

The manager's log: {{.Log}}
Ctrl-C stops everything and removes the files.

`))

type helpData struct {
	Kubeconfig, KubectlDir, Service, API, Control, Token, Log string
	// Settings are variables of the environment, Program is ccmctl's path, and
	// Config the flag with the manager's configuration file, if there is one.
	Settings, Program, Config string
	Stop, Delete              int
	StopNode, DeleteNode      string
}

func (s *session) help() string {
	ids := slices.Sorted(maps.Keys(s.nodes))
	first, last := ids[0], ids[len(ids)-1]
	data := helpData{
		Kubeconfig: s.kubeconfig, Service: exampleService, Log: s.log, Token: token,
		API: s.api.URL(), Control: s.api.URL() + simulator.ControlPath,
		Settings: settingsForShell(s.settings), Program: ownPath(),
		Stop: first, StopNode: s.nodes[first], Delete: last, DeleteNode: s.nodes[last],
	}
	if s.o.CloudConfig != "" {
		data.Config = " " + forShell("--cloud-config="+s.o.CloudConfig)
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		data.KubectlDir = s.o.Assets.Dir
	}
	return data.text()
}

func settingsForShell(settings []string) string {
	var texts []string
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		texts = append(texts, name+"="+forShell(value))
	}
	return strings.Join(texts, " ")
}

// plainForShell is a text that no shell takes for anything else.
var plainForShell = regexp.MustCompile(`^[\w%+,./:=@-]+$`)

// forShell is the text as a shell has to read it.
func forShell(text string) string {
	if plainForShell.MatchString(text) {
		return text
	}
	return "'" + quoted(text) + "'"
}

// ownPath is this program's, as nothing says that it is on PATH.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return "ccmctl"
	}
	return path
}

func (d helpData) text() string {
	var b strings.Builder
	if err := helpTemplate.Execute(&b, d); err != nil {
		return err.Error() + "\n" // a mistake in the template, which a test would find
	}
	return b.String()
}
