{{- define "rigel.selector" -}}
app.kubernetes.io/name: rigel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "rigel.labels" -}}
{{ include "rigel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
