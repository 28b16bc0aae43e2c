{{/* Not empty if the reconciler follows the listed namespaces only. */}}
{{- define "modelgate.listed" -}}
{{- $listed := .Values.reconciler.namespaces -}}
{{- if and $listed (ne (join "," $listed) "*") -}}yes{{- end -}}
{{- end -}}

{{/* Not empty if the reconciler also judges and acts on objects without a namespace. */}}
{{- define "modelgate.whole" -}}
{{- if or (not (include "modelgate.listed" .)) .Values.reconciler.clusterObjects -}}yes{{- end -}}
{{- end -}}

{{/* Not empty if the reconciler does the work of an operator of an API. Takes the root and the API. */}}
{{- define "modelgate.acts" -}}
{{- if and (get .root.Values.reconciler.apis .api) (include "modelgate.covers" .) -}}yes{{- end -}}
{{- end -}}

{{/* What would give a wider right than was asked for. */}}
{{- define "modelgate.checkReach" -}}
{{- $root := . -}}
{{- $listed := .Values.reconciler.namespaces -}}
{{- range $api, $why := dict "aim" "creates pods for users" "llmd" "reads ConfigMaps" "ome" "creates pods for users" -}}
{{- if and (not $listed) (include "modelgate.acts" (dict "root" $root "api" $api)) -}}
{{- fail (printf "reconciler.apis.%s %s: list their namespaces in reconciler.namespaces, or set it to [\"*\"] for all" $api $why) -}}
{{- end -}}
{{- end -}}
{{- if and (has "*" $listed) (gt (len $listed) 1) -}}
{{- fail "reconciler.namespaces: \"*\" stands for all namespaces: list nothing else" -}}
{{- end -}}
{{- $home := .Values.gate.aim.namespace -}}
{{- if and (include "modelgate.listed" .) (include "modelgate.whole" .) (include "modelgate.acts" (dict "root" . "api" "aim")) (not (has $home $listed)) -}}
{{- fail (printf "reconciler.namespaces must include %s (gate.aim.namespace), where templates of cluster scope are discovered" $home) -}}
{{- end -}}
{{- if and .Values.reconciler.clusterObjects (not (include "modelgate.listed" .)) -}}
{{- fail "reconciler.clusterObjects needs a list in reconciler.namespaces: without one, all objects are meant" -}}
{{- end -}}
{{- end -}}

{{/* The kinds of the enabled APIs by their scope. Takes the root and "Cluster" or "Namespaced". */}}
{{- define "modelgate.judged" -}}
{{- $root := .root -}}
{{- $cluster := eq .scope "Cluster" -}}
{{- $judged := or (not $cluster) (include "modelgate.whole" .root) -}}
# The kinds that it judges or that others refer to. list, watch: the objects and their changes; get: a single object;
# patch: send an empty patch through the gate, which stamps the object.
{{- range (include "modelgate.covered" $root | fromYaml).kinds }}
{{- $all := .cluster | default list }}
{{- $found := list }}
{{- range .resources }}{{ if eq $cluster (has . $all) }}{{ $found = append $found . }}{{ end }}{{ end }}
{{- if $found }}
- apiGroups: [{{ .group }}]
  resources:
    {{- toYaml $found | nindent 4 }}
  verbs: {{ if $judged }}[get, list, watch, patch]{{ else }}[get, list, watch]{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Rights on what has no namespace. */}}
{{- define "modelgate.reconciler.cluster" -}}
# Available GPUs, from the labels of nodes; the classes of volumes.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [get, list, watch]
{{- with include "modelgate.surroundings" . }}
{{ . }}
{{- end }}
{{- with include "modelgate.referred" . }}
{{ . }}
{{- end }}
{{ include "modelgate.definitions" . }}
{{ include "modelgate.strictness" . }}
{{- with include "modelgate.asks" . }}
{{ . }}
{{- end }}
{{ include "modelgate.judged" (dict "root" . "scope" "Cluster") }}
{{- if include "modelgate.covers" (dict "root" . "api" "ome") }}
# OME's defaults, which are in OME's namespace: a change of them is a new judgement of its services. No other ConfigMap.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [inferenceservice-config]
  verbs: [get, list, watch]
{{- end }}
{{- if include "modelgate.acts" (dict "root" . "api" "ome") }}
# The image and the resources of the benchmark tool.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [benchmarkjob-config]
  verbs: [get]
{{- end }}
{{- if include "modelgate.whole" . }}
# patch: apply the condition Normalised, where the status has room for it; update: the same where the list of conditions
# is atomic, or the whole status.
{{- if include "modelgate.covers" (dict "root" . "api" "aim") }}
- apiGroups: [aim.silogen.ai]
  resources: [aimclusterimages/status, aimclusterservicetemplates/status]
  verbs: {{ if include "modelgate.acts" (dict "root" . "api" "aim") }}[patch, update]{{ else }}[patch]{{ end }}
{{- end }}
{{- if include "modelgate.covers" (dict "root" . "api" "llmaz") }}
- apiGroups: [llmaz.io]
  resources: [openmodels/status]
  verbs: [update]
{{- end }}
# Reports about objects with findings, in the API that the cluster has, if any. They are deleted when nothing is wrong.
- apiGroups: [openreports.io]
  resources: [clusterreports]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [wgpolicyk8s.io]
  resources: [clusterpolicyreports]
  verbs: [get, list, watch, create, patch, delete]
{{- if include "modelgate.acts" (dict "root" . "api" "aim") }}
# The templates of an image, and what KServe runs of a template.
- apiGroups: [aim.silogen.ai]
  resources: [aimclusterservicetemplates]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [serving.kserve.io]
  resources: [clusterservingruntimes]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if include "modelgate.acts" (dict "root" . "api" "ome") }}
