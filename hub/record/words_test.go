package record

import (
	"strings"
	"testing"

	"mcphub/hub/audit"
)

func TestWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ result, fault, want string }{
		{`{"content":[]}`, "", audit.ResultOK},
		{`{"content":[],"isError":true}`, "", audit.ResultToolError},
		{`{"content":[{"text":"\"isError\":true"}],"isError":false}`, "", audit.ResultOK},
		{`{"content":"` + strings.Repeat("x", 64<<10) + `","isError":true}`, "", audit.ResultAnswered},
		{"", `{"code":1}`, audit.ResultError},
		{"", "", audit.ResultError},
	} {
		var result, fault []byte
		if tc.result != "" {
			result = []byte(tc.result)
		}
		if tc.fault != "" {
			fault = []byte(tc.fault)
		}
		if got := ResultWord(result, fault); got != tc.want {
			t.Errorf("%.60s: %s, want %s", tc.result, got, tc.want)
		}
	}
}
