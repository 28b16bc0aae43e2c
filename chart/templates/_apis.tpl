{{/* Not empty if an API is covered: one that the values do not name is. */}}
{{- define "modelgate.covers" -}}
{{- if dig "enabled" true (get .root.Values.apis .api | default dict) -}}yes{{- end -}}
{{- end -}}

{{/* The kinds of the enabled APIs and of the user's own, as a list under the key "kinds". */}}
{{- define "modelgate.covered" -}}
{{- $found := list -}}
{{- $known := keys (include "modelgate.catalog" . | fromYaml) | sortAlpha -}}
{{- range $api, $_ := .Values.apis -}}
{{- if not (has $api $known) -}}
{{- fail (printf "apis.%s: there is no such API; use %s" $api (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- range $api, $kinds := include "modelgate.catalog" . | fromYaml -}}
{{- if include "modelgate.covers" (dict "root" $ "api" $api) -}}
{{- $found = append $found $kinds -}}
{{- end -}}
{{- end -}}
{{- include "modelgate.custom" (dict "name" "packs.kinds" "kinds" .Values.packs.kinds) -}}
{{- toYaml (dict "kinds" (concat $found .Values.packs.kinds)) -}}
{{- end -}}

{{/* The groups that the API server, or an aggregated one beside it, builds in. Others of k8s.io are of custom resources. */}}
{{- define "modelgate.builtin" -}}
{{- range list "admissionregistration" "apiextensions" "apiregistration" "authentication" "authorization" "certificates"
  "coordination" "custom.metrics" "discovery" "events" "external.metrics" "flowcontrol.apiserver" "internal.apiserver"
  "metrics" "networking" "node" "rbac.authorization" "resource" "scheduling" "storage" "storagemigration" }}
- {{ . }}.k8s.io
{{- end }}
{{- end -}}

{{/* Nothing; fails if a kind of "kinds", the value of the name, is of such a group. */}}
{{- define "modelgate.custom" -}}
{{- range .kinds -}}
{{- if has .group (include "modelgate.builtin" $ | fromYamlArray) -}}
{{- fail (printf "%s: %s is a group of the API server itself, not of custom resources: its kinds are for policies.rules" $.name .group) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the webhooks are called for, under the key "kinds": the value of that name, or else the enabled APIs. */}}
{{- define "modelgate.guarded" -}}
{{- if .Values.kinds -}}
{{- include "modelgate.custom" (dict "name" "kinds" "kinds" .Values.kinds) -}}
{{- toYaml (dict "kinds" .Values.kinds) -}}
{{- else -}}
{{- $covered := include "modelgate.covered" . | fromYaml -}}
{{- if not $covered.kinds -}}
{{- fail (printf "no API is enabled: set apis.<name>.enabled=true for one of %s" (keys (include "modelgate.catalog" . | fromYaml) | sortAlpha | join ", ")) -}}
{{- end -}}
{{- toYaml $covered -}}
{{- end -}}
{{- end -}}

{{/* The APIs that are not enabled, with commas between. */}}
{{- define "modelgate.without" -}}
{{- $off := list -}}
{{- range $api, $_ := include "modelgate.catalog" . | fromYaml -}}
{{- if not (include "modelgate.covers" (dict "root" $ "api" $api)) -}}
{{- $off = append $off $api -}}
{{- end -}}
{{- end -}}
{{- join "," $off -}}
{{- end -}}
