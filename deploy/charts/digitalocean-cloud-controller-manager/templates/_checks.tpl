{{/* A duration of hours, minutes and seconds as a number of seconds; what is less
     counts as nothing. */}}
{{- define "ccm.seconds" -}}
{{- $sum := 0 -}}
{{- range $unit, $length := dict "h" 3600 "m" 60 "s" 1 -}}
{{- $sum = add $sum (mul $length (regexFind (printf "[0-9]+%s" $unit) (regexReplaceAll "[0-9.]+[nuµm]s|\\.[0-9]+" $.value "") | trimSuffix $unit | int)) -}}
{{- end -}}
{{- $sum -}}
{{- end }}

{{/* With what the manager would not start. */}}
{{- define "ccm.checkManager" -}}
{{- $lease := .Values.leaderElection -}}
{{- $last := "" -}}
{{- range $name := list "leaseDuration" "renewDeadline" "retryPeriod" -}}
{{- $longer := include "ccm.seconds" (dict "value" (get $lease $last)) | int -}}
{{- $shorter := include "ccm.seconds" (dict "value" (get $lease $name)) | int -}}
{{- if and $last (or (lt $longer $shorter) (eq (get $lease $last) (get $lease $name))) -}}
{{- fail (printf "leaderElection.%s (%s) must be longer than leaderElection.%s (%s)" $last (get $lease $last) $name (get $lease $name)) -}}
{{- end -}}
{{- $last = $name -}}
{{- end -}}
{{- $ports := list (int .Values.secureServing.port) -}}
{{- if .Values.debug.enabled -}}{{- $ports = append $ports (int .Values.debug.port) -}}{{- end -}}
{{- with .Values.config.metricsAddress -}}{{- $ports = append $ports (regexFind "[0-9]+$" . | int) -}}{{- end -}}
{{- if ne (len $ports) (len (uniq $ports)) -}}
{{- fail "secureServing.port, debug.port and the port of config.metricsAddress must differ" -}}
{{- end -}}
{{- end }}
