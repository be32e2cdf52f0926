package registry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/internal/printable"
)

// An official is an example of server.json of the registry's own: see testdata/official/NOTICE.
type official struct {
	From    string
	Invalid string // what the registry's validators say about it, PATH: WHY; "" if it is valid
	Server  map[string]any
}

func officials(t *testing.T) (all []official) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "official", "entries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var o official
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// unread are members of an entry that nothing is made of, and what the validators call one of them.
var unread = []string{"schema", "$schema", "repository", "websiteUrl", "icons"}

func isUnread(o official) bool {
	part, _, _ := strings.Cut(strings.NewReplacer(".", ":", "[", ":").Replace(o.Invalid), ":")
	return slices.Contains(unread, part)
}

// wayOf returns the package or remote that the fault of an example lies in.
func wayOf(o official) (way string, i int, ok bool) {
	for _, way := range []string{"packages", "remotes"} {
		if n, err := fmt.Sscanf(o.Invalid, way+"[%d]", &i); n == 1 && err == nil {
			return way, i, true
		}
	}
	return "", 0, false
}

// TestOfficialExamples: over loopback, each of the registry's own valid examples comes to an entry that hub.json takes, or to a reason. Of the
// invalid ones each is refused with a reason. If the fault lies in one of several ways to run it, that way is refused. If it lies in what is
// not read, the example comes to the very same with and without that.
func TestOfficialExamples(t *testing.T) {
	t.Parallel()
	taken, refused, invalid, others, beside := 0, 0, 0, 0, 0
	for _, o := range officials(t) {
		try := func(s map[string]any) (entry string, err error) {
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			in, err := install(t, string(text), Options{})
			if err != nil {
				return "", err
			}
			inHub(t, in)
			return oneLine(t, in.Entry) + oneLine(t, in.Inputs), nil
		}
		entry, err := try(o.Server)
		if err != nil && (err.Error() == "" || strings.ContainsFunc(strings.ReplaceAll(err.Error(), "\n", ""), printable.Hidden)) {
			t.Errorf("%s: no plain reason: %q", o.From, err)
		}
		switch {
		case o.Invalid == "" && err == nil:
			taken++
		case o.Invalid == "":
			refused++
		case isUnread(o):
			with := maps.Clone(o.Server) // something to take
			with["remotes"] = []any{map[string]any{"type": "sse", "url": "https://example.com/sse"}}
			entry, err := try(with)
			for _, name := range unread {
				delete(with, name)
			}
			if same, reason := try(with); same != entry || (err == nil) != (reason == nil) {
				t.Errorf("%s: it comes to %s%v, and without its fault (%s) to %s%v", o.From, entry, err, o.Invalid, same, reason)
			}
			beside++
		case err != nil:
			invalid++
		default: // in another way than the one at fault
			way, i, ok := wayOf(o)
			alone := maps.Clone(o.Server)
			delete(alone, "packages")
			delete(alone, "remotes")
			if ok {
				alone[way] = o.Server[way].([]any)[i : i+1]
			}
			if only, err := try(alone); !ok || err == nil {
				t.Errorf("%s: it is not valid (%s), and comes to %s%s", o.From, o.Invalid, entry, only)
			}
			others++
		}
	}
	t.Logf("valid: %d taken, %d refused; not valid: %d refused, %d taken in another way, %d with a fault in what is not read", taken, refused, invalid, others, beside)
	if taken < 40 || invalid < 50 || others < 10 || beside < 20 {
		t.Error("there are too few examples")
	}
}
