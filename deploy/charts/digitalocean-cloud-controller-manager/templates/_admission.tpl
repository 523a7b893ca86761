{{- define "ccm.admissionSecret" -}}
{{ include "ccm.admissionName" . }}-tls
{{- end }}

{{- define "ccm.admissionEnv" -}}
- name: DO_ACCESS_TOKEN_FILE
  value: /var/run/secrets/digitalocean/token
- name: METRICS_ADDR
  value: ":9444"
- name: ADMISSION_ADDR
  value: ":9443"
- name: ADMISSION_NAMESPACE
  value: {{ .Release.Namespace }}
- name: ADMISSION_SERVICE
  value: {{ include "ccm.admissionName" . }}
- name: ADMISSION_WEBHOOK_CONFIGURATION
  value: {{ include "ccm.admissionName" . }}
- name: ADMISSION_CERTIFICATES
  value: {{ ternary "files" "own" (not (empty .Values.admission.certificates.secretName)) }}
- name: ADMISSION_SECRET
  value: {{ include "ccm.admissionSecret" . }}
{{- with include "ccm.kubernetesAPI" . | trim }}
{{ . }}
{{- end }}
{{- with include "ccm.env" .Values.admission.extraEnv | trim }}
{{ . }}
{{- end }}
{{- end }}

{{- define "ccm.admissionServiceAccount" -}}
kind: ServiceAccount
name: {{ include "ccm.admissionName" . }}
namespace: {{ .Release.Namespace }}
{{- end }}
