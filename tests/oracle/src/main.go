// kcel-oracle: reads JSON lines, runs real Kubernetes apiextensions / admission code, prints JSON lines.
//
//go:debug default=go1.26
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"oracle/kadm"
	"oracle/kcel"
	"oracle/kdump"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/klog/v2"
	sigsjson "sigs.k8s.io/json"
)

type M = map[string]any

type Req struct {
	ID            any             `json:"id"`
	Mode          string          `json:"mode"`
	Schema        json.RawMessage `json:"schema"`
	Obj           json.RawMessage `json:"obj"`
	OldObj        json.RawMessage `json:"oldObj"`
	IsRoot        *bool           `json:"isRoot"`
	Path          *string         `json:"path"`
	Rule          *string         `json:"rule"`  // added as only root rule
	Rules         json.RawMessage `json:"rules"` // added as root rules
	Ratcheting    *bool           `json:"ratcheting"`
	CostBudget    *int64          `json:"costBudget"`
	PerCallLimit  *uint64         `json:"perCallLimit"`
	Steps         []string        `json:"steps"`
	DropInvalid   bool            `json:"dropInvalid"`
	ReturnUnknown bool            `json:"returnUnknown"`
	ValidateMeta  bool            `json:"validateMeta"`
	Namespaced    bool            `json:"namespaced"`
	CompatVersion string          `json:"compatVersion"`
	Only          []string        `json:"only"` // openapi, embedded, listtype, cel

	Expr    string                     `json:"expr"`
	Vars    map[string]json.RawMessage `json:"vars"`
	Schemas map[string]json.RawMessage `json:"schemas"`
	Version string                     `json:"version"`
	EnvType string                     `json:"envType"` // new|stored

	CRD    json.RawMessage `json:"crd"`
	OldCRD json.RawMessage `json:"oldCrd"`

	Policy      json.RawMessage `json:"policy"`
	Attributes  json.RawMessage `json:"attributes"`
	Params      json.RawMessage `json:"params"`
	Namespace   json.RawMessage `json:"namespaceObject"`
	Allow       bool            `json:"authorizerAllows"`
	FieldPath   string          `json:"fieldPath"`
	NestedRules bool            `json:"nestedRules"` // evaluate x-kubernetes-validations inside allOf too

	// tables.go
	Unescaped     *string         `json:"unescaped"`
	Escaped       *string         `json:"escaped"`
	Role          string          `json:"role"`
	HasParams     bool            `json:"hasParams"`
	HasAuthorizer bool            `json:"hasAuthorizer"`
	Accessor      string          `json:"accessor"`
	Scope         string          `json:"scope"`
	MatchRule     json.RawMessage `json:"matchRule"`
}

func decodeAny(b json.RawMessage) (any, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var x any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(b, &x); err != nil {
		return nil, err
	}
	return x, nil
}

type compiled struct {
	once       sync.Once
	err        string
	internal   *apiextensions.JSONSchemaProps
	structural *structuralschema.Structural
	openapi    apiservervalidation.SchemaValidator
	cel        *schemacel.Validator
	schemaErrs field.ErrorList
	pruneErr   string
}

var cache sync.Map
var cacheN int
var cacheMu sync.Mutex

func parseSchema(b json.RawMessage) (*apiextensions.JSONSchemaProps, error) {
	v1s := &apiextensionsv1.JSONSchemaProps{}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(v1s); err != nil {
		return nil, err
	}
	in := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1s, in, nil); err != nil {
		return nil, err
	}
	return in, nil
}

