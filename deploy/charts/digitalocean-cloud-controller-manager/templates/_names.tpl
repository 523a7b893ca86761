{{/* Names are short enough to become labels with "-admission-server" behind them. */}}
{{- define "ccm.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 46 | trimSuffix "-" -}}
{{- end }}

{{/* A cluster has one manager: its name doesn't depend on the release's. */}}
{{- define "ccm.fullname" -}}
{{- default (include "ccm.name" .) .Values.fullnameOverride | trunc 46 | trimSuffix "-" -}}
{{- end }}

{{- define "ccm.admissionName" -}}
{{- include "ccm.fullname" . }}-admission-server
{{- end }}

{{- define "ccm.rbacName" -}}
system:{{ .Values.serviceAccount.name }}
{{- end }}

{{- define "ccm.serviceAccount" -}}
kind: ServiceAccount
name: {{ .Values.serviceAccount.name }}
namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Labels of an object: the root, and a component. */}}
{{- define "ccm.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
{{ include "ccm.selector" . }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "ccm.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "ccm.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* The name of the Secret with the token. */}}
{{- define "ccm.tokenSecret" -}}
{{- if .Values.token.value -}}
{{ include "ccm.fullname" . }}-token
{{- else -}}
{{ .Values.token.secretName }}
{{- end -}}
{{- end }}

{{/* An image: the root, and the values of the image. */}}
{{- define "ccm.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end }}
