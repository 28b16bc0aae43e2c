{{/* Not empty if the live definition has an owner other than this release. Takes the definition and the root. */}}
{{- define "modelgate-crds.foreign" -}}
{{- $owner := dig "metadata" "annotations" dict .live -}}
{{- if and .live (not (and (eq (get $owner "meta.helm.sh/release-name") .root.Release.Name) (eq (get $owner "meta.helm.sh/release-namespace") .root.Release.Namespace))) -}}
yes
{{- end -}}
{{- end -}}
