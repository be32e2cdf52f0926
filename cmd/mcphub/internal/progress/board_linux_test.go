package progress

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/cmd/mcphub/internal/layout"
)

// A terminal is a pseudo terminal, and all that was written to it.
type terminal struct {
	*os.File
	master *os.File
	read   sync.WaitGroup
	text   strings.Builder
}

func newTerminal(t *testing.T, columns, rows int) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}))
	p := &terminal{File: slave, master: master}
	p.read.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			p.text.Write(b[:n])
			if err != nil { // the last program has left it
				return
			}
		}
	})
	return p
}

// written returns all that was written, once nothing more can be.
func (p *terminal) written(t *testing.T) string {
	t.Helper()
	must(t, p.Close())
	p.read.Wait()
	must(t, p.master.Close())
	return strings.ReplaceAll(p.text.String(), "\r\n", "\n")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var upAndErase = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// frames returns the pages that were drawn, each of which takes as many lines away as the one before it has.
func frames(t *testing.T, written string) (all []string) {
	t.Helper()
	at, shown := 0, 0
	for _, m := range upAndErase.FindAllStringSubmatchIndex(written+"\x1b[0A\x1b[J", -1) {
		frame := (written + "\x1b[0A\x1b[J")[at:m[0]]
		if taken := written[min(m[2], len(written)):min(m[3], len(written))]; taken != "" && taken != fmt.Sprint(strings.Count(frame, "\n")) {
			t.Errorf("%d lines are shown, and %s taken away: %q", strings.Count(frame, "\n"), taken, frame)
		}
		at, shown = m[1], shown+1
		all = append(all, frame)
	}
	return all
}

// TestEachSecondShows: two of six servers are slow. While they are, each second after the first shows how long, one line
// for each that runs, none of them wider than the terminal. In the end none of it is left.
func TestEachSecondShows(t *testing.T) {
	for _, columns := range []int{80, 40} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Setenv("TERM", "xterm")
			term := newTerminal(t, columns, 24)
			synctest.Test(t, func(t *testing.T) {
				b := New(term.File)
				began := time.Now()
				over := b.Watch(func() []Step {
					var steps []Step
					for i := range 6 {
						ready := time.Duration(i) * 300 * time.Millisecond
						if i >= 4 {
							ready = time.Duration(i) * 15 * time.Second
						}
						if time.Since(began) < ready {
							steps = append(steps, Step{fmt.Sprintf("server-%d", i), "installing @example/a-package-with-a-long-name, which takes its time"})
						}
					}
					return steps
				})
				time.Sleep(80 * time.Second)
				over()
			})
			written := term.written(t)
			drawn := frames(t, written)
			for i, frame := range drawn {
				for _, line := range strings.Split(frame, "\n") {
					if layout.Width(line) >= columns {
						t.Errorf("page %d: %q is wider than the terminal", i, line)
					}
				}
			}
			for second := 1; second < 75; second++ {
				at := fmt.Sprintf("%6s  server-5: inst", time.Duration(second)*time.Second)
				if !strings.Contains(written, at) {
					t.Errorf("no sign of life at second %d", second)
				}
			}
			if first := drawn[0]; strings.Count(first, "\n") != 2 { // the others are ready by then
				t.Errorf("the first page is %q", first)
			}
			if last := drawn[len(drawn)-1]; last != "" {
				t.Errorf("this is left: %q", last)
			}
		})
	}
}

// TestWhatIsWrittenStandsAbove: a line that is written meanwhile is whole, and the lines of the steps are drawn again below it.
func TestWhatIsWrittenStandsAbove(t *testing.T) {
	t.Setenv("TERM", "xterm")
	term := newTerminal(t, 80, 24)
	synctest.Test(t, func(t *testing.T) {
		b := New(term.File)
		over := b.Watch(func() []Step { return []Step{{"slow", "a\x1b[31mred\nline"}} })
		time.Sleep(1100 * time.Millisecond)
		_, err := fmt.Fprintln(b.Over(term.File), "mcphub: warning: something else")
		must(t, err)
		time.Sleep(time.Second)
		over()
	})
	const want = "    1s  slow: a\\x1b[31mred\\nline\n\x1b[1A\x1b[Jmcphub: warning: something else\n    1s  slow: "
	if written := term.written(t); !strings.HasPrefix(written, want) || !strings.HasSuffix(written, "\x1b[1A\x1b[J") {
		t.Errorf("got %q", written)
	}
}

// TestMoreStepsThanRows: the lines leave a row for the cursor, and tell how many steps they leave out.
func TestMoreStepsThanRows(t *testing.T) {
	t.Setenv("TERM", "xterm")
	term := newTerminal(t, 80, 6)
	synctest.Test(t, func(t *testing.T) {
		over := New(term.File).Watch(func() []Step {
			steps := make([]Step, 9)
			for i := range steps {
				steps[i] = Step{fmt.Sprint("server-", i), "starts"}
			}
			return steps
		})
		time.Sleep(1100 * time.Millisecond)
		over()
	})
	if page := frames(t, term.written(t))[0]; strings.Count(page, "\n") != 5 || !strings.HasSuffix(page, "… and 5 more\n") {
		t.Errorf("got %q", page)
	}
}

// TestNothingElsewhere: a pipe and a dumb terminal get no byte. The control is TestEachSecondShows.
func TestNothingElsewhere(t *testing.T) {
	read, write, err := os.Pipe()
	must(t, err)
	t.Setenv("TERM", "dumb")
	term := newTerminal(t, 80, 24)
	synctest.Test(t, func(t *testing.T) {
		for _, file := range []*os.File{write, term.File} {
			over := New(file).Watch(func() []Step { return []Step{{"slow", "starts"}} })
			time.Sleep(time.Minute)
			over()
		}
	})
	must(t, write.Close())
	if n, _ := read.Read(make([]byte, 1)); n != 0 || term.written(t) != "" {
		t.Errorf("%d bytes, and %q", n, term.text.String())
	}
}
