{{/* The webhooks of each configuration. Never rename or remove one: `modelgate certs` applies caBundle by these names. A
     removed webhook would remain with that field alone, and the API server would refuse the upgrade. */}}
{{- define "modelgate.mutating.guard" -}}
- name: mutate.modelgate.dev
  failurePolicy: {{ .Values.webhooks.mutating.failurePolicy }}
  # Called again if a later webhook has changed the object; mutation is idempotent.
  reinvocationPolicy: IfNeeded
  {{- include "modelgate.webhook" (dict "root" . "path" "/mutate") | nindent 2 }}
{{- end -}}
{{- define "modelgate.validating.guard" -}}
- name: validate.modelgate.dev
  failurePolicy: {{ .Values.webhooks.validating.failurePolicy }}
  matchConditions:
    # The gate always allows these: an object that is being deleted may lose its finalizers. The condition keeps a
    # namespace from hanging in deletion while the gate is down.
    - name: not-just-losing-finalizers
      expression: '!has(object.metadata.deletionTimestamp) || object.?spec != oldObject.?spec'
  {{- include "modelgate.webhook" (dict "root" . "path" "/validate") | nindent 2 }}
{{- end -}}

{{/* For policies.rules. They are in every release, called for nothing where there are no rules: Helm compares an upgrade with
     the last one that ended well, and would not see configurations that one made which failed. */}}
{{- define "modelgate.mutating.policies" -}}
- name: mutate-policies.modelgate.dev
  reinvocationPolicy: IfNeeded
  {{- include "modelgate.policyWebhook" (dict "root" . "path" "/mutate") | nindent 2 }}
{{- end -}}
{{- define "modelgate.validating.policies" -}}
- name: validate-policies.modelgate.dev
  {{- include "modelgate.policyWebhook" (dict "root" . "path" "/validate") | nindent 2 }}
{{- end -}}

{{/* Every configuration of the release by type and name, without caBundle, as JSON: `modelgate certs` puts back what is missing,
     and the guard allows it to make nothing else. */}}
{{- define "modelgate.configurations" -}}
{{- $name := include "modelgate.fullname" . -}}
{{- $metadata := include "modelgate.configuration" . | fromYaml -}}
{{- $all := dict -}}
{{- range $suffix, $webhooks := dict "" "guard" "-policies" "policies" -}}
{{- range $type := list "mutating" "validating" -}}
{{- $own := dict "webhooks" (include (printf "modelgate.%s.%s" $type $webhooks) $ | fromYamlArray) -}}
{{- $all = set $all (printf "%s.%s%s" $type $name $suffix) (merge $own $metadata (dict "annotations" dict)) -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Labels and annotations of each of them. */}}
{{- define "modelgate.configuration" -}}
{{- $annotations := merge (dict) (include "modelgate.injection" . | fromYaml) .Values.webhooks.annotations -}}
{{- include "modelgate.metadata" (dict "root" . "component" "gate" "annotations" $annotations) -}}
{{- end -}}

{{/* What the account of `modelgate certs` puts back, which is only what the guard allows: deleted, changed or off. A boolean is
     what the value was before; YAML reads a bare off as false. */}}
{{- define "modelgate.restore" -}}
{{- $restore := .Values.webhooks.restore -}}
{{- if not (and .Values.certs.guard (eq .Values.certs.mode "own")) -}}off
{{- else if kindIs "bool" $restore -}}{{- ternary "deleted" "off" $restore -}}
{{- else -}}{{- $restore -}}{{- end -}}
{{- end -}}

{{/* Not empty if it puts anything back. */}}
{{- define "modelgate.restores" -}}
{{- if ne (include "modelgate.restore" .) "off" -}}yes{{- end -}}
{{- end -}}

{{/* Every webhook calls the same Service. Takes the path and the root. A caBundle only in mode files: otherwise
     `modelgate certs` or cainjector owns that field, and a value here would overwrite it with every upgrade. */}}
{{- define "modelgate.call" -}}
admissionReviewVersions: [v1]
sideEffects: None
# Also match versions that the API server can convert to one of these.
matchPolicy: Equivalent
timeoutSeconds: {{ .root.Values.webhooks.timeoutSeconds }}
clientConfig:
  service:
    name: {{ include "modelgate.fullname" .root }}
    namespace: {{ .root.Release.Namespace }}
    path: {{ .path }}
    port: 443
  {{- if eq .root.Values.certs.mode "files" }}
  caBundle: {{ .root.Values.certs.files.caBundle | b64enc }}
  {{- end }}
{{- end -}}

{{/* The fields that both webhooks share. */}}
{{- define "modelgate.webhook" -}}
{{ include "modelgate.call" . }}
# Given, also if empty: what others set is then taken back by the next upgrade. A cluster needs none of these kinds to start,
# and an excluded namespace would bypass the gate.
namespaceSelector: {{ toJson .root.Values.webhooks.namespaceSelector }}
objectSelector: {}
rules:
{{- range (include "modelgate.guarded" .root | fromYaml).kinds }}
  - apiGroups: [{{ .group | quote }}]
    apiVersions: {{ toJson .versions }}
    # No subresources: writes of status and scale are not reviewed.
    resources: {{ toJson .resources }}
    operations: [CREATE, UPDATE]
    scope: "*"
{{- end }}
{{- end -}}

{{/* As above, for what only the user's policies match. */}}
{{- define "modelgate.policyWebhook" -}}
{{ include "modelgate.call" . }}
failurePolicy: {{ .root.Values.policies.failurePolicy }}
# Never sent to the gate: what a cluster needs to repair itself, and the gate to start.
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: [kube-system, {{ .root.Release.Namespace }}]
objectSelector: {}
rules:{{ if not .root.Values.policies.rules }} [] # given, so that an upgrade removes what one that failed had set{{ end }}
{{- range .root.Values.policies.rules }}
  - apiGroups: {{ toJson .apiGroups }}
    apiVersions: {{ toJson .apiVersions }}
    resources: {{ toJson .resources }}
    operations: {{ toJson (.operations | default (list "CREATE" "UPDATE")) }}
    scope: {{ .scope | default "*" | quote }}
{{- end }}
{{- end -}}
