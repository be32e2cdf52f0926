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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/internal/exit"
	"mcphub/internal/printable"
)

// followEvery is how often logs -f looks for news.
const followEvery = 200 * time.Millisecond

func logsCommand() *cobra.Command {
	src := newSource()
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use:     "logs NAME",
		Aliases: []string{"log", "tail"},
		Short:   "Show what a server wrote to standard error",
		Long: "Shows the last lines that a server wrote to standard error, of every hub that runs or ran,\n" +
			"by time. -f goes on with what it writes from now on, until it is interrupted.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeServers,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := src.Load(io.Discard) // what is wrong with it, validate says
			if err != nil {
				return err
			}
			dir, err := src.LogFolder(io.Discard)
			if err != nil {
				return err
			}
			if dir == "" {
				return exit.Errorf(exit.NotFound, "no logs are kept: \"logs.dir\" of hub.json is \"off\", or HOME is not set")
			}
			var names []string
			for i := range file.Servers {
				names = append(names, file.Servers[i].Name)
			}
			if err := isAmong("hub.json", args[0], names); err != nil {
				return err
			}
			l := serverLog{dir: dir, name: args[0], out: printable.Writer(cmd.OutOrStdout()), read: map[string]*logEnd{}}
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
	configFlags(cmd, src)
	return cmd
}

// serverLog reads the files of one server: one for each hub that ran at the same time.
type serverLog struct {
	dir, name string
	out       io.Writer
	read      map[string]*logEnd // by path
}

// logEnd is how far a file was read.
type logEnd struct {
	file *os.File
	rest []byte // of a line that is not whole yet
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
		if _, err := io.WriteString(l.out, line); err != nil {
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
				if _, err := l.out.Write(line); err != nil {
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
