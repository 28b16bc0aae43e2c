{{- define "modelgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- /* 63 characters of a name, less the longest ending of a Service. */ -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The selector of a Deployment, which is immutable. Takes the component's name and the root. */}}
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
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of an object. Takes the root, the component's name, and annotations of its own. */}}
{{- define "modelgate.metadata" -}}
labels:
  {{- include "modelgate.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of a component's pods. Takes the root and the component's name. */}}
{{- define "modelgate.podMetadata" -}}
{{- $values := get .root.Values .component -}}
labels:
  {{- include "modelgate.labels" . | nindent 2 }}
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) $values.podAnnotations .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where and how a component's pods run. Takes the root and the component's name. */}}
{{- define "modelgate.placement" -}}
{{- $values := get .root.Values .component -}}
# Otherwise Kubernetes would set MODELGATE_… variables, which are settings.
enableServiceLinks: false
securityContext:
  {{- include "modelgate.podSecurity" .root | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- if ne .root.Values.hostUsers nil }}
hostUsers: {{ .root.Values.hostUsers }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else if $values.spread }}
# Soft: pods start also where there is only one node or zone.
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "modelgate.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- if $values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with $values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" ($values.hostNetwork | default false)) }}
dnsPolicy: {{ . }}
{{- end }}
{{- with $values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The names of the ServiceAccounts. */}}
{{- define "modelgate.account" -}}
{{- .Values.gate.serviceAccount.name | default (include "modelgate.fullname" .) -}}
{{- end -}}
{{- define "modelgate.viewAccount" -}}
{{- printf "%s-view" (include "modelgate.account" .) -}}
{{- end -}}
{{- define "modelgate.reconcilerAccount" -}}
{{- .Values.reconciler.serviceAccount.name | default (printf "%s-reconciler" (include "modelgate.fullname" .)) -}}
{{- end -}}

{{/* The ConfigMap with policies.documents. Its name is of its content: an upgrade to policies with an error does not reach
     the pods that serve, and the new ones do not become ready. */}}
{{- define "modelgate.documents" -}}
{{- printf "%s-policies-%s" (include "modelgate.fullname" .) (toJson .Values.policies.documents | sha256sum | trunc 8) -}}
{{- end -}}

{{- define "modelgate.image" -}}
{{- $registry := (.Values.global | default dict).imageRegistry | default .Values.image.registry -}}
{{- $name := ternary (printf "%s/%s" $registry .Values.image.repository) .Values.image.repository (ne $registry "") -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $name .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "modelgate.caSecret" -}}
{{- .Values.certs.secretName | default (printf "%s-ca" (include "modelgate.fullname" .)) -}}
{{- end -}}

