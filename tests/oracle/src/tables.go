package main

import (
	"encoding/json"

	"k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Small questions that only the conformance tables ask.

func errorOf(err error) M {
	if err == nil {
		return M{}
	}
	return M{"error": err.Error()}
}

// runEscape escapes or unescapes a property name.
func runEscape(r *Req) M {
	if r.Escaped != nil {
		text, ok := apiservercel.Unescape(*r.Escaped)
		if !ok {
			return M{"unescapable": true}
		}
		return M{"unescaped": text}
	}
	text, ok := apiservercel.Escape(*r.Unescaped)
	if !ok {
		return M{"escapable": false}
	}
	return M{"escapable": true, "escaped": text}
}

// runMaxElements: how many elements the CEL type of a schema is estimated to have.
func runMaxElements(r *Req) M {
	in, err := parseSchema(r.Schema)
	if err != nil {
		return M{"schemaError": err.Error()}
	}
	s, err := schema.NewStructural(in)
	if err != nil {
		return M{"schemaError": err.Error()}
	}
	declared := model.SchemaDeclType(s, false)
	if declared == nil {
		return M{"noType": true}
	}
	return M{"noType": false, "maxElements": declared.MaxElements}
}

// runFormats: the formats of a schema that a compatibility version does not know.
func runFormats(r *Req) M {
	in, err := parseSchema(r.Schema)
	if err != nil {
		return M{"schemaError": err.Error()}
	}
	converted := &spec.Schema{}
	if err := apiservervalidation.ConvertJSONSchemaProps(in, converted); err != nil {
		return M{"schemaError": err.Error()}
	}
	unknown := apiservervalidation.GetUnrecognizedFormats(converted, version.MustParse(r.Version))
	return M{"unrecognized": append([]string{}, unknown...)}
}

// runPolicyExpression compiles an expression of a ValidatingAdmissionPolicy.
func runPolicyExpression(r *Req) M {
	var accessor plugincel.ExpressionAccessor = &validating.ValidationCondition{Expression: r.Expr}
	if r.Role == "auditAnnotation.valueExpression" {
		accessor = &validating.AuditAnnotationCondition{Key: "k", ValueExpression: r.Expr}
	}
	declared := plugincel.OptionalVariableDeclarations{HasParams: r.HasParams, HasAuthorizer: r.HasAuthorizer}
	kind := environment.NewExpressions
	if r.EnvType == "stored" {
		kind = environment.StoredExpressions
	}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	result := plugincel.NewCompiler(base).CompileCELExpression(accessor, declared, kind)
	if result.Error == nil {
		return M{}
	}
	return M{"error": result.Error.Detail}
}

// runAuthentication compiles an expression of the structured authentication configuration.
func runAuthentication(r *Req) M {
	accessors := map[string]authenticationcel.ExpressionAccessor{
		"*cel.ClaimMappingExpression":   &authenticationcel.ClaimMappingExpression{Expression: r.Expr},
		"*cel.ClaimValidationCondition": &authenticationcel.ClaimValidationCondition{Expression: r.Expr},
		"*cel.ExtraMappingExpression":   &authenticationcel.ExtraMappingExpression{Key: "k", Expression: r.Expr},
		"*cel.UserValidationCondition":  &authenticationcel.UserValidationCondition{Expression: r.Expr},
	}
	compiler := authenticationcel.NewDefaultCompiler()
	compile := compiler.CompileClaimsExpression
	if r.Scope == "user" {
		compile = compiler.CompileUserExpression
	}
	_, err := compile(accessors[r.Accessor])
	return errorOf(err)
}

// runAuthorization compiles a match condition of an authorization webhook.
func runAuthorization(r *Req) M {
	accessor := &authorizationcel.SubjectAccessReviewMatchCondition{Expression: r.Expr}
	_, err := authorizationcel.NewDefaultCompiler().CompileCELExpression(accessor)
	return errorOf(err)
}

// runRule: whether a rule matches a request; what the rule does not say matches anything.
func runRule(r *Req) M {
	var a attrs
	if err := json.Unmarshal(r.Attributes, &a); err != nil {
		return M{"decodeError": err.Error()}
	}
	scope := v1.AllScopes
	rule := v1.RuleWithOperations{Operations: []v1.OperationType{v1.OperationAll},
		Rule: v1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: &scope}}
	if err := json.Unmarshal(r.MatchRule, &rule); err != nil {
		return M{"decodeError": err.Error()}
	}
	asked := admission.NewAttributesRecord(nil, nil, a.Kind, a.Namespace, a.Name, a.Resource, a.Subresource, admission.Operation(a.Operation), nil, a.DryRun, nil)
	matcher := rules.Matcher{Rule: rule, Attr: asked}
	return M{"matches": matcher.Matches()}
}
