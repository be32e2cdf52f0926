package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/setup"
)

// followEvery is how often logs -f looks for news.
const followEvery = 200 * time.Millisecond

func logsCommand() *cobra.Command {
	src := newSource()
	var follow, asJSON bool
	var lines int
	cmd := &cobra.Command{
		Use:     "logs NAME",
		Aliases: []string{"log", "tail"},
		Short:   "Show what a server wrote to standard error",
		Long: "Shows the last lines that a server wrote to standard error, of every hub that runs or ran,\n" +
			"by time. -f goes on with what it writes from now on, until it is interrupted.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := src.Load(io.Discard) // what is wrong with it, validate says
			if err != nil {
				return err
			}
			dir := setup.LogFolder(file)
			if dir == "" {
				return exit.Errorf(exit.NotFound, "no logs are kept: \"logs.dir\" of hub.json is \"off\", or HOME is not set")
			}
			var names []string
			for i := range file.Servers {
				names = append(names, file.Servers[i].Name)
			}
			if len(args) == 0 {
				return exit.Errorf(exit.Usage, "of which server? There are %s", strings.Join(names, ", "))
			}
			if err := isAmong("hub.json", args[0], names); err != nil {
				return err
			}
			l := serverLog{dir: dir, name: args[0], out: cmd.OutOrStdout(), json: asJSON, read: map[string]*logEnd{}}
			defer l.close()
			found, err := l.last(lines)
			if err != nil {
				return exit.Failed(err)
			}
			if !follow {
				if !found {
					return exit.Errorf(exit.NotFound, "%s has written nothing to standard error, or was never started (looked in %s)", args[0], dir)
				}
				return nil
			}
			return exit.Failed(l.follow(cmd.Context()))
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what it writes from now on")
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many lines of the past to show")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line; its shape is stable")
	configFlags(cmd, src)
	return cmd
}

// serverLog reads the files of one server: one for each hub that ran at the same time.
type serverLog struct {
	dir, name string
	out       io.Writer
	json      bool
	read      map[string]*logEnd // by path
}

// logEnd is how far a file was read.
type logEnd struct {
	file *os.File
	rest []byte // of a line that is not whole yet
}

// loggedLine is one line of logs --json.
type loggedLine struct {
	Time    string `json:"time,omitempty"`
	Server  string `json:"server"`
	PID     int    `json:"pid,omitempty"`     // of the process that wrote it
	Session string `json:"session,omitempty"` // the beginning of its id; absent where several share the process
	Text    string `json:"text"`
}

// linePattern takes a line of a log apart: time, server, process, session, text. The
// process is absent where lines were left out.
var linePattern = lazyregexp.New(`^(\S+Z) (\S+?)(?:\[(\d+)\] (\S+?))?(\*|:) (.*)$`)

// newLoggedLine reads a line; what has another form is all text.
func (l *serverLog) newLoggedLine(line string) loggedLine {
	line = strings.TrimRight(line, "\n")
	m := linePattern.FindStringSubmatch(line)
	if m == nil {
		return loggedLine{Server: l.name, Text: line}
	}
	pid, _ := strconv.Atoi(m[3]) // none: 0
	return loggedLine{Time: m[1], Server: m[2], PID: pid, Session: strings.Trim(m[4], "-"), Text: m[6]}
}

func (l *serverLog) print(line string) error {
	if l.json {
		return layout.JSONLine(l.out, l.newLoggedLine(line))
	}
	return layout.Println(l.out, strings.TrimSuffix(line, "\n"))
}

// files are those that hubs write to now, not what was set aside.
func (l *serverLog) files() []string {
	name := strings.ToLower(l.name)
	var out []string
	entries, _ := os.ReadDir(l.dir) // where there is no folder, nothing was written
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".log")
		place, other := strings.CutPrefix(base, name+"@")
		if ok && e.Type().IsRegular() && (base == name || other && strings.Trim(place, "0123456789") == "") {
			out = append(out, filepath.Join(l.dir, e.Name()))
		}
	}
	return out
}

// last shows the last n lines. Each begins with its time, so the lines of several
// files are put in order by their text.
func (l *serverLog) last(n int) (found bool, err error) {
	var lines []string
	for _, path := range l.files() {
		if err := l.news(path, func(line []byte) { lines = append(lines, string(line)) }); err != nil {
			return false, err
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		x, _, _ := strings.Cut(a, " ")
		y, _, _ := strings.Cut(b, " ")
		return strings.Compare(x, y)
	})
	for _, line := range lines[max(0, len(lines)-max(0, n)):] {
		if err := l.print(line); err != nil {
			return false, err
		}
	}
	return len(lines) > 0, nil
}

// news hands out the whole lines of a file that were not read before. A file that
// was set aside is read to its end, then the one that took its place.
func (l *serverLog) news(path string, each func(line []byte)) error {
	end := l.read[path]
	if end != nil {
		if err := end.lines(each); err != nil {
			return err
		}
		was, err1 := end.file.Stat()
		now, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(was, now) {
			return nil
		}
		_ = end.file.Close()
		delete(l.read, path)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	end = &logEnd{file: f}
	l.read[path] = end
	return end.lines(each)
}

func (e *logEnd) lines(each func(line []byte)) error {
	r := bufio.NewReader(e.file)
	for {
		part, err := r.ReadBytes('\n')
		e.rest = append(e.rest, part...)
		if bytes.HasSuffix(e.rest, []byte{'\n'}) {
			each(e.rest)
			e.rest = nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *serverLog) follow(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	var failed error
	for failed == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, path := range l.files() {
			if err := l.news(path, func(line []byte) {
				if err := l.print(string(line)); err != nil {
					failed = err
				}
			}); err != nil {
				return err
			}
		}
	}
	return failed
}

func (l *serverLog) close() {
	for _, e := range l.read {
		_ = e.file.Close()
	}
}
