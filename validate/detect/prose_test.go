package detect

import (
	"testing"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/declare"
)

// TestProse: free text, patches, and what an edit replaces.
func TestProse(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob, `{"body":"file:///etc/hosts is a URL"}`, ``},
		{frob, `{"content":"--- /etc/passwd\n+++ b/a.txt\n"}`, `/content header w? /etc/passwd; header w? b/a.txt; header w? a.txt`},
		{frob, `{"content":"text\n+++ /etc/passwd\n"}`, ``},
		{frob, `{"diff":"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+/etc/passwd\n"}`, `/diff header w? b/new.txt; header w? new.txt`},
		{frob, `{"patch":"--- a/\n+++ b/\n"}`, `/patch header w? a/; header w? b/`},
		{frob, `{"patch":"--- a/x\n+++ src/x\n"}`, `/patch header w? a/x; header w? x; header w? src/x`},
		{frob, `{"search":"../x","replacement":"/etc"}`, ``},
		{frob.in(declare.ModeDeclared), `{"patch":"--- a/x\n+++ b/y\n"}`, ``},
		{frob, `{"diff":"file:///etc/x"}`, `/diff file-uri/text w? file:///etc/x`},
	})
}
