package status

import (
	"testing"

	"mcphub/rootsmgr"
)

// A root of a remote workspace that was skipped comes with what would map it. One that no map could make a directory of has none.
func TestMapLine(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"vscode-remote://ssh-remote+host/home/me": `"roots": {"map":{"vscode-remote://ssh-remote+host/home/me":"/home/me"}}`,
		"file://wsl$/Debian/home/me":              `"roots": {"map":{"file://wsl$/Debian/home/me":"/home/me"}}`,
		"vscode-remote://h/a\"b":                  `"roots": {"map":{"vscode-remote://h/a\"b":"/a\"b"}}`,
		"https://example.com/":                    "", "file:///gone": "", "": "",
	} {
		if got := mapLine(rootsmgr.Skipped{Raw: raw}); got != want {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
