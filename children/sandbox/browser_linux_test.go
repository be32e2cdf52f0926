package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
)

// TestBrowser: Chromium has its own sandbox within this one, of namespaces and filters. As
// root it has none anywhere.
func TestBrowser(t *testing.T) {
	t.Parallel()
	landlocked(t)
	needs.Program(t, "chromium")
	if os.Getuid() == 0 {
		childtest.AsAnotherUser(t, "TestBrowser")
		return
	}
	for _, attributes := range []bool{false, true} {
		top := real(t.TempDir())
		p := profileFor(t, top)
		p.Sockets, p.Attributes = true, attributes
		p.Rules = append(p.Rules, sandbox.Memory, // it shares memory there, unless the folder is small
			sandbox.Rule{Path: "/proc", Access: sandbox.Read | sandbox.Write},
			sandbox.Rule{Path: "/etc/chromium", Access: sandbox.Read},
			sandbox.Rule{Path: "/etc/chromium.d", Access: sandbox.Read})
		p.Rules = sandbox.Sorted(p.Rules)
		// What runs the browser sees how the one that draws the page is held.
		script := `chromium --headless --disable-gpu --user-data-dir=` + filepath.Join(top, "profile") + ` --remote-debugging-port=0 'data:text/html,<p>drawn' >browser.log 2>&1 &
browser=$!
while kill -0 $browser 2>/dev/null; do
  for p in /proc/[0-9]*; do
    if { tr '\0' ' ' <$p/cmdline; } 2>/dev/null | grep -q -- '--type=renderer'; then
      held=$(grep Seccomp_filters $p/status 2>/dev/null | cut -f2)
      if [ "${held:-0}" -ge 2 ] && [ "$(readlink $p/ns/user)" != "$(readlink /proc/self/ns/user)" ]; then echo "filters $held, its own namespace"; kill $browser; wait; exit; fi
    fi
  done
done
cat browser.log; exit 1`
		cmd := child(t, top, "shell", script)
		cmd.Env = append(cmd.Env, "HOME="+top, "TMPDIR="+top, "XDG_CACHE_HOME="+top, "XDG_CONFIG_HOME="+top)
		if out := confined(t, p, cmd); !strings.Contains(out, "its own namespace") {
			t.Errorf("attributes held %t: %s", attributes, out)
		} else {
			t.Logf("attributes held %t: %s", attributes, out)
		}
	}
}