func get(r *Req, isRoot bool, perCall uint64, pruneDefaults bool) *compiled {
	h := sha256.New()
	h.Write(r.Schema)
	fmt.Fprintf(h, "|%v|%v|%v|%v|%v|", isRoot, perCall, pruneDefaults, r.CompatVersion, r.NestedRules)
	if r.Rule != nil {
		h.Write([]byte("R" + *r.Rule))
	}
	h.Write(r.Rules)
	key := string(h.Sum(nil))
	v, ok := cache.Load(key)
	if !ok {
		cacheMu.Lock()
		cacheN++
		if cacheN > 4000 {
			cache.Clear()
			cacheN = 0
		}
		cacheMu.Unlock()
		v, _ = cache.LoadOrStore(key, &compiled{})
	}
	c := v.(*compiled)
	c.once.Do(func() { c.build(r, isRoot, perCall, pruneDefaults) })
	return c
}

func (c *compiled) build(r *Req, isRoot bool, perCall uint64, pruneDefaults bool) {
	defer func() {
		if x := recover(); x != nil {
			c.err = fmt.Sprintf("panic: %v", x)
		}
	}()
	in, err := parseSchema(r.Schema)
	if err != nil {
		c.err = "schema: " + err.Error()
		return
	}
	if r.Rule != nil {
		in.XValidations = apiextensions.ValidationRules{{Rule: *r.Rule}}
	}
	if len(r.Rules) > 0 {
		var vr apiextensionsv1.ValidationRules
		if err := json.Unmarshal(r.Rules, &vr); err != nil {
			c.err = err.Error()
			return
		}
		p := &apiextensionsv1.JSONSchemaProps{XValidations: vr}
		o := &apiextensions.JSONSchemaProps{}
		_ = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(p, o, nil)
		in.XValidations = o.XValidations
	}
	c.internal = in
	s, err := structuralschema.NewStructural(in)
	if err != nil {
		c.err = "structural: " + err.Error()
		return
	}
	c.schemaErrs = structuralschema.ValidateStructural(nil, s)
	s = s.DeepCopy()
	if pruneDefaults {
		if err := structuraldefaulting.PruneDefaults(s); err != nil {
			c.pruneErr = err.Error()
		}
	}
	c.structural = s
	ver := environment.DefaultCompatibilityVersion()
	if r.CompatVersion != "" {
		ver = version.MustParse(r.CompatVersion)
	}
	ov, _, err := apiservervalidation.NewSchemaValidatorForVersion(in, ver)
	if err != nil {
		c.err = "openapi: " + err.Error()
		return
	}
	c.openapi = ov
	if r.NestedRules {
		c.cel = schemaValidator(s, s, isRoot, model.SchemaDeclType(s, isRoot), perCall)
	} else {
		c.cel = schemacel.NewValidator(s, isRoot, perCall)
	}
}

type warnRec struct{ w []string }

func (w *warnRec) AddWarning(_, t string) { w.w = append(w.w, t) }

