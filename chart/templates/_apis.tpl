{{/* The kinds of the enabled APIs and of the user's own, as a list under the key "kinds". */}}
{{- define "modelgate.covered" -}}
{{- $found := list -}}
{{- range $api, $kinds := include "modelgate.catalog" . | fromYaml -}}
{{- if (get $.Values.apis $api).enabled -}}
{{- $found = append $found $kinds -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "kinds" (concat $found .Values.packs.kinds)) -}}
{{- end -}}

{{/* What the webhooks are called for, under the key "kinds": the value of that name, or else the enabled APIs. */}}
{{- define "modelgate.guarded" -}}
{{- if .Values.kinds -}}
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
{{- if not (get $.Values.apis $api).enabled -}}
{{- $off = append $off $api -}}
{{- end -}}
{{- end -}}
{{- join "," $off -}}
{{- end -}}
