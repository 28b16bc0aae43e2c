{{/* Fails where another release guards one of the kinds: both would decide about each object. Sees only what is in the
     cluster; `helm template` sees nothing, and `modelgate doctor` finds what it made. */}}
{{- define "modelgate.alone" -}}
{{- $own := include "modelgate.fullname" . -}}
{{- $groups := list -}}
{{- range (include "modelgate.guarded" . | fromYaml).kinds -}}
{{- $groups = append $groups .group -}}
{{- end -}}
{{- $found := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "" | default dict -}}
{{- range $other := $found.items | default list -}}
{{- if and (eq (dig "metadata" "labels" "app.kubernetes.io/name" "" $other) $.Chart.Name) (hasKey ($other.metadata.annotations | default dict) "meta.helm.sh/release-name") -}}
{{- $release := get $other.metadata.annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $other.metadata.annotations "meta.helm.sh/release-namespace" -}}
{{- if not (and (eq $release $.Release.Name) (eq $namespace $.Release.Namespace)) -}}
{{- range $webhook := $other.webhooks -}}
{{- range $rule := $webhook.rules -}}
{{- range $group := $rule.apiGroups -}}
{{- if has $group $groups -}}
{{- fail (printf "release %q in namespace %q guards %s already: a cluster needs one Modelgate. Upgrade or uninstall that release, or give this one other APIs (apis.<name>.enabled)" $release $namespace $group) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
