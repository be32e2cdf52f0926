package validate

import (
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// Types of the packages below that stand in the API of this one. Callers import this package only.
type (
	ArgumentsError = strictjson.Error // why arguments were refused before anything looked at their meaning
	SchemaError    = schema.Error     // a violation of the tool's own inputSchema
	Role           = access.Role      // what a tool does with a path
	Mode           = declare.Mode     // how far the arguments of a child are searched
	ArgRule        = declare.ArgRule  // what hub.json says about one argument
	Finding        = detect.Finding   // one string, or part of one, that was taken for a path
	Decision       = policy.Decision  // what becomes of a call
	Policy         = policy.Policy    // what is decided otherwise than by the boundary
	Rule           = policy.Rule      // one rule of a policy
	PathRule       = policy.PathRule  // what a rule asks of a path
	RoleSet        = policy.RoleSet   // a set of roles
	Grant          = policy.Grant     // what a human has allowed one child of one session
	PolicyError    = policy.Error     // what is wrong with one part of a Policy
	PolicyInfo     = policy.Info      // a policy as it is shown to people
	RuleInfo       = policy.RuleInfo  // one rule of it
)

// The decisions, roles and modes there are.
const (
	Deny         = policy.Deny
	Escalate     = policy.Escalate
	Allow        = policy.Allow
	AnyRole      = policy.AnyRole
	RoleNone     = access.None
	RoleRead     = access.Read
	RoleWrite    = access.Write
	RoleDelete   = access.Delete
	ModeStrict   = declare.ModeStrict
	ModeDeclared = declare.ModeDeclared
	ModeOff      = declare.ModeOff
)

// How a string was recognised, as far as callers ask; package detect has them all.
const (
	HowTail     = detect.HowTail
	HowList     = detect.HowList
	HowShell    = detect.HowShell
	HowLiteral  = detect.HowLiteral
	HowResource = detect.HowResource
)

// ParseRole reads a role as hub.json spells it.
func ParseRole(s string) (Role, error) { return access.Parse(s) }

// Roles is the set of these roles.
func Roles(list ...Role) RoleSet { return policy.Roles(list...) }

// ParseMode reads a mode as hub.json spells it.
func ParseMode(s string) (Mode, error) { return declare.ParseMode(s) }

// RootsProbe is the tool by which a server lists the roots it has applied, "" where no profile of its names one.
func RootsProbe(command string, args []string) string {
	if p := declare.ByCommand(command, args); p != nil {
		return p.RootsProbe
	}
	return ""
}

// Codes of findings and of refusals beside those of an [ArgumentsError] and a [SchemaError]. They are stable: audit lines, explain and
// docs/findings.md use them, where each is explained.
const (
	CodeInside     = "inside"
	CodeNullDevice = "null-device"
	CodeOpen       = "open"
	CodeRuleAllow  = "rule-allow"
	CodeGranted    = "granted"

	CodeInsideResource = "inside-resources"

	CodeRuleDeny     = "rule-deny"
	CodeRuleEscalate = "rule-escalate"

	CodeOutside          = "outside"
	CodeOutsideLink      = "outside-through-link"
	CodeOutsideResource  = "outside-resources"
	CodeUnmapped         = "outside-container-mounts"
	CodeRootsUnsupported = "no-roots-unsupported"
	CodeRootsEmpty       = "no-roots-empty"
	CodeRootsFailed      = "no-roots-failed"
	CodeCeiling          = "outside-ceiling"
	CodeProtected        = "protected"
	CodeProtectedAbove   = "protected-below"

	CodeUnresolvable = "unresolvable"
	CodePermission   = "unresolvable-permission"
	CodeMagic        = "unresolvable-magic"
	CodeNUL          = "unresolvable-nul"
	CodeBadURI       = "bad-file-uri"
	CodeForeignHost  = "foreign-host"
	CodeForeignForm  = "foreign-form"
	CodeGlob         = "glob-climbs"
	CodeNoBase       = "no-base"
	CodeNoHome       = "no-home"
	CodeBudget       = "too-many-readings"
)
