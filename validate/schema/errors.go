package schema

import (
	"fmt"

	"mcphub/validate/chars"
)

// Codes of an error.
const (
	CodeViolation = "schema-violation"
	CodeBudget    = "schema-budget"
)

// How a schema declares that a string is a path.
const (
	HowFormat      = "format"      // by a format in the tool's schema
	HowDescription = "description" // the schema's words about it
)

// Error is a violation of the tool's own inputSchema. The hub answers it with a tool result that has isError.
type Error struct {
	Code    string // CodeViolation or CodeBudget
	Pointer string // of the argument, RFC 6901
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("argument %s: %s", chars.Quote(e.Pointer), e.Message)
}
