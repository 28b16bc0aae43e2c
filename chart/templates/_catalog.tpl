{{/*
Made from policies and facts by `make docs`. API → the group, versions and plural names of its kinds; "cluster" are
those without a namespace. "marks" are further definitions by which the gate tells the releases of the operator apart.
"watched" and "fetched" are what its rules read: all objects, or one by name.
*/}}
{{- define "modelgate.catalog" -}}
aim:
  group: aim.silogen.ai
  versions:
  - v1alpha1
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
  cluster:
  - aimclusterimages
  - aimclusterruntimeconfigs
  - aimclusterservicetemplates
  marks:
  - aimclustermodels.aim.silogen.ai
  - aimmodels.aim.silogen.ai
  watched:
  - group: ''
    resources:
    - nodes
  - group: aim.silogen.ai
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
  - group: storage.k8s.io
    resources:
    - storageclasses
llmaz:
  group: llmaz.io
  versions:
  - v1alpha1
  resources:
  - openmodels
  cluster:
  - openmodels
  marks:
  - backendruntimes.inference.llmaz.io
  - playgrounds.inference.llmaz.io
  - services.inference.llmaz.io
llmd:
  group: llmd.ai
  versions:
  - v1alpha1
  resources:
  - variantautoscalings
  watched:
  - group: llmd.ai
    resources:
    - variantautoscalings
llmkube:
  group: inference.llmkube.dev
  versions:
  - v1alpha1
  resources:
  - inferenceservices
  - models
  marks:
  - federatedclusters.federation.llmkube.dev
  - gpuquotas.inference.llmkube.dev
  - loraadapters.inference.llmkube.dev
  - modelpools.inference.llmkube.dev
  - modelrouters.inference.llmkube.dev
  watched:
  - group: inference.llmkube.dev
    resources:
    - inferenceservices
  fetched:
  - group: ''
    resources:
    - persistentvolumeclaims
  - group: inference.llmkube.dev
    resources:
    - models
ome:
  group: ome.io
  versions:
  - v1beta1
  resources:
  - basemodels
  - benchmarkjobs
  - clusterbasemodels
  - clusterservingruntimes
  - finetunedweights
  - inferenceservices
  - servingruntimes
  cluster:
  - clusterbasemodels
  - clusterservingruntimes
  - finetunedweights
  marks:
  - acceleratorclasses.ome.io
  watched:
  - group: ome.io
    resources:
    - basemodels
    - clusterbasemodels
    - clusterservingruntimes
    - finetunedweights
    - inferenceservices
    - servingruntimes
  fetched:
  - group: ''
    resources:
    - persistentvolumeclaims
  - group: resource.k8s.io
    resources:
    - resourceclaims
    - resourceclaimtemplates
  - group: ''
    resources:
    - configmaps
    names:
    - inferenceservice-config
{{- end -}}