{{/* The Secret with the leaf, where `modelgate certs` does not issue it. */}}
{{- define "modelgate.leafSecret" -}}
{{- if eq .Values.certs.mode "files" -}}
{{- .Values.certs.files.secretName -}}
{{- else -}}
{{- include "modelgate.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{/* Annotations of a webhook configuration: cert-manager's cainjector writes caBundle by them. */}}
{{- define "modelgate.injection" -}}
{{- if eq .Values.certs.mode "cert-manager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "modelgate.fullname" . }}
{{- end -}}
{{- end -}}

{{/* Pod Security Standard "restricted", of the pod … */}}
{{- define "modelgate.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ . | int64 }}
runAsGroup: {{ . | int64 }}
{{- end }}
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

{{/* What the user changes of a probe. Takes what it is otherwise. */}}
{{- define "modelgate.probing" -}}
{{- range $field, $value := merge (dict) (.change | default dict) .usual }}
{{ $field }}: {{ $value }}
{{- end }}
{{- end -}}

{{/* The fields of a Service that the user decides. */}}
{{- define "modelgate.families" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Where the kubelet finds health. */}}
{{- define "modelgate.probe" -}}
{{- if .Values.gate.healthPort -}}port: health{{- else -}}port: https, scheme: HTTPS{{- end -}}
{{- end -}}

{{/* Not empty if the user has given policies. */}}
{{- define "modelgate.policies" -}}
{{- if or .Values.policies.configMap .Values.policies.documents (and .Values.packs.volume .Values.policies.path) -}}yes{{- end -}}
{{- end -}}

{{/* A setting of an operator as flags have it. */}}
{{- define "modelgate.setting" -}}
{{- if kindIs "slice" . -}}{{ join "," . }}
{{- else if kindIs "map" . -}}{{ range $index, $key := keys . | sortAlpha }}{{ if $index }},{{ end }}{{ $key }}={{ get $ $key }}{{ end }}
{{- else if kindIs "string" . -}}{{ . }}
{{- else -}}{{ toJson . }}
{{- end -}}
{{- end -}}

{{/* What decides how strict the rules are and what they follow: the same for the gate and for the reconciler. */}}
{{- define "modelgate.rules" -}}
- --profile={{ .Values.gate.profile }}
{{- range $api, $release := .Values.releases }}
- --release={{ $api }}={{ $release }}
{{- end }}
{{- range $api, $settings := .Values.operators }}
{{- range $name, $value := $settings }}
- {{ printf "--set=%s.%s=%s" $api $name (include "modelgate.setting" $value) | quote }}
{{- end }}
{{- end }}
{{- with .Values.gate.ome }}
- --ome={{ .behaviour }}
- --{{ if not .migration }}no-{{ end }}ome-migration
- --ome-namespace={{ .namespace }}
{{- end }}
{{- with .Values.gate.aim }}
- --{{ if not .documentedPrecision }}no-{{ end }}aim-documented-precision
{{- if ne .autoSelection nil }}
- --{{ if not .autoSelection }}no-{{ end }}aim-auto-selection
{{- end }}
- --aim-namespace={{ .namespace }}
{{- end }}
{{- if not .Values.gate.fit }}
- --no-fit
{{- end }}
{{- if ne .Values.gate.nodes "off" }}
- --nodes={{ .Values.gate.nodes }}
{{- end }}
{{- with include "modelgate.without" . }}
- --without={{ . }}
{{- end }}
{{- if include "modelgate.policies" . }}
- --admission-policies=/policies
{{- end }}
{{- if .Values.packs.volume }}
- --policies=/packs
{{- end }}
{{- end -}}

{{/* The volume that automountServiceAccountToken would mount into every container, with a token of ten minutes: one of an account
     that was deleted and made again stays refused until the kubelet renews it, which it does after 80 % of the time. */}}
{{- define "modelgate.apiAccess" -}}
- name: api-access
  projected:
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 600
      - configMap:
          name: kube-root-ca.crt
          items:
            - {key: ca.crt, path: ca.crt}
      - downwardAPI:
          items:
            - path: namespace
              fieldRef: {fieldPath: metadata.namespace}
{{- end -}}

{{/* The volumes with the user's policies and APIs, if any, and where they are mounted. */}}
{{- define "modelgate.policyMounts" -}}
{{- if include "modelgate.policies" . }}
{{- $own := or .Values.policies.configMap .Values.policies.documents }}
- name: {{ ternary "policies" "packs" (not (empty $own)) }}
  mountPath: /policies
  {{- if not $own }}
  subPath: {{ .Values.policies.path | quote }}
  {{- end }}
  readOnly: true
{{- end }}
{{- if .Values.packs.volume }}
- name: packs
  mountPath: /packs
  {{- with .Values.packs.path }}
  subPath: {{ . | quote }}
  {{- end }}
  readOnly: true
{{- end }}
{{- end -}}
{{- define "modelgate.policyVolume" -}}
{{- with .Values.packs.volume }}
- name: packs
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or .Values.policies.configMap .Values.policies.documents }}
- name: policies
  projected:
    sources:
      {{- with .Values.policies.configMap }}
      - configMap:
          name: {{ . | quote }}
      {{- end }}
      {{- if .Values.policies.documents }}
      - configMap:
          name: {{ include "modelgate.documents" . }}
      {{- end }}
{{- end -}}
{{- end -}}

{{/* Rights: the definitions of the kinds. */}}
{{- define "modelgate.definitions" -}}
# get: the definitions of the guarded kinds, which may be of another release than the rules, of the kinds that the user's
# own rules read, and those that tell the releases of an operator apart. No other definition.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames:
    {{- range (include "modelgate.covered" . | fromYaml).kinds }}
    {{- $group := .group }}
    {{- range .resources }}
    - {{ . }}.{{ $group }}
    {{- end }}
    {{- range .marks }}
    - {{ . }}
    {{- end }}
    {{- end }}
    {{- range .Values.packs.reads }}
    {{- $group := .group }}
    {{- if contains "." $group }}
    {{- range .resources }}
    - {{ . }}.{{ $group }}
    {{- end }}
    {{- end }}
    {{- end }}
  verbs: [get]
# list, watch: to notice that one of them was installed or changed. Only metadata is read by this.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [list, watch]
{{- end -}}

{{/* Rights: what the references of the user's own rules read. */}}
{{- define "modelgate.referred" -}}
{{- range .Values.packs.reads }}
{{- if and (eq .group "") (has "secrets" .resources) }}
{{- fail "packs.reads: secrets cannot be read: rules must not depend on what is in a Secret" }}
{{- end }}
- apiGroups: [{{ .group | quote }}]
  resources:
    {{- toYaml .resources | nindent 4 }}
  verbs: [{{ if .list }}get, list{{ else }}get{{ end }}]
{{- end }}
{{- end -}}

{{/* Rights: what facts read, and references. */}}
{{- define "modelgate.reads" -}}
{{- include "modelgate.referred" . }}
# The objects that rules refer to, guarded or not: the gate is not ready while it cannot read one of the kinds. list: all
# objects at the start; watch: changes; get: an object that was just applied, before the watch reports it, or one that a
# field names.
{{- range $api, $kinds := include "modelgate.catalog" . | fromYaml }}
{{- if include "modelgate.covers" (dict "root" $ "api" $api) }}
{{- range $kinds.watched }}
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  verbs: [get, list, watch]
{{- end }}
{{- range $kinds.fetched }}
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  {{- with .names }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: [get]
{{- end }}
{{- end }}
{{- end }}
{{- with include "modelgate.surroundings" . }}
{{ . }}
{{- end }}
{{ include "modelgate.definitions" . }}
{{- end -}}

{{/* Rights: how strict the rules are. */}}
{{- define "modelgate.strictness" -}}
# How strict the rules are for which objects, if these kinds are installed, and the labels of namespaces that they select.
# Both pods only read them: who may write them is the administrator's choice.
- apiGroups: [modelgate.dev]
  resources: [enforcements, policyexceptions]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end -}}

{{/* Rights: nodes, and what else decides whether a pod can run. Without one of them, its rules are silent. */}}
{{- define "modelgate.surroundings" -}}
{{- if and .Values.gate.fit (ne .Values.gate.nodes "off") }}
# Where pods can run: their labels, taints and capacity are kept.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
# Whether nodes may be added.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [cluster-autoscaler-status]
  verbs: [get]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [nodepools.karpenter.sh]
  verbs: [get]
# Limits of a namespace, on demand; devices that are offered as resources.
- apiGroups: [""]
  resources: [limitranges, resourcequotas]
  verbs: [list]
- apiGroups: [resource.k8s.io]
  resources: [deviceclasses]
  verbs: [list]
# Classes that pods name, and the cache of their files.
- apiGroups: [node.k8s.io]
  resources: [runtimeclasses]
  verbs: [get]
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [get]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [get]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get]
{{- end }}
{{- end -}}

{{/* Rights: what the user's policies read, if there are any. */}}
{{- define "modelgate.asks" -}}
{{- if include "modelgate.policies" . }}
# What policies can read: the object's namespace (namespaceObject, namespaceSelector) and permissions (authorizer).
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- range .Values.policies.paramKinds }}
# get: a param by its name; list: params by a selector.
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  verbs: [get, list]
{{- end }}
{{- end }}
{{- end -}}
