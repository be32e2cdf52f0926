package texts

import (
	"fmt"
	"strings"
	"testing"
)

func TestRootListNamesTwentyAndCounts(t *testing.T) {
	t.Parallel()
	if got := rootList([]string{"file:///home/user/project", "file:///home/user/documents"}); got != `["file:///home/user/project", "file:///home/user/documents"]` {
		t.Error(got)
	}
	if got := rootList(nil); got != "[]" {
		t.Error(got)
	}
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("file:///r%d", i))
	}
	got := rootList(many)
	if strings.Count(got, "file://") != 20 || !strings.HasSuffix(got, `"file:///r19", and 5 more]`) {
		t.Error(got)
	}
}
