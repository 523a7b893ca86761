{{/* How Prometheus reads the manager: the root, and the monitor's values. On the
     plain listener if there is one, else on the secure port. */}}
{{- define "ccm.endpoint" -}}
{{- $root := index . 0 }}{{ $monitor := index . 1 -}}
interval: {{ $monitor.interval }}
path: /metrics
{{- if $root.Values.config.metricsAddress }}
port: metrics
scheme: http
{{- else }}
port: https
scheme: https
tlsConfig:
  # The manager signs its certificate itself.
  insecureSkipVerify: true
{{- with $monitor.bearerTokenFile }}
bearerTokenFile: {{ . }}
{{- end }}
{{- with $monitor.tokenSecret }}
authorization:
  credentials:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Monitors that can't work, or that would read everything twice. */}}
{{- define "ccm.checkMonitors" -}}
{{- $pod := .Values.monitoring.podMonitor -}}
{{- if and $pod.enabled .Values.monitoring.serviceMonitor.enabled -}}
{{- fail "monitoring.podMonitor and monitoring.serviceMonitor are both enabled: everything would be read twice" -}}
{{- end -}}
{{- if and $pod.enabled (not .Values.config.metricsAddress) (not $pod.tokenSecret) -}}
{{- fail "monitoring.podMonitor needs monitoring.podMonitor.tokenSecret, or config.metricsAddress: the secure port answers nobody without a token" -}}
{{- end -}}
{{- if and (or $pod.enabled .Values.monitoring.serviceMonitor.enabled) (regexMatch "^(127\\.|localhost:|\\[::1\\]:)" (default "" .Values.config.metricsAddress)) -}}
{{- fail "config.metricsAddress is the loopback address, where Prometheus can't read it: bind it to another one, or leave it out and let Prometheus read the secure port" -}}
{{- end -}}
{{- end }}