func has(l []string, s string) bool {
	if len(l) == 0 {
		return true
	}
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

// same as customresource strategy.hasBlockingErr
func hasBlockingErr(errs field.ErrorList) (bool, *field.Error) {
	for _, err := range errs {
		if err.Type == field.ErrorTypeNotSupported || err.Type == field.ErrorTypeRequired || err.Type == field.ErrorTypeTooLong || err.Type == field.ErrorTypeTooMany || err.Type == field.ErrorTypeTypeInvalid {
			return true, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")
		}
	}
	return false, nil
}

// decodeCR runs what the CR handler does while decoding: default, prune, drop nulls, coerce metadata.
func decodeCR(x any, s *structuralschema.Structural, dropInvalid bool, out M, key string) (any, error) {
	u, ok := x.(map[string]any)
	if !ok {
		return x, nil
	}
	structuraldefaulting.Default(u, s)
	apiVersion, foundAV := u["apiVersion"]
	kind, foundKind := u["kind"]
	meta, foundMeta, unknown, err := schemaobjectmeta.GetObjectMetaWithOptions(u, schemaobjectmeta.ObjectMetaOptions{DropMalformedFields: dropInvalid, ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, structuralpruning.PruneWithOptions(u, s, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u, s)
	ferr, paths := schemaobjectmeta.CoerceWithOptions(nil, u, s, false, schemaobjectmeta.CoerceOptions{DropInvalidFields: dropInvalid, ReturnUnknownFieldPaths: true})
	if ferr != nil {
		return nil, ferr
	}
	unknown = append(unknown, paths...)
	if foundKind {
		u["kind"] = kind
	}
	if foundAV {
		u["apiVersion"] = apiVersion
	}
	if foundMeta {
		if err := schemaobjectmeta.SetObjectMeta(u, meta); err != nil {
			return nil, err
		}
		// SetObjectMeta writes creationTimestamp: null; drop it unless it was there
		if m, ok := u["metadata"].(map[string]any); ok {
			if v, ok := m["creationTimestamp"]; ok && v == nil {
				delete(m, "creationTimestamp")
			}
		}
	}
	if len(unknown) > 0 {
		out[key] = unknown
	}
	return u, nil
}

func runCR(r *Req, raw bool) M {
	out := M{}
	isRoot := !raw
	if r.IsRoot != nil {
		isRoot = *r.IsRoot
	}
	perCall := uint64(celconfig.PerCallLimit)
	if r.PerCallLimit != nil {
		perCall = *r.PerCallLimit
	}
	budget := int64(celconfig.RuntimeCELCostBudget)
	if r.CostBudget != nil {
		budget = *r.CostBudget
	}
	c := get(r, isRoot, perCall, !raw)
	if c.err != "" {
		return M{"schemaError": c.err}
	}
	if len(c.schemaErrs) > 0 {
		out["structuralErrors"] = c.schemaErrs
	}
	if c.pruneErr != "" {
		out["pruneDefaultsError"] = c.pruneErr
	}
	obj, err := decodeAny(r.Obj)
	if err != nil {
		return M{"decodeError": err.Error()}
	}
	old, err := decodeAny(r.OldObj)
	if err != nil {
		return M{"decodeError": err.Error()}
	}
	hasOld := len(r.OldObj) > 0 && string(r.OldObj) != "null"
	if !raw {
		if obj, err = decodeCR(obj, c.structural, r.DropInvalid, out, "unknownFields"); err != nil {
			out["decodeError"] = err.Error()
			out["valid"] = false
			return out
		}
		if hasOld {
			dummy := M{}
			if old, err = decodeCR(old, c.structural, true, dummy, "oldUnknownFields"); err != nil {
				out["decodeError"] = "old: " + err.Error()
				out["valid"] = false
				return out
			}
		}
		out["obj"] = obj
	}
	ratchet := hasOld
	if r.Ratcheting != nil {
		ratchet = *r.Ratcheting && hasOld
	}
	var p *field.Path
	if r.Path != nil && *r.Path != "" {
		p = field.NewPath(*r.Path)
	}
	wr := &warnRec{}
	ctx := warning.WithWarningRecorder(context.Background(), wr)

	var opts []apiservervalidation.ValidationOption
	var copts []schemacel.Option
	if ratchet {
		co := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: c.structural})
		opts = append(opts, apiservervalidation.WithRatcheting(co))
		copts = append(copts, schemacel.WithRatcheting(co))
	}
	var all field.ErrorList
	if r.ValidateMeta {
		if u, ok := obj.(map[string]any); ok {
			all = append(all, validateMeta(ctx, u, old, r.Namespaced)...)
			out["meta"] = all
		}
	}
	if has(r.Only, "openapi") {
		var errs field.ErrorList
		if hasOld {
			errs = apiservervalidation.ValidateCustomResourceUpdate(p, obj, old, c.openapi, opts...)
		} else {
			errs = apiservervalidation.ValidateCustomResource(p, obj, c.openapi)
		}
		if len(errs) > 0 {
			out["openapi"] = errs
		}
		all = append(all, errs...)
	}
	if has(r.Only, "embedded") {
		errs := schemaobjectmeta.Validate(ctx, p, obj, c.structural, false)
		if len(errs) > 0 {
			out["embedded"] = errs
		}
		all = append(all, errs...)
	}
	if has(r.Only, "listtype") {
		var errs field.ErrorList
		om, _ := obj.(map[string]any)
		oldm, _ := old.(map[string]any)
		if hasOld {
			if oe := listtype.ValidateListSetsAndMaps(p, c.structural, oldm); len(oe) == 0 {
				errs = listtype.ValidateListSetsAndMaps(p, c.structural, om)
			}
		} else {
			errs = listtype.ValidateListSetsAndMaps(p, c.structural, om)
		}
		if len(errs) > 0 {
			out["listtype"] = errs
		}
		all = append(all, errs...)
	}
	if has(r.Only, "cel") && c.cel != nil {
		blocked := false
		if len(r.Only) == 0 {
			if b, e := hasBlockingErr(all); b {
				blocked = true
				out["celBlocked"] = true
				all = append(all, e)
			}
		}
		if !blocked {
			errs, rem := c.cel.Validate(ctx, p, c.structural, obj, old, budget, copts...)
			if len(errs) > 0 {
				out["cel"] = errs
			}
			all = append(all, errs...)
			out["celCost"] = budget - rem
		}
	}
	if len(wr.w) > 0 {
		out["warnings"] = wr.w
	}
	out["valid"] = len(all) == 0
	return out
}

func validateMeta(ctx context.Context, u map[string]any, old any, namespaced bool) field.ErrorList {
	get := func(x map[string]any) *metav1.ObjectMeta {
		m := &metav1.ObjectMeta{}
		if mm, ok := x["metadata"].(map[string]any); ok {
			_ = k8sruntime.DefaultUnstructuredConverter.FromUnstructured(mm, m)
		}
		return m
	}
	if o, ok := old.(map[string]any); ok {
		return metavalidation.ValidateObjectMetaUpdate(get(u), get(o), field.NewPath("metadata"))
	}
	return metavalidation.ValidateObjectMeta(get(u), namespaced, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

func runSteps(r *Req) M {
	out := M{}
	isRoot := r.IsRoot != nil && *r.IsRoot
	var s *structuralschema.Structural
	if len(r.Schema) > 0 && string(r.Schema) != "null" {
		in, err := parseSchema(r.Schema)
		if err != nil {
			return M{"schemaError": err.Error()}
		}
		if s, err = structuralschema.NewStructural(in); err != nil {
			return M{"schemaError": err.Error()}
		}
		s = s.DeepCopy()
	}
	obj, err := decodeAny(r.Obj)
	if err != nil {
		return M{"decodeError": err.Error()}
	}
	for _, st := range r.Steps {
		switch st {
		case "default":
			structuraldefaulting.Default(obj, s)
		case "pruneDefaults":
			if err := structuraldefaulting.PruneDefaults(s); err != nil {
				out["error"] = err.Error()
			}
			out["schema"] = s
		case "prune":
			out["pruned"] = structuralpruning.PruneWithOptions(obj, s, isRoot, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		case "pruneNulls":
			structuraldefaulting.PruneNonNullableNullsWithoutDefaults(obj, s)
		case "coerce":
			err, unk := schemaobjectmeta.CoerceWithOptions(nil, obj, s, isRoot, schemaobjectmeta.CoerceOptions{DropInvalidFields: r.DropInvalid, ReturnUnknownFieldPaths: true})
			if err != nil {
				out["error"] = err
			}
			out["unknown"] = unk
		case "embedded":
			out["embedded"] = schemaobjectmeta.Validate(context.Background(), nil, obj, s, isRoot)
		case "listtype":
			m, _ := obj.(map[string]any)
			out["listtype"] = listtype.ValidateListSetsAndMaps(field.NewPath("root"), s, m)
		case "structural":
			out["structuralErrors"] = structuralschema.ValidateStructural(nil, s)
		case "fieldPath":
			p, _, err := schemacel.ValidFieldPath(r.FieldPath, s)
			out["fieldPath"] = p
			if err != nil {
				out["error"] = err.Error()
			}
		case "objectMeta":
			m, _ := obj.(map[string]any)
			o, _, unk, err := schemaobjectmeta.GetObjectMetaWithOptions(m, schemaobjectmeta.ObjectMetaOptions{DropMalformedFields: r.DropInvalid, ReturnUnknownFieldPaths: r.ReturnUnknown})
			out["objectMeta"] = o
			out["unknown"] = unk
			if err != nil {
				out["error"] = err.Error()
			}
		default:
			out["error"] = "unknown step " + st
		}
	}
	out["obj"] = obj
	return out
}

func runCompile(r *Req) M {
	in, err := parseSchema(r.Schema)
	if err != nil {
		return M{"schemaError": err.Error()}
	}
	if r.Rule != nil {
		in.XValidations = apiextensions.ValidationRules{{Rule: *r.Rule}}
	}
	s, err := structuralschema.NewStructural(in)
	if err != nil {
		return M{"schemaError": err.Error()}
	}
	isRoot := r.IsRoot != nil && *r.IsRoot
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	if r.Version != "" {
		env = environment.MustBaseEnvSet(version.MustParse(r.Version))
	}
	loader := schemacel.NewExpressionsEnvLoader()
	if r.EnvType == "stored" {
		loader = schemacel.StoredExpressionsEnvLoader()
	}
	perCall := uint64(celconfig.PerCallLimit)
	var res []M
	var walk func(p string, s *structuralschema.Structural, root bool)
	walk = func(p string, s *structuralschema.Structural, root bool) {
		if len(s.XValidations) > 0 {
			rs, err := schemacel.Compile(s, model.SchemaDeclType(s, root), perCall, env, loader)
			if err != nil {
				res = append(res, M{"path": p, "error": err.Error()})
			}
			for i, x := range rs {
				m := M{"path": p, "rule": s.XValidations[i].Rule, "maxCost": x.MaxCost, "maxCardinality": x.MaxCardinality, "usesOldSelf": x.UsesOldSelf}
				if x.Error != nil {
					m["error"] = string(x.Error.Type) + ": " + x.Error.Error()
				}
				if x.MessageExpressionError != nil {
					m["messageExpressionError"] = x.MessageExpressionError.Error()
				}
				if x.MessageExpression != nil {
					m["messageExpressionMaxCost"] = x.MessageExpressionMaxCost
				}
				res = append(res, m)
			}
		}
		for k, v := range s.Properties {
			walk(p+"."+k, &v, v.XEmbeddedResource)
		}
		if s.Items != nil {
			walk(p+"[]", s.Items, s.Items.XEmbeddedResource)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			walk(p+"{}", s.AdditionalProperties.Structural, s.AdditionalProperties.Structural.XEmbeddedResource)
		}
	}
	walk("", s, isRoot)
	return M{"results": res}
}

func runExpr(r *Req) M {
	es := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	if r.Version != "" {
		es = environment.MustBaseEnvSet(version.MustParse(r.Version))
	}
	vars := M{}
	var opts []celgo.EnvOption
	var decls []*apiservercel.DeclType
	for k, b := range r.Vars {
		v, err := decodeAny(b)
		if err != nil {
			return M{"decodeError": err.Error()}
		}
		if sb, ok := r.Schemas[k]; ok {
			in, err := parseSchema(sb)
			if err != nil {
				return M{"schemaError": err.Error()}
			}
			s, err := structuralschema.NewStructural(in)
			if err != nil {
				return M{"schemaError": err.Error()}
			}
			dt := model.SchemaDeclType(s, false)
			if dt == nil {
				return M{"schemaError": "no CEL type for " + k}
			}
			dt = dt.MaybeAssignTypeName("type_" + k)
			decls = append(decls, dt)
			opts = append(opts, celgo.Variable(k, dt.CelType()))
			vars[k] = schemacel.UnstructuredToVal(v, s)
		} else {
			opts = append(opts, celgo.Variable(k, celgo.DynType))
			vars[k] = v
		}
	}
	es, err := es.Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: opts, DeclTypes: decls})
	if err != nil {
		return M{"error": err.Error()}
	}
	et := environment.StoredExpressions
	if r.EnvType == "new" {
		et = environment.NewExpressions
	}
	env, err := es.Env(et)
	if err != nil {
		return M{"error": err.Error()}
	}
	ast, iss := env.Compile(r.Expr)
	if iss != nil && iss.Err() != nil {
		return M{"compileErrors": kcel.Issues(iss), "compileError": iss.Err().Error()}
	}
	out := M{"type": ast.OutputType().String()}
	limit := uint64(celconfig.PerCallLimit)
	if r.PerCallLimit != nil {
		limit = *r.PerCallLimit
	}
	prog, err := env.Program(ast, celgo.CostLimit(limit), celgo.CostTracking(&library.CostEstimator{}))
	if err != nil {
		out["programError"] = err.Error()
		return out
	}
	var v ref.Val
	v, d, err := prog.Eval(vars)
	if err != nil {
		out["error"] = err.Error()
	} else {
		out["value"] = kcel.Val(v)
	}
	if d != nil && d.ActualCost() != nil {
		out["cost"] = *d.ActualCost()
	}
	return out
}

func toInternalCRD(b json.RawMessage) (*apiextensions.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(b, crd); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	if crd.Spec.Conversion != nil && crd.Spec.Conversion.Webhook != nil && crd.Spec.Conversion.Webhook.ClientConfig != nil && crd.Spec.Conversion.Webhook.ClientConfig.Service != nil {
		apiextensionsv1.SetDefaults_ServiceReference(crd.Spec.Conversion.Webhook.ClientConfig.Service)
	}
	in := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, in, nil); err != nil {
		return nil, err
	}
	return in, nil
}

func runCRD(r *Req) M {
	in, err := toInternalCRD(r.CRD)
	if err != nil {
		return M{"decodeError": err.Error()}
	}
	var errs field.ErrorList
	if len(r.OldCRD) > 0 && string(r.OldCRD) != "null" {
		old, err := toInternalCRD(r.OldCRD)
		if err != nil {
			return M{"decodeError": err.Error()}
		}
		errs = crdvalidation.ValidateCustomResourceDefinitionUpdate(context.Background(), in, old)
	} else {
		// as the CRD strategy's PrepareForCreate
		in.Status = apiextensions.CustomResourceDefinitionStatus{}
		in.Generation = 1
		for _, v := range in.Spec.Versions {
			if v.Storage {
				in.Status.StoredVersions = append(in.Status.StoredVersions, v.Name)
				break
			}
		}
		if in.Name == "" {
			in.Name = in.Spec.Names.Plural + "." + in.Spec.Group
		}
		errs = crdvalidation.ValidateCustomResourceDefinition(context.Background(), in)
	}
	return M{"errors": errs, "valid": len(errs) == 0}
}

type attrs struct {
	Object      json.RawMessage `json:"object"`
	OldObject   json.RawMessage `json:"oldObject"`
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	Namespace   string         `json:"namespace"`
	Name        string         `json:"name"`
	Subresource string         `json:"subresource"`
	Operation   string         `json:"operation"`
	Options     map[string]any `json:"options"`
	DryRun      bool           `json:"dryRun"`
	User        *struct {
		Name, UID string
		Groups    []string
		Extra     map[string][]string
	} `json:"user"`
}

type authz struct{ allow bool }

func (a authz) Authorize(ctx context.Context, _ authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.allow {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionDeny, "denied", nil
}

func toUn(b json.RawMessage) (*unstructured.Unstructured, error) {
	x, err := decodeAny(b)
	if err != nil || x == nil {
		return nil, err
	}
	m, ok := x.(map[string]any)
	if !ok {
		return nil, errors.New("not an object")
	}
	return &unstructured.Unstructured{Object: m}, nil
}

func runPolicy(r *Req, mutate bool) M {
	var a attrs
	if err := json.Unmarshal(r.Attributes, &a); err != nil {
		return M{"decodeError": err.Error()}
	}
	obj, err := toUn(a.Object)
	if err != nil {
		return M{"decodeError": err.Error()}
	}
	old, err := toUn(a.OldObject)
	if err != nil {
		return M{"decodeError": err.Error()}
	}
	params, err := toUn(r.Params)
	if err != nil {
		return M{"decodeError": err.Error()}
	}
	var ns *corev1.Namespace
	if len(r.Namespace) > 0 && string(r.Namespace) != "null" {
		ns = &corev1.Namespace{}
		if err := json.Unmarshal(r.Namespace, ns); err != nil {
			return M{"decodeError": err.Error()}
		}
	}
	var o, oo, pp k8sruntime.Object
	if obj != nil {
		o = obj
	}
	if old != nil {
		oo = old
	}
	if params != nil {
		pp = params
	}
	var ui user.Info
	if a.User != nil {
		ui = &user.DefaultInfo{Name: a.User.Name, UID: a.User.UID, Groups: a.User.Groups, Extra: a.User.Extra}
	} else {
		ui = &user.DefaultInfo{}
	}
	if a.Kind.Kind == "" && obj != nil {
		a.Kind = obj.GroupVersionKind()
	}
	op := admission.Operation(a.Operation)
	if op == "" {
		op = admission.Create
		if old != nil {
			op = admission.Update
		}
		if obj == nil {
			op = admission.Delete
		}
	}
	var optObj k8sruntime.Object
	if a.Options != nil {
		optObj = &unstructured.Unstructured{Object: a.Options}
	}
	ar := admission.NewAttributesRecord(o, oo, a.Kind, a.Namespace, a.Name, a.Resource, a.Subresource, op, optObj, a.DryRun, ui)
	va := &admission.VersionedAttributes{Attributes: ar, VersionedKind: a.Kind, VersionedObject: admission.NewLazyObject(o), VersionedOldObject: admission.NewLazyObject(oo)}
	budget := int64(celconfig.RuntimeCELCostBudget)
	if r.CostBudget != nil {
		budget = *r.CostBudget
	}
	ctx := context.Background()
	if !mutate {
		p := &admissionv1.ValidatingAdmissionPolicy{}
		if err := json.Unmarshal(r.Policy, p); err != nil {
			return M{"decodeError": err.Error()}
		}
		v := compileValidatingPolicy(p)
		out := M{}
		if e := v.CompileError(); e != nil {
			out["compileError"] = e.Error()
		}
		res := v.Validate(ctx, a.Resource, va, pp, ns, budget, authz{r.Allow})
		var ds, as []M
		for _, d := range res.Decisions {
			ds = append(ds, M{"action": string(d.Action), "evaluation": string(d.Evaluation), "message": d.Message, "reason": string(d.Reason)})
		}
		for _, d := range res.AuditAnnotations {
			as = append(as, M{"key": d.Key, "value": d.Value, "action": string(d.Action), "error": d.Error})
		}
		out["decisions"], out["auditAnnotations"] = ds, as
		return out
	}
	p := &admissionv1.MutatingAdmissionPolicy{}
	if err := json.Unmarshal(r.Policy, p); err != nil {
		return M{"decodeError": err.Error()}
	}
	ev := compileMutatingPolicy(p)
	out := M{}
	if ev.Error != nil {
		out["compileError"] = ev.Error.Error()
		return out
	}
	if ev.CompositedCompiler != nil {
		ctx = ev.CompositedCompiler.CreateContext(ctx)
	}
	if ev.Matcher != nil {
		mr := ev.Matcher.Match(ctx, va, pp, authz{r.Allow})
		out["matches"] = mr.Matches
		out["failedCondition"] = mr.FailedConditionName
		if mr.Error != nil {
			out["matchError"] = mr.Error.Error()
		}
		if !mr.Matches {
			return out
		}
	}
	scheme := k8sruntime.NewScheme()
	var got k8sruntime.Object = o
	for _, m := range ev.Mutators {
		va.VersionedObject = admission.NewLazyObject(got)
		g, err := m.Patch(ctx, patch.Request{MatchedResource: a.Resource, VersionedAttributes: va, ObjectInterfaces: admission.NewObjectInterfacesFromScheme(scheme),
			OptionalVariables: plugincel.OptionalVariableBindings{VersionedParams: pp, Authorizer: authz{r.Allow}}, Namespace: ns, TypeConverter: converterFor(a.Kind)}, budget)
		if err != nil {
			out["error"] = err.Error()
			return out
		}
		got = g
	}
	out["obj"] = kadm.Obj(got)
	return out
}

var tcOnce sync.Once
var tcm patch.TypeConverterManager

func converterFor(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	tcOnce.Do(func() {
		tcm = patch.NewTypeConverterManager(nil, openapitest.NewEmbeddedFileClient())
		go tcm.Run(context.Background())
		for i := 0; i < 100; i++ {
			if tcm.GetTypeConverter(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}) != nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	if c := tcm.GetTypeConverter(gvk); c != nil {
		return c
	}
	return managedfields.NewDeducedTypeConverter()
}

func handle(line []byte) (outb []byte) {
	var r Req
	t0 := time.Now()
	var out M
	func() {
		defer func() {
			if x := recover(); x != nil {
				st := string(debug.Stack())
				if i := strings.Index(st, "panic("); i >= 0 {
					st = st[i:]
				}
				if len(st) > 1500 {
					st = st[:1500]
				}
				out = M{"panic": fmt.Sprint(x), "stack": st}
			}
		}()
		if err := utiljson.Unmarshal(line, &r); err != nil {
			out = M{"requestError": err.Error()}
			return
		}
		switch r.Mode {
		case "", "cr":
			out = runCR(&r, false)
		case "value":
			out = runCR(&r, true)
		case "steps":
			out = runSteps(&r)
		case "compile":
			out = runCompile(&r)
		case "expr":
			out = runExpr(&r)
		case "crd":
			out = runCRD(&r)
		case "vap":
			out = runPolicy(&r, false)
		case "map":
			out = runPolicy(&r, true)
		case "escape":
			out = runEscape(&r)
		case "maxElements":
			out = runMaxElements(&r)
		case "formats":
			out = runFormats(&r)
		case "policyExpression":
			out = runPolicyExpression(&r)
		case "authentication":
			out = runAuthentication(&r)
		case "authorization":
			out = runAuthorization(&r)
		case "rule":
			out = runRule(&r)
		default:
			out = M{"requestError": "unknown mode " + r.Mode}
		}
	}()
	if out == nil {
		out = M{}
	}
	out["id"] = r.ID
	out["ms"] = math.Round(float64(time.Since(t0).Microseconds())) / 1000
	return kdump.Marshal(out)
}

func main() {
	kdump.NilMarker = false
	par := flag.Int("j", runtime.NumCPU(), "parallel workers (output order is kept)")
	klog.InitFlags(nil)
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	type job struct {
		line []byte
		out  chan []byte
	}
	jobs := make(chan job, *par*4)
	order := make(chan chan []byte, *par*4)
	for i := 0; i < *par; i++ {
		go func() {
			for j := range jobs {
				j.out <- handle(j.line)
			}
		}()
	}
	done := make(chan struct{})
	go func() {
		for o := range order {
			w.Write(<-o)
			w.WriteByte('\n')
			if len(order) == 0 {
				w.Flush()
			}
		}
		close(done)
	}()
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			o := make(chan []byte, 1)
			order <- o
			jobs <- job{line, o}
		}
		if err != nil {
			break
		}
	}
	close(order)
	<-done
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
