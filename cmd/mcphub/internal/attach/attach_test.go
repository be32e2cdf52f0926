package attach

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

func TestParseLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*CommandLine{
		"serve":                         {},
		"serve --config a -c b":         {Config: "b"},
		"serve -ca":                     {Config: "a"},
		"serve -c=a":                    {Config: "a"},
		"serve --config=a=b":            {Config: "a=b"},
		"serve --set x=1 --set=y=2":     {Set: []string{"x=1", "y=2"}},
		"serve --roots=":                {RootsGiven: true},
		"serve --log-level debug":       {LogLevel: "debug"},
		"serve --toolset a --toolset=b": {Toolsets: []string{"a", "b"}},
		"serve --toolset":               nil,
		"serve --http :1":               nil,
		"serve --no-auth":               nil,
		"serve --shared":                nil,
		"serve --start-shared":          nil,
		"serve -h":                      nil,
		"serve -- x":                    nil,
		"serve x":                       nil,
		"serve --config":                nil,
		"status":                        nil,
		"--config a serve":              nil,
		"":                              nil,
	} {
		got, ok := ParseCommandLine(strings.Fields(text))
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, *want) {
			t.Errorf("%q: %+v %t", text, got, ok)
		}
	}
}

// What is sent is what arrives, and nothing that is cut short is taken for a session.
func TestSession(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
		texts := rapid.SliceOfN(text, 0, 4)
		s := Surroundings{
			Roots: text.Draw(t, "roots"), RootsGiven: rapid.Bool().Draw(t, "given"), Again: rapid.Bool().Draw(t, "again"), LogLevel: text.Draw(t, "level"),
			Dir: text.Draw(t, "dir"), Environ: texts.Draw(t, "environ"),
			Toolsets: rapid.SampledFrom([][]string{nil, {"a"}, {"web", "b.c"}}).Draw(t, "toolsets"),
		}
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		n, err := Length(b[:4])
		if err != nil || n != len(b)-4 {
			t.Fatal(n, err)
		}
		got, err := Decode(b[4:])
		if err != nil || !slices.Equal(got.Environ, s.Environ) {
			t.Fatalf("%+v %v", got, err)
		}
		got.Environ = s.Environ
		if !reflect.DeepEqual(got, s) {
			t.Fatalf("%+v\n%+v", got, s)
		}
		if cut := rapid.IntRange(4, len(b)-1).Draw(t, "cut"); b[cut-1] != 0 {
			if _, err := Decode(b[4:cut]); err == nil {
				t.Fatal("half a session was taken")
			}
		}
	})
	for _, name := range []string{"", "a,b"} {
		if _, err := (Surroundings{Toolsets: []string{name}}).Encode(); err == nil {
			t.Errorf("the toolset %q was sent as another", name)
		}
	}
	if _, err := (Surroundings{Environ: []string{"A=\x00"}}).Encode(); err == nil {
		t.Error("a NUL was sent")
	}
	if _, err := (Surroundings{Environ: []string{strings.Repeat("x", largest)}}).Encode(); err == nil {
		t.Error("there is no bound")
	}
}

func FuzzDecode(f *testing.F) {
	b, err := Surroundings{Roots: "a", Dir: "/", Environ: []string{"A=1"}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := Decode(b); err == nil && !slices.Contains(s.Toolsets, "") {
			if again, err := s.Encode(); err != nil || len(again)-4 != len(b) {
				t.Errorf("%q became %q %v", b, again, err)
			}
		}
	})
}

