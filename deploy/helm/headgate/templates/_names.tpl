{{- define "headgate.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "headgate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headgate.labels" -}}
{{ include "headgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "headgate.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "headgate.name" .) -}}
{{- end -}}

{{/* routes.yaml: the operator's configuration with the parts that belong to the pod. */}}
{{- define "headgate.config" -}}
{{- $server := dict "listen" "0.0.0.0:8080" "admin" "0.0.0.0:9091" "workers" (int .Values.workers) -}}
{{- with .Values.admin.keys }}{{ $_ := set $server "admin_keys" . }}{{ else }}{{ $_ := set $server "admin_without_keys" true }}{{ end -}}
{{- with .Values.admin.hosts }}{{ $_ := set $server "admin_hosts" . }}{{ end -}}
{{- $_ := set $server "admin_open" (list "healthz" "readyz" "metrics") -}}
{{- if .Values.tlsSecret }}{{ $_ := set $server "tls" (dict "certificate" "/tls/tls.crt" "key" "/tls/tls.key") }}{{ end -}}
{{- $server = mergeOverwrite $server (deepCopy (.Values.config.server | default dict)) -}}
{{- $state := "memory" -}}
{{- if .Values.redisUrlVariable -}}
{{- $state = dict "redis" (dict "url" (printf "${%s}" .Values.redisUrlVariable)) -}}
{{- else if eq .Values.localState "sqlite" -}}
{{- $state = "sqlite:/data/state.sqlite" -}}
{{- end -}}
{{- mergeOverwrite (dict "state" $state) (deepCopy .Values.config) (dict "server" $server) | toYaml -}}
{{- end -}}
