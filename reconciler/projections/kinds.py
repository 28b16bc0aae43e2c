"""The resources that projections read and make."""

from __future__ import annotations

from webhook.cluster import APIResource

_AIM, _OME, _KSERVE = "aim.silogen.ai", "ome.io", "serving.kserve.io"

AIM_SERVICES = APIResource(_AIM, "v1alpha1", "aimservices", "AIMService")
TEMPLATES = APIResource(_AIM, "v1alpha1", "aimservicetemplates", "AIMServiceTemplate")
CLUSTER_TEMPLATES = APIResource(_AIM, "v1alpha1", "aimclusterservicetemplates", "AIMClusterServiceTemplate", False)
IMAGES = APIResource(_AIM, "v1alpha1", "aimimages", "AIMImage")
CLUSTER_IMAGES = APIResource(_AIM, "v1alpha1", "aimclusterimages", "AIMClusterImage", False)
MODEL_CACHES = APIResource(_AIM, "v1alpha1", "aimmodelcaches", "AIMModelCache")
TEMPLATE_CACHES = APIResource(_AIM, "v1alpha1", "aimtemplatecaches", "AIMTemplateCache")

BENCHMARKS = APIResource(_OME, "v1beta1", "benchmarkjobs", "BenchmarkJob")
MODELS = APIResource(_OME, "v1beta1", "basemodels", "BaseModel")
CLUSTER_MODELS = APIResource(_OME, "v1beta1", "clusterbasemodels", "ClusterBaseModel", False)
OME_SERVICES = APIResource(_OME, "v1beta1", "inferenceservices", "InferenceService")

ACCOUNTS = APIResource("", "v1", "serviceaccounts", "ServiceAccount")
CONFIG_MAPS = APIResource("", "v1", "configmaps", "ConfigMap")
PODS = APIResource("", "v1", "pods", "Pod")
SERVICES = APIResource("", "v1", "services", "Service")
VOLUMES = APIResource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
DEPLOYMENTS = APIResource("apps", "v1", "deployments", "Deployment")
JOBS = APIResource("batch", "v1", "jobs", "Job")
SCALERS = APIResource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
ROLES = APIResource("rbac.authorization.k8s.io", "v1", "roles", "Role")
BINDINGS = APIResource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")

RUNTIMES = APIResource(_KSERVE, "v1alpha1", "servingruntimes", "ServingRuntime")
CLUSTER_RUNTIMES = APIResource(_KSERVE, "v1alpha1", "clusterservingruntimes", "ClusterServingRuntime", False)
INFERENCE_SERVICES = APIResource(_KSERVE, "v1beta1", "inferenceservices", "InferenceService")
ROUTES = APIResource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
SCALED = APIResource("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject")
LWS = APIResource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
