{{/*
API → the group, version and plural names of its kinds; "cluster" are those without a namespace. "marks" are further
definitions by which the gate tells the releases of the operator apart.
*/}}
{{- define "modelgate.catalog" -}}
aim:
  group: aim.silogen.ai
  versions: [v1alpha1]
  cluster: [aimclusterimages, aimclusterruntimeconfigs, aimclusterservicetemplates]
  resources:
    - aimclusterimages
    - aimclusterruntimeconfigs
    - aimclusterservicetemplates
    - aimimages
    - aimmodelcaches
    - aimruntimeconfigs
    - aimservices
    - aimservicetemplates
    - aimtemplatecaches
llmaz:
  group: llmaz.io
  versions: [v1alpha1]
  cluster: [openmodels]
  resources: [openmodels]
llmd:
  group: llmd.ai
  versions: [v1alpha1]
  resources: [variantautoscalings]
llmkube:
  group: inference.llmkube.dev
  versions: [v1alpha1]
  resources: [inferenceservices, models]
  marks:
    - federatedclusters.federation.llmkube.dev
    - gpuquotas.inference.llmkube.dev
    - loraadapters.inference.llmkube.dev
    - modelpools.inference.llmkube.dev
    - modelrouters.inference.llmkube.dev
ome:
  group: ome.io
  versions: [v1beta1]
  cluster: [clusterbasemodels, clusterservingruntimes, finetunedweights]
  resources:
    - basemodels
    - benchmarkjobs
    - clusterbasemodels
    - clusterservingruntimes
    - finetunedweights
    - inferenceservices
    - servingruntimes
{{- end -}}

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
{{- fail "no API is enabled: set apis.<name>.enabled=true for one of aim, llmaz, llmd, llmkube, ome" -}}
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
