package modern

import (
	"testing"

	"mcphub/internal/jsonrpc"
)

// A result of a tool that has no content has an empty one, and every other stays as it is.
func TestContentThatAToolLeavesOut(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{}`:                             `{"content":[]}`,
		`{"structuredContent":{"n":1}}`:  `{"content":[],"structuredContent":{"n":1}}`,
		`{"a":{"content":[]},"b":1.50}`:  `{"content":[],"a":{"content":[]},"b":1.50}`,
		`{ "isError":true,"content":[]}`: "",
		`{"content":null}`:               "",
		`null`:                           "",
		`["content"]`:                    "",
	} {
		if want == "" {
			want = result
		}
		if got := withContent(jsonrpc.ResultAnswer([]byte(result))); string(got.Result) != want {
			t.Errorf("%s becomes %s, want %s", result, got.Result, want)
		}
	}
	if got := withContent(jsonrpc.ErrorAnswer(1, "no")); got.Result != nil || got.Error == nil {
		t.Errorf("an error becomes %s", got.Result)
	}
}
