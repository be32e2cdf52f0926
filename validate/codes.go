package validate

// Codes of findings and of refusals beside the ones of an [strictjson.Error] and a [schema.Error]. They are stable: audit lines, explain
// and docs/findings.md use them, where each is explained.
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
	CodeProtectedBelow   = "protected-below"

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
