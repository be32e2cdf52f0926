package confinement

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/children/program"
	"mcphub/internal/wellknown"
)

var update = flag.Bool("update", false, "write docs/sandbox.md anew")

// TestProfilesAreDocumented: the page has the profiles that are given.
//
//	go test ./children/confinement -run Documented -update
func TestProfilesAreDocumented(t *testing.T) {
	t.Parallel()
	const page = "../../docs/sandbox.md"
	const begin, end = "<!-- generated: profiles -->\n", "\n<!-- end -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	have := strings.ReplaceAll(string(text), "\r\n", "\n")
	before, rest, ok := strings.Cut(have, begin)
	_, after, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatal(page, "has no part for the profiles")
	}
	code := func(list ...[]string) string {
		if all := slices.Concat(list...); len(all) > 0 {
			return strings.ReplaceAll("`"+strings.Join(all, "`, `")+"`", "|", "` or `")
		}
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| profile | reads | writes | has also | cannot |\n|---|---|---|---|---|\n")
	for _, s := range wellknown.All() {
		k := s.Kernel
		if k == nil {
			continue
		}
		names := code(s.Packages)
		if k.ByName {
			names = code(slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.Packages, s.Commands)))))
		}
		var also []string
		for what, has := range map[string]bool{"unix sockets": k.Sockets, "the user's terminals": k.Terminals, "`/proc` to write, not as root": k.Proc, "`widen`: `refuse`": k.KeepRunning, "the repository that a root lies in, to read": k.Repository} {
			if has {
				also = append(also, what)
			}
		}
		slices.Sort(also)
		writes := code(k.Write)
		if k.Memory {
			writes = "its memory, if `" + memoryVariable + "` is not set"
		}
		tools := ""
		if len(k.Tools) > 0 {
			tools = cmp.Or(map[bool]string{true: ", "}[len(k.Read) > 0], "") + "the installation of " + code(k.Tools)
		}
		fmt.Fprintf(&b, "| %s: %s | %s%s | %s | %s | %s |\n", s.Name, names, code(k.Read), tools, writes, strings.Join(also, ", "), k.Cannot)
	}
	want := before + begin + b.String() + end + after
	switch {
	case have == want:
	case !*update:
		t.Errorf("%s is not what the code says: go test ./children/confinement -run Documented -update", page)
	default:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKnownCopy: a copy has the profile of the package that its entry names, not of what
// a link in it leads to.
func TestKnownCopy(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"npx -y mcp-server-kubernetes@1.0.0": "kubernetes", "pnpm dlx mcp-server-kubernetes": "kubernetes", "uvx mcp-server-git": "git", "npx foo": ""} {
		words := strings.Fields(line)
		prog := program.Program{Command: words[0], Args: words[1:]}
		in := &program.Installed{Dir: "/copy", Command: "/copy/node_modules/mcp-server-kubernetes/x"}
		ran, fetched, _ := prog.WithInstalled(prog.Args, in)
		h := New(Options{Environ: []string{"PATH=/usr/bin"}, Home: t.TempDir()})
		got := ""
		if k := h.knownAs(Child{Program: ran, Env: h.Inherited(nil), Command: ran.Command, Dir: "/", Args: ran.Args, Installed: in, Package: fetched}); k != nil {
			got = k.Name
		}
		if got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}
