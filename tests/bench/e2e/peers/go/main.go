// A webhook for Models of LLMKube as one writes it with controller-runtime: typed objects, the defaults of a GPU, and
// the rules that LLMKube's own definition states.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type Claim struct {
	Name                      string `json:"name"`
	ResourceClaimName         string `json:"resourceClaimName,omitempty"`
	ResourceClaimTemplateName string `json:"resourceClaimTemplateName,omitempty"`
}

type Sharding struct {
	Strategy   string   `json:"strategy,omitempty"`
	LayerSplit []string `json:"layerSplit,omitempty"`
}

type GPU struct {
	Enabled        *bool     `json:"enabled,omitempty"`
	Count          *int32    `json:"count,omitempty"`
	Vendor         string    `json:"vendor,omitempty"`
	Runtime        string    `json:"runtime,omitempty"`
	Memory         string    `json:"memory,omitempty"`
	Layers         *int32    `json:"layers,omitempty"`
	ResourceName   string    `json:"resourceName,omitempty"`
	TolerationKey  string    `json:"tolerationKey,omitempty"`
	ResourceClaims []Claim   `json:"resourceClaims,omitempty"`
	Sharding       *Sharding `json:"sharding,omitempty"`
}

type Hardware struct {
	Accelerator    string   `json:"accelerator,omitempty"`
	MemoryBudget   string   `json:"memoryBudget,omitempty"`
	MemoryFraction *float64 `json:"memoryFraction,omitempty"`
	GPU            *GPU     `json:"gpu,omitempty"`
}

type Resources struct {
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
}

type ModelSpec struct {
	Source        string     `json:"source"`
	Files         []string   `json:"files,omitempty"`
	Mmproj        string     `json:"mmproj,omitempty"`
	SHA256        string     `json:"sha256,omitempty"`
	Format        string     `json:"format,omitempty"`
	Quantization  string     `json:"quantization,omitempty"`
	RefreshPolicy string     `json:"refreshPolicy,omitempty"`
	Hardware      *Hardware  `json:"hardware,omitempty"`
	Resources     *Resources `json:"resources,omitempty"`
}

type Model struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ModelSpec       `json:"spec"`
	Status            json.RawMessage `json:"status,omitempty"`
}

var (
	resources = map[string]string{"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"}
	sources   = regexp.MustCompile(`^(https?|file|pvc)://.+|^/.+|^[\w.-]+/[\w.-]+$`)
)

func mutate(_ context.Context, request admission.Request) admission.Response {
	var model Model
	if err := json.Unmarshal(request.Object.Raw, &model); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if hardware := model.Spec.Hardware; hardware != nil && hardware.GPU != nil && len(hardware.GPU.ResourceClaims) == 0 {
		gpu := hardware.GPU
		if gpu.ResourceName == "" {
			gpu.ResourceName = resources[gpu.Vendor]
		}
		if gpu.TolerationKey == "" {
			gpu.TolerationKey = gpu.ResourceName
		}
	}
	if model.Annotations == nil {
		model.Annotations = map[string]string{}
	}
	model.Annotations["example.com/defaulted"] = "true"
	changed, err := json.Marshal(model)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

func validate(_ context.Context, request admission.Request) admission.Response {
	var model Model
	if err := json.Unmarshal(request.Object.Raw, &model); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !sources.MatchString(model.Spec.Source) {
		return admission.Denied("spec.source: not a source of a model")
	}
	hardware := model.Spec.Hardware
	if hardware == nil {
		return admission.Allowed("")
	}
	if fraction := hardware.MemoryFraction; fraction != nil && (*fraction <= 0 || *fraction > 1) {
		return admission.Denied("spec.hardware.memoryFraction: must be greater than 0 and at most 1")
	}
	if hardware.MemoryBudget != "" {
		if _, err := resource.ParseQuantity(hardware.MemoryBudget); err != nil {
			return admission.Denied("spec.hardware.memoryBudget: " + err.Error())
		}
	}
	if gpu := hardware.GPU; gpu != nil {
		if gpu.ResourceName != "" && len(gpu.ResourceClaims) > 0 {
			return admission.Denied("spec.hardware.gpu: resourceClaims and resourceName are mutually exclusive")
		}
		for _, claim := range gpu.ResourceClaims {
			if (claim.ResourceClaimName == "") == (claim.ResourceClaimTemplateName == "") {
				return admission.Denied("spec.hardware.gpu.resourceClaims: each needs exactly one reference")
			}
		}
	}
	return admission.Allowed("")
}

func main() {
	port := flag.Int("port", 9443, "port to listen on")
	certificates := flag.String("tls-dir", "", "directory with tls.crt and tls.key")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certificates})
	for path, handle := range map[string]admission.HandlerFunc{"/mutate": mutate, "/validate": validate} {
		handler, err := admission.StandaloneWebhook(&admission.Webhook{Handler: handle}, admission.StandaloneOptions{})
		if err != nil {
			panic(err)
		}
		server.Register(path, handler)
	}
	if err := server.Start(ctrl.SetupSignalHandler()); err != nil {
		panic(err)
	}
}