func endpoint(t *testing.T, l CommandLine, environ ...string) Endpoint {
	t.Helper()
	p, err := EndpointOf(l, environ)
	if err != nil && runtime.GOOS == "windows" {
		t.Skip(err) // nothing attaches there
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Which sessions meet: those of one hub.json, version and environment of a hub.
func TestEndpointOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "hub.json")
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(config, link); err != nil {
		t.Fatal(err)
	}
	base := []string{"HOME=" + dir, "PATH=/bin", "LANG=C"}
	control := endpoint(t, CommandLine{Config: config}, base...)
	for name, c := range map[string]struct {
		line    CommandLine
		environ []string
		same    bool
	}{
		"the same":             {CommandLine{Config: config}, base, true},
		"by a link":            {CommandLine{Config: link}, base, true},
		"by a variable":        {CommandLine{}, append(slices.Clone(base), "MCPHUB_CONFIG="+config), true},
		"other roots":          {CommandLine{Config: config, Roots: "/a", RootsGiven: true}, append(slices.Clone(base), "MCPHUB_ROOTS=/b"), true},
		"another level":        {CommandLine{Config: config, LogLevel: "debug"}, base, true},
		"variables of servers": {CommandLine{Config: config}, []string{"HOME=" + dir, "PATH=/usr/bin", "SSH_AUTH_SOCK=/x"}, true},
		"another TMPDIR":       {CommandLine{Config: config}, append(slices.Clone(base), "TMPDIR="+dir), true},
		"in another order":     {CommandLine{Config: config}, []string{"LANG=C", "HOME=" + dir}, true},
		"another file":         {CommandLine{Config: filepath.Join(dir, "other.json")}, base, false},
		"none":                 {CommandLine{}, base, false},
		"a key":                {CommandLine{Config: config, Set: []string{"roots.timeout=1s"}}, base, false},
		"a key by a variable":  {CommandLine{Config: config}, append(slices.Clone(base), "MCPHUB_LIMITS__CALLS=1"), false},
		"another home":         {CommandLine{Config: config}, []string{"HOME=/"}, false},
	} {
		if got := endpoint(t, c.line, c.environ...); (got.name == control.name) != c.same {
			t.Errorf("%s: %s and %s", name, got.name, control.name)
		}
	}
}

func TestWanted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: false, `{"attach":"auto"}`: true, `{"attach" : {"mode":"off"}}`: true, `{"attach": "off"}`: false,
		`{"mcpServers":{"attach":{"command":"x"}}, "attach":"off"}`: true,
	} {
		if mentionsAttach(text) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
	if Wanted(CommandLine{}, nil) || !Wanted(CommandLine{Set: []string{"attach=auto"}}, nil) || !Wanted(CommandLine{}, []string{"MCPHUB_ATTACH=auto"}) {
		t.Error("without a file")
	}
	config := filepath.Join(t.TempDir(), "hub.json")
	for text, want := range map[string]bool{`{}`: false, `{"attach":"auto"}`: true} {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if Wanted(CommandLine{Config: config}, nil) != want || Wanted(CommandLine{}, []string{"MCPHUB_CONFIG=" + config}) != want {
			t.Errorf("%s: not %t", text, want)
		}
	}
}

// Four ends of a hub within a minute are too many, and twelve within an hour. What many sessions tell about one end is one.
func TestTooManyEnds(t *testing.T) {
	t.Parallel()
	p, dir, now := endpoint(t, CommandLine{}), t.TempDir(), time.Now()
	is := func(want bool, when time.Time) {
		t.Helper()
		if err := p.TooManyEnds(dir, when); (err != nil) != want {
			t.Errorf("%v", err)
		}
	}
	is(false, now)
	for range 15 {
		p.noteEnd(dir, 1, now)
	}
	is(false, now)
	for hub := range 3 {
		is(false, now.Add(30*time.Second))
		p.noteEnd(dir, 2+hub, now.Add(20*time.Second))
	}
	is(true, now.Add(30*time.Second))
	is(false, now.Add(time.Minute))
	for hub := range 8 { // one every 20 s
		at := now.Add(time.Minute + time.Duration(hub)*20*time.Second)
		is(false, at)
		p.noteEnd(dir, 10+hub, at)
	}
	is(true, now.Add(59*time.Minute))
	is(false, now.Add(61*time.Minute))
	is(false, now.Add(-2*time.Hour)) // the clock was set back
	for range 10_000 {
		p.noteEnd(dir, 3, now)
	}
	if info, err := os.Stat(p.endsFile(dir)); err != nil || info.Size() > 2*endsSize {
		t.Error("it grows without a bound", err)
	}
}
