package seeds

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pretended is a test that need not fail to be asked what it prints.
type pretended struct {
	testing.TB
	name   string
	failed bool
	end    []func()
	out    bytes.Buffer
}

func (p *pretended) Helper()           {}
func (p *pretended) Name() string      { return p.name }
func (p *pretended) Failed() bool      { return p.failed }
func (p *pretended) Cleanup(f func())  { p.end = append(p.end, f) }
func (p *pretended) Output() io.Writer { return &p.out }
func (p *pretended) Fatal(said ...any) { p.Fatalf("%s", fmt.Sprint(said...)) }
func (p *pretended) Fatalf(format string, args ...any) {
	p.failed = true
	fmt.Fprintf(&p.out, format+"\n", args...)
}

// ended returns what the test has printed at its end.
func (p *pretended) ended() string {
	for _, f := range slices.Backward(p.end) {
		f()
	}
	return p.out.String()
}

func TestTheSeedOfAProcess(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]uint64{"": written, "0": 0, "123": 123, "18446744073709551615": 1<<64 - 1} {
		if got, err := readSeed(value); got != want || err != nil {
			t.Errorf("%q: %d %v, want %d", value, got, err, want)
		}
	}
	for _, value := range []string{"x", "-1", "1.5", "RANDOM", " 1", "18446744073709551616"} {
		if got, err := readSeed(value); err == nil {
			t.Errorf("%q: %d", value, got)
		}
	}
	one, _ := readSeed("random")
	if other, _ := readSeed("random"); one == other {
		t.Errorf("random is %d twice", one)
	}
}

// What a test draws depends on the seed, on its name and on the stream, and on nothing else: so the numbers stand here.
func TestASeriesIsWritten(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	for _, c := range []struct {
		seed    uint64
		name    string
		streams []int
		want    uint64
	}{
		{written, "TestX", nil, 18008544188937120122},
		{written, "TestX", []int{0}, 11220001928181473156},
		{written, "TestX", []int{1}, 9455407393112825459},
		{written, "TestX", []int{1, 2}, 11281971121412106458},
		{written, "TestX/sub", nil, 16886495411822073998},
		{written, "TestY", nil, 9572208597257024019},
		{1, "TestX", nil, 9627281483939814296},
	} {
		got := mixSeed(c.seed, c.name, c.streams).Uint64()
		if got != c.want {
			t.Errorf("%d %s %v: %d, want %d", c.seed, c.name, c.streams, got, c.want)
		}
		if seen[got] != "" {
			t.Errorf("%s %v draws what %s does", c.name, c.streams, seen[got])
		}
		seen[got] = c.name
	}
	if Rand(t, 1).Uint64() != Rand(t, 1).Uint64() {
		t.Error("the same stream is another one")
	}
}

func TestAFailureIsRepeated(t *testing.T) {
	for _, c := range []struct{ name, cases, want string }{
		{"TestX", "", "repeat: MCPHUB_SEED=7 go test ./e2e/seeds -run '^TestX$'\n"},
		{"TestX/a_(b)/it's", "", "repeat: MCPHUB_SEED=7 go test ./e2e/seeds -run '^TestX$/^a_\\(b\\)$/^it'\\''s$'\n"},
		{"TestX", "1000", "repeat: MCPHUB_SEED=7 MCPHUB_LONG_CASES=1000 go test ./e2e/seeds -run '^TestX$'\n"},
	} {
		t.Setenv(casesVariable, c.cases)
		t.Setenv("MCPHUB_E2E_LONG", "")
		p := &pretended{name: c.name}
		printRepeat(p, 7)
		printRepeat(p, 7)
		if p.failed = true; p.ended() != c.want {
			t.Errorf("it prints %q, want %q", p.ended(), c.want)
		}
		good := &pretended{name: c.name}
		printRepeat(good, 7)
		if said := good.ended(); said != "" {
			t.Errorf("a test that passes prints %q", said)
		}
	}
}

func TestCases(t *testing.T) {
	for value, want := range map[string]int{"": 5, "1": 1, "1000000": 1_000_000} {
		t.Setenv(casesVariable, value)
		if got := Cases(t, 5); got != want || Long() != (value != "") {
			t.Errorf("%q: %d, want %d; %t", value, got, want, Long())
		}
	}
	for _, value := range []string{"x", "-1", "0", "1.5"} {
		t.Setenv(casesVariable, value)
		if p := (&pretended{}); !strings.Contains(fmt.Sprint(Cases(p, 5), p.ended()), "is no number of cases") {
			t.Errorf("%q is taken", value)
		}
	}
}

// Properties that are tried beside each other each have their own seed and number of cases, and leave the flags as they were.
func TestCheckBesideOthers(t *testing.T) {
	checks, seed := setFlag("checks", "7"), setFlag("seed", "0")
	t.Cleanup(func() { setFlag("checks", checks); setFlag("seed", seed) })
	t.Run("beside", func(t *testing.T) {
		for n := range 8 {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				var mine []uint64
				for range 2 {
					CheckCases(t, 20+n, func(t *rapid.T) { mine = append(mine, rapid.Uint64().Draw(t, "x")) })
				}
				if once := 20 + n; len(mine) != 2*once || !slices.Equal(mine[:once], mine[once:]) {
					t.Errorf("%d draws, want %d, twice the same", len(mine), 2*once)
				}
			})
		}
	})
	if setFlag("checks", "7") != "7" || setFlag("seed", "0") != "0" {
		t.Error("the flags are not what they were")
	}
}

// A property that fails is repeated by the line that its test prints, and leaves no file. The test that fails is run by a
// process of its own.
func TestAPropertyThatFails(t *testing.T) {
	t.Parallel()
	if os.Getenv("SEEDS_TEST_FAILS") != "" {
		Check(t, func(t *rapid.T) {
			if n := rapid.IntRange(0, 1000).Draw(t, "n"); n > 900 {
				t.Fatal("it is", n)
			}
		})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAPropertyThatFails$")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SEEDS_TEST_FAILS=1", seedVariable+"=42", casesVariable+"=", "MCPHUB_E2E_LONG=")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"it is 901", "    repeat: MCPHUB_SEED=42 go test . -run '^TestAPropertyThatFails$'\n"} {
		if err == nil || strings.Count(string(out), want) == 0 {
			t.Errorf("%v, without %q:\n%s", err, want, out)
		}
	}
	if left, err := filepath.Glob(cmd.Dir + "/*"); len(left) > 0 || err != nil {
		t.Errorf("left: %q %v", left, err)
	}
	cmd = exec.Command(os.Args[0], "-test.run=^TestAPropertyThatFails$")
	cmd.Env = append(os.Environ(), "SEEDS_TEST_FAILS=1", seedVariable+"=soon")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), `MCPHUB_SEED="soon" is neither a number nor "random"`) {
		t.Errorf("%v: %s", err, out)
	}
}
