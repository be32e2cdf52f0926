package catalog

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBriefServers(t *testing.T) {
	t.Parallel()
	tools := map[string][]string{"git": {"log", "diff"}, "none": nil}
	if got, want := briefServers([]string{"git", "none"}, tools), "Servers: git (log, diff), none."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := briefServers(nil, nil); got != "" {
		t.Errorf("no server: %q", got)
	}
	for _, n := range []int{1, 2, 9, 40, 100, 120, 1000} {
		var servers []string
		tools := map[string][]string{}
		for i := range n {
			name := fmt.Sprintf("sérver%d", i)
			servers = append(servers, name)
			for k := range i % 20 * 10 {
				tools[name] = append(tools[name], fmt.Sprintf("tool_with_a_name_%d", k))
			}
		}
		got := briefServers(servers, tools)
		named := strings.Count(got, "sérver")
		if chars := utf8.RuneCountInString(got); chars > maxBrief || named < min(n, 80) || n > 2 && n < 50 && !strings.Contains(got, "(tool_with_a_name_0") {
			t.Errorf("%d servers: %d characters, %d named: %s", n, chars, named, got)
		}
		if rest := fmt.Sprintf(", and %d more.", n-named); (named < n) != strings.HasSuffix(got, rest) {
			t.Errorf("%d servers, %d named: %s", n, named, got)
		}
	}
}
