package rootsmgr_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestBuildFallback(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/w/a/", "/w/b/", "/cfg/a/", "/cfg/c/", "/proj/a/", "/proj/d/", "/home/u/h/", "/w/file"},
		rootstest.Home("/home/u"))
	const fails = "error"
	for name, tt := range map[string]struct {
		flag   []string
		env    []string
		config []RootEntry
		noDir  bool
		want   string // origin, then the paths
		warned int
	}{
		"nothing":                       {want: "none"},
		"flag":                          {flag: []string{"a", "/cfg/c"}, env: []string{EnvRoots, "/proj/a"}, want: "flag /w/a /cfg/c"},
		"flag from the working folder":  {flag: []string{"a"}, env: []string{EnvProjectRoot, "/proj"}, want: "flag /w/a"},
		"flag missing":                  {flag: []string{"a", "nope"}, want: fails},
		"flag a file":                   {flag: []string{"file"}, want: "flag /w/file"},
		"project a file":                {env: []string{EnvProjectRoot, "/w/file"}, want: fails},
		"flag empty":                    {flag: []string{}, want: fails},
		"flag blank":                    {flag: []string{" "}, want: fails},
		"flag home":                     {flag: []string{"~/h", "~"}, want: "flag /home/u/h /home/u"},
		"flag partly blank":             {flag: []string{"", "a", " ", "b"}, want: "flag /w/a /w/b"},
		"flag URI":                      {flag: []string{"file:///w/a"}, want: fails},
		"environment":                   {env: []string{EnvRoots, "/w/a:/w/b:"}, config: []RootEntry{{URI: "c"}}, want: "environment /w/a /w/b"},
		"environment to the project":    {env: []string{EnvRoots, "a:d", EnvProjectRoot, "/proj"}, want: "environment /proj/a /proj/d"},
		"environment to hub.json":       {env: []string{EnvRoots, "a:c"}, want: "environment /cfg/a /cfg/c"},
		"environment without hub.json":  {env: []string{EnvRoots, "a:b"}, noDir: true, want: "environment /w/a /w/b"},
		"environment missing":           {env: []string{EnvRoots, "/w/a:/nope", EnvProjectRoot, "/proj"}, want: fails},
		"environment only separators":   {env: []string{EnvRoots, "::"}, want: fails},
		"environment empty":             {env: []string{EnvRoots, "", EnvProjectRoot, "/proj"}, want: "project /proj"},
		"environment blank":             {env: []string{EnvRoots, " "}, want: fails},
		"project blank":                 {env: []string{EnvProjectRoot, " "}, want: fails},
		"config as written, no value":   {config: []RootEntry{{URI: "${NOPE}/x"}}, want: "config /cfg/${NOPE}/x", warned: 1},
		"config":                        {config: []RootEntry{{URI: "c", Name: "C"}, {URI: "/w/a"}}, want: "config /cfg/c /w/a"},
		"config to the project":         {config: []RootEntry{{URI: "d"}}, env: []string{EnvProjectRoot, "/proj"}, want: "config /proj/d"},
		"config partly":                 {config: []RootEntry{{URI: "nope"}, {URI: "c"}}, want: "config /cfg/nope /cfg/c", warned: 1},
		"config URI":                    {config: []RootEntry{{URI: "file:///w/a"}}, want: "config file:///w/a"},
		"config useless, then project":  {config: []RootEntry{{URI: "nope"}}, env: []string{EnvProjectRoot, "/proj"}, want: "project /proj", warned: 1},
		"config useless, nothing after": {config: []RootEntry{{URI: "nope"}}, want: "config /cfg/nope", warned: 1},
		"project":                       {env: []string{EnvProjectRoot, "/proj"}, want: "project /proj"},
		"project relative":              {env: []string{EnvProjectRoot, "b"}, want: "project /w/b"},
		"project missing":               {env: []string{EnvProjectRoot, "/nope"}, want: fails},
		"project missing, not used":     {env: []string{EnvProjectRoot, "/nope", EnvRoots, "/w/a"}, want: "environment /w/a"},
	} {
		in := FallbackInput{Flag: tt.flag, Env: environment(tt.env...), Config: tt.config, ConfigDir: "/cfg", WorkDir: "/w", FS: f}
		if tt.noDir {
			in.ConfigDir = ""
		}
		got, warnings, err := BuildFallback(in)
		text := got.Origin.String()
		for _, e := range got.Entries {
			text += " " + e.URI
		}
		var se *SettingError
		if err != nil {
			text = fails
			if !errors.As(err, &se) || se.Setting == "" || !strings.Contains(err.Error(), se.Setting) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if text != tt.want || len(warnings) != tt.warned {
			t.Errorf("%s: %s, %v, %+v; want %s", name, text, err, warnings, tt.want)
		}
		if err != nil && !got.IsEmpty() {
			t.Errorf("%s: a fallback beside an error", name)
		}
	}
	w := rootstest.NewFS(t, platform.Windows, []string{"C:/a/", "D:/b/"})
	got, _, err := BuildFallback(FallbackInput{Env: environment(EnvRoots, `C:\a;d:/b;/c/a`), FS: w, WorkDir: `C:\`})
	if err != nil || !slices.Equal(got.Entries, []RootEntry{{URI: `C:\a`}, {URI: `d:\b`}, {URI: `C:\a`}}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := BuildFallback(FallbackInput{Flag: []string{"/w"}}); err == nil {
		t.Error("usable without a filesystem")
	}
}

// What is wrong with a flag or a variable is said of each directory at once.
func TestSettingErrors(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/w/a/"})
	for list, want := range map[string]string{
		"x,a,y": `--roots: "x" cannot be a root: it does not exist; name directories that exist and can be read` + "\n" +
			`--roots: "y" cannot be a root: it does not exist; name directories that exist and can be read`,
		" ,": "--roots: it names no directory; name directories that exist and can be read, or leave it out",
	} {
		if _, _, err := BuildFallback(FallbackInput{Flag: SplitRoots(list), WorkDir: "/w", FS: f}); err == nil || err.Error() != want {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// A Fallback needs an origin and an entry: half of one is none.
func TestHalfAFallback(t *testing.T) {
	t.Parallel()
	some := []RootEntry{{URI: "/w/a"}}
	for none, f := range map[bool][]Fallback{true: {{}, {Origin: OriginConfig}, {Entries: some}}, false: {{Origin: OriginConfig, Entries: some}}} {
		for _, f := range f {
			if f.IsEmpty() != none {
				t.Errorf("%+v is none: %t", f, f.IsEmpty())
			}
		}
	}
}