- apiGroups: [ome.io]
  resources: [clusterbasemodels/status]
  verbs: [update]
{{- end }}
{{- else }}
# Whether such reports exist is looked at once for all kinds.
- apiGroups: [openreports.io]
  resources: [clusterreports]
  verbs: [get, list, watch]
- apiGroups: [wgpolicyk8s.io]
  resources: [clusterpolicyreports]
  verbs: [get, list, watch]
{{- end }}
{{- end -}}

{{/* Rights in each namespace, or in all. */}}
{{- define "modelgate.reconciler.namespaced" -}}
{{ include "modelgate.judged" (dict "root" . "scope" "Namespaced") }}
{{- if or (include "modelgate.covers" (dict "root" . "api" "llmkube")) (include "modelgate.covers" (dict "root" . "api" "ome")) }}
# get: the claims that LLMKube's services and the pods of OME's components name.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get]
{{- end }}
{{- if include "modelgate.covers" (dict "root" . "api" "ome") }}
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims, resourceclaimtemplates]
  verbs: [get]
{{- end }}
# patch: apply the condition Normalised; update: the same where the list of conditions is atomic, or the whole status.
{{- if include "modelgate.covers" (dict "root" . "api" "aim") }}
- apiGroups: [aim.silogen.ai]
  resources:
    - aimimages/status
    - aimmodelcaches/status
    - aimservices/status
    - aimservicetemplates/status
    - aimtemplatecaches/status
  verbs: {{ if include "modelgate.acts" (dict "root" . "api" "aim") }}[patch, update]{{ else }}[patch]{{ end }}
{{- end }}
{{- if include "modelgate.covers" (dict "root" . "api" "llmkube") }}
- apiGroups: [inference.llmkube.dev]
  resources: [inferenceservices/status]
  verbs: [patch]
- apiGroups: [inference.llmkube.dev]
  resources: [models/status]
  verbs: {{ if include "modelgate.acts" (dict "root" . "api" "llmkube") }}[patch, update]{{ else }}[patch]{{ end }}
{{- end }}
{{- if include "modelgate.covers" (dict "root" . "api" "llmd") }}
- apiGroups: [llmd.ai]
  resources: [variantautoscalings/status]
  verbs: {{ if include "modelgate.acts" (dict "root" . "api" "llmd") }}[patch, update]{{ else }}[patch]{{ end }}
{{- end }}
{{- if include "modelgate.covers" (dict "root" . "api" "ome") }}
- apiGroups: [ome.io]
  resources: [inferenceservices/status]
  verbs: [update]
{{- end }}
# Events, which `kubectl describe` shows below an object.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
- apiGroups: [openreports.io]
  resources: [reports]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [wgpolicyk8s.io]
  resources: [policyreports]
  verbs: [get, list, watch, create, patch, delete]
{{- if include "modelgate.acts" (dict "root" . "api" "aim") }}
# The volume and the Job of an AIMModelCache, and the AIMModelCaches of an AIMTemplateCache; the discovery Job of a
# template; the templates of an image, and those that services derive. Volumes and Jobs are never changed.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, create, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [aim.silogen.ai]
  resources: [aimmodelcaches, aimservicetemplates]
  verbs: [get, list, watch, create, patch, delete]
# The pods of discovery Jobs, by their label, and what they print. RBAC cannot restrict this to them.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# What KServe and a gateway run of a template and a service.
- apiGroups: [serving.kserve.io]
  resources: [inferenceservices, servingruntimes]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if include "modelgate.acts" (dict "root" . "api" "llmd") }}
# The Deployments that they are about; only the numbers of replicas are kept.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch]
# get: service classes and costs. RBAC cannot restrict this to the names that VariantAutoscalings refer to.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]
{{- end }}
{{- if include "modelgate.acts" (dict "root" . "api" "llmkube") }}
# What a Model refers to: a volume claim, a device claim or its template.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims, resourceclaimtemplates]
  verbs: [get, list, watch]
{{- end }}
{{- if include "modelgate.acts" (dict "root" . "api" "ome") }}
- apiGroups: [ome.io]
  resources: [basemodels/status, benchmarkjobs/status]
  verbs: [update]
# The children of an InferenceService.
- apiGroups: [""]
  resources: [serviceaccounts, services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [keda.sh]
  resources: [scaledobjects]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets]
  verbs: [get, list, watch, create, patch, delete]
# A router finds the pods of its engine: only who has this right can give it.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
# The Job of a BenchmarkJob; it is never changed.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
{{- end }}
{{- end -}}

{{/* A Role, or a ClusterRole without a namespace, and its binding to the reconciler's account. Takes the root, a name, a
     namespace and rules. */}}
{{- define "modelgate.reconciler.grant" -}}
{{- $scope := ternary "Role" "ClusterRole" (ne .namespace "") -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "modelgate.metadata" (dict "root" .root "component" "reconciler") | nindent 2 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "modelgate.metadata" (dict "root" .root "component" "reconciler") | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $scope }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "modelgate.reconcilerAccount" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{- define "modelgate.reconciler.lease" -}}
# The first leader creates the lease. RBAC cannot restrict create to a name: the policy of the chart about creations does.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
# get, list, watch: see who leads; update: take, renew and release it.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: ["{{ include "modelgate.fullname" . }}-reconciler"]
  verbs: [get, list, watch, update]
{{- end -}}

{{- define "modelgate.reconciler.events" -}}
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end -}}

{{- define "modelgate.reconciler.reports" -}}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [list]
{{- end -}}
