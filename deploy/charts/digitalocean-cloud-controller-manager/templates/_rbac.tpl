{{/* "true" where a limit is for selected namespaces, whose labels must be read. */}}
{{- define "ccm.selectsNamespaces" -}}
{{- $found := "" -}}
{{- range $limit := dig "loadBalancer" "limits" (dict) .Values.config -}}
{{- if hasKey (default (dict) $limit) "namespaces" }}{{ $found = "true" }}{{ end -}}
{{- end -}}
{{- $found -}}
{{- end }}
