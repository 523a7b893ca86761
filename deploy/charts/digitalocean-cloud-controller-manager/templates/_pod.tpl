{{/* The configuration file. */}}
{{- define "ccm.config" -}}
{{ merge (dict "version" 1) .Values.config | toYaml }}
{{- end }}

{{/* Environment variables from a map of values, or of sources. */}}
{{- define "ccm.env" -}}
{{- range $name, $value := . }}
{{- if kindIs "map" $value }}
- name: {{ $name }}
  {{- toYaml $value | nindent 2 }}
{{- else if not (kindIs "invalid" $value) }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Flags from a map. */}}
{{- define "ccm.args" -}}
{{- range $name, $value := . }}
{{- if not (kindIs "invalid" $value) }}
- {{ printf "--%s=%s" $name (toString $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What both programs mount: the token, and the configuration file. */}}
{{- define "ccm.volumes" -}}
- name: token
  secret:
    secretName: {{ include "ccm.tokenSecret" . }}
    defaultMode: 0440
    items:
      - key: {{ .Values.token.secretKey }}
        path: token
- name: config
  configMap:
    name: {{ include "ccm.fullname" . }}
{{- end }}

{{- define "ccm.volumeMounts" -}}
# Whole directories: a file that is mounted by subPath would not change.
- name: token
  mountPath: /var/run/secrets/digitalocean
  readOnly: true
- name: config
  mountPath: /etc/digitalocean-cloud-controller-manager
  readOnly: true
{{- end }}

{{/* The API server's address, where the service network can't be used. */}}
{{- define "ccm.kubernetesAPI" -}}
{{- with .Values.kubernetesAPI }}
{{- if .host }}
- name: KUBERNETES_SERVICE_HOST
  value: {{ .host | quote }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ .port | toString | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* A probe of the manager: the root, path, port's name and scheme. */}}
{{- define "ccm.httpGet" -}}
{{- $root := index . 0 -}}
httpGet:
  {{- if $root.Values.hostNetwork }}
  host: 127.0.0.1
  {{- end }}
  path: {{ index . 1 }}
  port: {{ index . 2 }}
  scheme: {{ index . 3 }}
{{- end }}

{{- define "ccm.affinity" -}}
{{- $requireControlPlane := eq .Values.kind "DaemonSet" -}}
nodeAffinity:
  {{- if $requireControlPlane }}
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      - matchExpressions:
          - {key: node-role.kubernetes.io/control-plane, operator: Exists}
  {{- else }}
  # The token is safer where no workloads run.
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      preference:
        matchExpressions:
          - {key: node-role.kubernetes.io/control-plane, operator: Exists}
  {{- end }}
{{- if not $requireControlPlane }}
podAntiAffinity:
  # Two replicas would want the same ports, and go down with the same droplet.
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "ccm.selector" (list . "manager") | nindent 10 }}
{{- end }}
{{- end }}
