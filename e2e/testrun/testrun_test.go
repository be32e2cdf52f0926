package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module lays down a module with one file of tests in each package.
func module(t *testing.T, tests map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	for pkg, text := range tests {
		write(pkg+"/x_test.go", "package "+pkg+"\n\n"+text)
	}
	return dir
}

const passes = "import \"testing\"\n\nfunc TestGood(t *testing.T) { t.Log(\"what a good test says\") }\n"

// TestWhatIsPrinted: go test decides, and what it keeps to itself is printed. A package that does not build, panics or takes too long is
// shown with all that it wrote.
func TestWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tests   string
		code    int
		want    []string
		unsaid  string
		missing []string // for the second run
	}{
		"passes": {tests: passes, want: []string{"ok   ", " m/p\n", "the slowest tests:\n", "m/p TestGood"}, unsaid: "what a good test says"},
		"skips": {
			tests: passes + `
func TestTool(t *testing.T) {
	t.Run("a", func(t *testing.T) { t.Skip("NOT PROVED HERE: needs x: apt-get install y") })
	t.Run("b", func(t *testing.T) { t.Log("first"); t.Skip("another system") })
	t.Run("c", func(t *testing.T) { t.SkipNow() })
	t.Run("d", func(t *testing.T) { t.Cleanup(func() { t.Log("its log") }); t.Skip("NOT PROVED HERE: needs v: apt-get install w") })
}
func TestOther(t *testing.T) { t.Skip("NOT PROVED HERE: no root") }
`,
			want: []string{"ok   ", "\n5 tests were skipped:\n", "  NOT PROVED HERE: needs v: apt-get install w\n    m/p TestTool/d\n", "  NOT PROVED HERE: needs x: apt-get install y\n    m/p TestTool/a\n", "  another system\n    m/p TestTool/b\n",
				"  no reason was given\n    m/p TestTool/c\n", "  NOT PROVED HERE: no root\n    m/p TestOther\n"},
			missing: []string{"m/p TestTool/d\n", "m/p TestTool/a\n", "m/p TestOther\n"},
		},
		"fails":          {tests: passes + "\nfunc TestBad(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"what is wrong\") }) }\n", code: 1, want: []string{"what is wrong", "--- FAIL: TestBad/sub", "FAIL ", " m/p\n"}, unsaid: "what a good test says"},
		"does not build": {tests: "import \"testing\"\n\nfunc TestBad(t *testing.T) { nothing() }\n", code: 1, want: []string{"undefined: nothing", "FAIL ", " m/p"}},
		"does not parse": {tests: "import (\n", code: 1, want: []string{"x_test.go:", "FAIL ", " m/p"}},
		"panics":         {tests: passes + "\nfunc TestBad(t *testing.T) { println(\"on stderr\"); panic(\"gone wrong\") }\n", code: 1, want: []string{"on stderr", "panic: gone wrong", "goroutine ", "FAIL "}},
		"panics alone":   {tests: passes + "\nfunc TestBad(t *testing.T) { go panic(\"gone wrong\"); select {} }\n", code: 1, want: []string{"panic: gone wrong", "goroutine ", "FAIL "}},
		"exits":          {tests: "import (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); println(\"what main says\"); os.Exit(3) }\nfunc TestGood(t *testing.T) {}\n", code: 1, want: []string{"what main says", "FAIL "}},
		"takes too long": {tests: passes + "\nfunc TestBad(t *testing.T) { t.Log(\"it waits\"); select {} }\nfunc TestStuck(t *testing.T) { t.Parallel(); <-make(chan int) }\n", code: 1, want: []string{"it waits", "test timed out after", "goroutine ", "FAIL "}},
		"no test":        {tests: "var _ = 1\n", code: 1},
		"only skips":     {tests: "import \"testing\"\n\nfunc TestTool(t *testing.T) { t.Skip(\"another system\") }\n", code: 1, want: []string{"another system"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			missed := filepath.Join(t.TempDir(), "missed")
			limit := "2m"
			if name == "takes too long" {
				limit = "1s"
			}
			code, err := runTests(t.Context(), &out, module(t, map[string]string{"p": c.tests}), missed, "", []string{"-timeout", limit, "-count=1", "./..."})
			none := name == "no test" || name == "only skips"
			if code != c.code || (err != nil) != none || none && !strings.Contains(err.Error(), "no test ran") {
				t.Errorf("%d, %v", code, err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not print %q", want)
				}
			}
			if c.unsaid != "" && strings.Contains(out.String(), c.unsaid) {
				t.Errorf("it prints %q", c.unsaid)
			}
			if got, _ := os.ReadFile(missed); string(got) != strings.Join(c.missing, "") {
				t.Errorf("the second run is %q, want %q", got, c.missing)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// TestProve: the second run runs the tests that lacked something and no other test. It fails if one of them lacks something
// there too or does not run, though go test passes. Other skips are the control.
func TestProve(t *testing.T) {
	t.Parallel()
	const other = "\nfunc TestOther(t *testing.T) { t.Skip(\"another system\") }\n"
	const tool = "\nfunc TestTool(t *testing.T) {\n\tt.Run(\"a.b (c)\", func(t *testing.T) { %s })\n\tt.Run(\"a.b (c) too\", func(t *testing.T) { t.Error(\"beside\") })\n}\nfunc TestBeside(t *testing.T) { t.Error(\"beside\") }\n"
	has, lacks := fmt.Sprintf(tool, ""), fmt.Sprintf(tool, "t.Skip(\"NOT PROVED HERE: needs x: apt-get install y\")")
	for _, c := range []struct {
		tests, lines, want string
	}{
		{passes + other + has, "m/p TestGood\nm/p TestTool/a.b_(c)\n", ""},
		{passes + other + lacks, "m/p TestGood\nm/p TestTool/a.b_(c)\n", "\nFAIL  m/p TestTool/a.b_(c): NOT PROVED HERE: needs x: apt-get install y\n"},
		{passes + other + strings.ReplaceAll(has, "a.b (c)", "a|b/c[0] (d)"), "m/p TestGood\nm/p TestTool/a|b/c[0]_(d)\n", ""},
		{passes + other + has, "m/p TestGood\nm/p TestGone\n", "\nFAIL  m/p TestGone: did not pass\n"},
		{passes + other + has, "m/p TestGood\nm/p TestOther\n", "\nFAIL  m/p TestOther: did not pass\n"},
		{"no Go", "", ""},
	} {
		var out bytes.Buffer
		file := filepath.Join(t.TempDir(), "missed")
		if err := os.WriteFile(file, []byte(c.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		code, err := runTests(t.Context(), &out, module(t, map[string]string{"p": c.tests}), "", file, []string{"-count=1"})
		if (code != 0) != (c.want != "") || err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: %d, %v: %s", c.lines, code, err, &out)
		}
	}
}

// TestAnEndThatNeverCame: a package that go test leaves without an end has failed, and a line that is no event is printed.
func TestAnEndThatNeverCame(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := newReport(&out)
	err := r.readEvents(strings.NewReader(`{"Action":"start","Package":"m/p"}
{"Action":"run","Package":"m/p","Test":"TestA"}
{"Action":"output","Package":"m/p","Test":"TestA","Output":"so far\n"}
no event
{"Action":"output","Package":"m/p","Te`))
	r.printEnd()
	if want := "no event\n{\"Action\":\"output\",\"Package\":\"m/p\",\"Teso far\nFAIL  no end   m/p\n"; err != nil || r.failed != 1 || out.String() != want {
		t.Errorf("%v, %d failed: %q", err, r.failed, out.String())
	}
}

// TestTheSlowest: the list ends after 20, and the slowest are first.
func TestTheSlowest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := newReport(&out)
	for n := range 30 {
		r.takeEvent(event{Action: "pass", Package: "m/p", Test: "Test" + strings.Repeat("I", n), Elapsed: float64(n)})
		r.takeEvent(event{Action: "pass", Package: "m/p", Test: "Test/sub", Elapsed: 99})
	}
	r.takeEvent(event{Action: "pass", Package: "m/p"})
	r.printEnd()
	list := strings.Split(strings.TrimSpace(out.String()[strings.Index(out.String(), "slowest"):]), "\n")[1:]
	if len(list) != mostSlow || !strings.Contains(list[0], "29.0 s") || !strings.Contains(list[19], "10.0 s") {
		t.Errorf("%q", list)
	}
}
