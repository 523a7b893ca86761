{{- define "ccm.managerArgs" -}}
- --cloud-provider=digitalocean
- --cloud-config=/etc/digitalocean-cloud-controller-manager/config.yaml
- --controllers={{ join "," .Values.controllers }}
# Also with one replica: an update must not run two that write.
- --leader-elect=true
{{- with .Values.leaderElection }}
- --leader-elect-resource-name={{ .resourceName }}
- --leader-elect-resource-namespace={{ .resourceNamespace }}
- --leader-elect-lease-duration={{ .leaseDuration }}
- --leader-elect-renew-deadline={{ .renewDeadline }}
- --leader-elect-retry-period={{ .retryPeriod }}
{{- end }}
- {{ printf "--bind-address=%s" .Values.secureServing.bindAddress | quote }}
- --secure-port={{ .Values.secureServing.port }}
- --v={{ .Values.logging.verbosity }}
- --logging-format={{ .Values.logging.format }}
{{- with include "ccm.args" .Values.extraArgs | trim }}
{{ . }}
{{- end }}
{{- end }}

{{/* Started and alive: the process serves, and a leader holds its lease. Ready:
     DigitalOcean's API can be used. */}}
{{- define "ccm.managerProbes" -}}
startupProbe:
  {{- if .Values.startupProbe }}
  {{- toYaml .Values.startupProbe | nindent 2 }}
  {{- else }}
  {{- include "ccm.httpGet" (list . "/healthz" "https" "HTTPS") | nindent 2 }}
  periodSeconds: 2
  failureThreshold: 60
  {{- end }}
livenessProbe:
  {{- if .Values.livenessProbe }}
  {{- toYaml .Values.livenessProbe | nindent 2 }}
  {{- else }}
  {{- include "ccm.httpGet" (list . "/healthz" "https" "HTTPS") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
  {{- end }}
{{- if .Values.readinessProbe }}
readinessProbe:
  {{- toYaml .Values.readinessProbe | nindent 2 }}
{{- else if .Values.debug.enabled }}
readinessProbe:
  {{- include "ccm.httpGet" (list . "/readyz" "debug" "HTTP") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}
{{- end }}
