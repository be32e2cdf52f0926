package windows

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// TestWineHasNoLinks is why the tables hold no attack by a link: Wine makes no junction, and no program sees that a link of Linux is one. A Wine
// that can do more fails this test.
func TestWineHasNoLinks(t *testing.T) {
	m := onWindows(t)
	world.Must(t, m.write(`C:\links\plain\x.txt`, "text\n"))
	world.Must(t, os.Symlink(m.path(`C:\outside`), m.path(`C:\links\link`)))
	cmd := func(args ...string) string {
		c := exec.Command(m.wine, args...)
		c.Dir, c.Env = m.path(`C:\links`), m.env
		said, _ := c.Output() // what it says is looked at
		return string(said)
	}
	cmd("cmd", "/c", "mklink", "/J", "junction", `C:\outside`)
	if _, err := os.Lstat(m.path(`C:\links\junction`)); err == nil {
		t.Error("Wine makes junctions: put attacks by them into the table")
	}
	if said := strings.ReplaceAll(cmd(`C:\tools\witness.exe`, "look", "plain", "link"), "\r", ""); said != "plain d---------\nlink d---------\n" {
		t.Errorf("Wine shows links: put attacks by them into the table\n%s", said)
	}
}
