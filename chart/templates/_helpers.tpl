{{- define "modelgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name -}}
{{- end -}}
{{- end -}}

{{/* What a Deployment selects by: cannot change as long as it lives. Takes the component's name and the root. */}}
{{- define "modelgate.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "modelgate.labels" -}}
{{ include "modelgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "modelgate.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "modelgate.caSecret" -}}
{{- .Values.certs.secretName | default (printf "%s-ca" (include "modelgate.fullname" .)) -}}
{{- end -}}

{{/* Pod Security Standard "restricted", of the pod … */}}
{{- define "modelgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* … and of each container. */}}
{{- define "modelgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Both webhooks call the same Service about the same kinds. Takes the path and the root. No caBundle: `modelgate certs`
     owns that field, and a value from here would take it away with every upgrade. */}}
{{- define "modelgate.webhook" -}}
admissionReviewVersions: [v1]
sideEffects: None
# A version of a kind that the API server can convert to one of ours is ours.
matchPolicy: Equivalent
timeoutSeconds: {{ .root.Values.webhooks.timeoutSeconds }}
clientConfig:
  service:
    name: {{ include "modelgate.fullname" .root }}
    namespace: {{ .root.Release.Namespace }}
    path: {{ .path }}
    port: 443
# No namespaceSelector: these are kinds of ours, none of which a cluster needs to start. A namespace that is left out
# would be a way around the gate, for objects that the reconciler will never act upon.
rules:
{{- range .root.Values.kinds }}
  - apiGroups: [{{ .group | quote }}]
    apiVersions: {{ toJson .versions }}
    # No subresources: who writes a status or a scale does not pass here.
    resources: {{ toJson .resources }}
    operations: [CREATE, UPDATE]
    scope: "*"
{{- end }}
{{- end -}}
