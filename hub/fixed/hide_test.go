package fixed

import (
	"fmt"
	"strings"
	"testing"
)

// TestHideGivesUp: a schema that refers to itself twice, so that each level has twice as many, is not searched to the end. Control: one that
// honestly refers to a hundred others is.
func TestHideGivesUp(t *testing.T) {
	t.Parallel()
	owner := argument("1", "owner")
	for _, schema := range []string{
		`{"properties":{"owner":{}},"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"properties":{"owner":{}},"allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/A"}],"$defs":{"A":{"oneOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
	} {
		if got, err := Hide([]byte(schema), []Argument{owner}); got != nil || err == nil || !strings.Contains(err.Error(), "too often") || !strings.Contains(err.Error(), "/owner") {
			t.Errorf("%s: %d bytes, %v", schema, len(got), err)
		}
	}
	var refs, defs []string
	for i := range 100 {
		refs = append(refs, fmt.Sprintf(`{"$ref":"#/$defs/D%d"}`, i))
		defs = append(defs, fmt.Sprintf(`"D%d":{"properties":{"owner":{"description":%q},"b":{}}}`, i, strings.Repeat("x", 1000)))
	}
	honest := `{"anyOf":[` + strings.Join(refs, ",") + `],"$defs":{` + strings.Join(defs, ",") + `}}`
	want := `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"allOf":[{"properties":{"b":{}}}]},`, 100), ",") + `]}`
	if got, err := Hide([]byte(honest), []Argument{owner}); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
