package strictjson

import "mcphub/validate/chars"

// Codes of refusals. They are stable: audit lines and docs/findings.md use them.
const (
	CodeSyntax    = "arguments-syntax"
	CodeNotObject = "arguments-not-object"
	CodeDuplicate = "arguments-duplicate-name"
	CodeFolded    = "arguments-folded-name"
	CodeName      = "arguments-bad-name"
	CodeText      = "arguments-bad-text"
	CodeTooDeep   = "arguments-too-deep"
	CodeTooLarge  = "arguments-too-large"
	CodeNumber    = "arguments-bad-number"
)

// Error reports why arguments were refused before anything looked at their meaning. The hub
// answers it with -32602.
type Error struct {
	Code    string // one of Codes, stage "arguments"
	Pointer string // RFC 6901, "" for the whole
	Message string // what is wrong and what to do, without the pointer
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return "arguments: " + e.Message
	}
	return "arguments at " + chars.Quote(e.Pointer) + ": " + e.Message
}
