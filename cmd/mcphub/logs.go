package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/atomicfile"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
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
			"by time. -f goes on with what it writes from now on, until it is interrupted. If clients\n" +
			"share a hub, standard error says whose session each is.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := src.Load(io.Discard) // what is wrong with it, validate says
			if err != nil {
				return err
			}
			dir := setup.LogFolder(file)
			if dir == "" {
				return exit.NotFoundErrorf("no logs are kept: \"logs.dir\" of hub.json is \"off\", or HOME is not set")
			}
			names := file.ServerNames()
			if len(args) == 0 {
				return exit.UsageErrorf("of which server? There are %s", strings.Join(names, ", "))
			}
			if err := checkServerName("hub.json", args[0], names); err != nil {
				return err
			}
			l := serverLog{dir: dir, name: args[0], out: cmd.OutOrStdout(), json: asJSON, read: map[string]*logEnd{}, told: map[string]bool{}}
			if s := file.Server(args[0]); s != nil && s.Disabled {
				layout.Printf(cmd.ErrOrStderr(), "mcphub: %.100s is disabled in hub.json, so no client starts it. To serve it: %s\n", args[0], src.CommandLine(printable.BuildCommand("enable", nil, args[0])...))
			}
			if file.Attach.Mode == keys.AttachAuto {
				l.say, l.look = cmd.ErrOrStderr(), func() []sessionOf { return sessionsOf(cmd.Context(), args[0], setup.AuditFolder(file)) }
			}
			defer l.closeFiles()
			found, err := l.showLast(lines)
			if err != nil {
				return err
			}
			if !follow {
				if !found {
					return exit.NotFoundErrorf("%s has written nothing to standard error, or was never started (looked in %s)", args[0], dir)
				}
				return nil
			}
			return l.followLog(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "go on with what it writes from now on")
	flags.IntVarP(&lines, "lines", "n", 100, "how many lines of the past to show")
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line; its shape is stable")
	configFlags(cmd, src)
	return cmd
}

// serverLog reads the files of one server: one for each hub that ran at the same time.
type serverLog struct {
	dir, name string
	out       io.Writer
	json      bool
	read      map[string]*logEnd // by path

	say      io.Writer          // is told whose sessions the lines are of
	look     func() []sessionOf // nil: no hub is shared, so no one wants to know
	looked   time.Time
	sessions []sessionOf
	told     map[string]bool // ids, as the lines have them
}

// A sessionOf is a session that lines may be of.
type sessionOf struct {
	id     string // of the session, or of the instance that several share
	client audit.ClientInfo
}

// sessionsOf lists every session that the record or a running hub knows, and the instances of the
// server that sessions share.
func sessionsOf(ctx context.Context, server, record string) (all []sessionOf) {
	recorded, _ := trail.ReadClients(record) // if there is none, the hubs tell
	hubs, _ := askHubs(ctx, io.Discard, 0)
	for _, h := range hubs {
		running := clientsOf(&h.report)
		maps.Copy(recorded, running)
		for _, c := range h.report.Children {
			for _, id := range c.Sessions {
				if c.Server == server && c.Instance != id {
					all = append(all, sessionOf{c.Instance, running[id]})
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(recorded)) {
		all = append(all, sessionOf{id, recorded[id]})
	}
	return all
}

// clientsOf returns those whose lines bear the beginning of an id. It looks again if no one
// is known, now and then: who follows a log sees sessions begin.
func (l *serverLog) clientsOf(id string) (all []audit.ClientInfo) {
	find := func() {
		for _, s := range l.sessions {
			if id != "" && strings.HasPrefix(s.id, id) {
				all = append(all, s.client)
			}
		}
	}
	if find(); len(all) == 0 && time.Since(l.looked) > lookAgain {
		l.sessions = l.look()
		l.looked = time.Now()
		find()
	}
	return all
}

const lookAgain = time.Second

// logEnd is how far a file was read.
type logEnd struct {
	file *os.File
	rest []byte // of a line that is not whole yet
}

// loggedLine is one line of logs --json.
type loggedLine struct {
	Time    string             `json:"time,omitempty"`
	Server  string             `json:"server"`
	PID     int                `json:"pid,omitempty"`     // of the process that wrote it
	Session string             `json:"session,omitempty"` // the beginning of its id; absent if several share the process
	Clients []audit.ClientInfo `json:"clients,omitempty"` // whose it is, if clients share the hub and that is known
	Text    string             `json:"text"`
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

func (l *serverLog) printLine(line string) error {
	parts := l.newLoggedLine(line)
	if l.look != nil && parts.Session != "" {
		parts.Clients = l.clientsOf(parts.Session)
	}
	if l.json {
		return layout.JSONLine(l.out, parts)
	}
	if len(parts.Clients) > 0 && !l.told[parts.Session] {
		l.told[parts.Session] = true
		for _, c := range parts.Clients {
			layout.Printf(l.say, "%s: %s\n", parts.Session, clientText(c))
		}
	}
	return layout.Println(l.out, strings.TrimSuffix(line, "\n"))
}

// logFiles returns the log files that hubs write to now, not what was set aside.
func (l *serverLog) logFiles() []string {
	name := strings.ToLower(l.name)
	var out []string
	entries, _ := os.ReadDir(l.dir) // if there is no folder, nothing was written
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".log")
		place, other := strings.CutPrefix(base, name+"@")
		if ok && e.Type().IsRegular() && (base == name || other && strings.Trim(place, "0123456789") == "") {
			out = append(out, filepath.Join(l.dir, e.Name()))
		}
	}
	return out
}

// showLast shows the last n lines. Each begins with its time, so the lines of several
// files are put in order by their text.
func (l *serverLog) showLast(n int) (found bool, err error) {
	var lines []string
	for _, path := range l.logFiles() {
		if err := l.readNews(path, func(line []byte) { lines = append(lines, string(line)) }); err != nil {
			return false, err
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		x, _, _ := strings.Cut(a, " ")
		y, _, _ := strings.Cut(b, " ")
		return strings.Compare(x, y)
	})
	for _, line := range lines[max(0, len(lines)-max(0, n)):] {
		if err := l.printLine(line); err != nil {
			return false, err
		}
	}
	return len(lines) > 0, nil
}

// readNews hands out the whole lines of a file that were not read before. A file that
// was set aside is read to its end, then the one that took its place.
func (l *serverLog) readNews(path string, each func(line []byte)) error {
	end := l.read[path]
	if end != nil {
		if err := end.readLines(each); err != nil {
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
	f, err := atomicfile.Open(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	end = &logEnd{file: f}
	l.read[path] = end
	return end.readLines(each)
}

func (e *logEnd) readLines(each func(line []byte)) error {
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

func (l *serverLog) followLog(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	var failed error
	for failed == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, path := range l.logFiles() {
			if err := l.readNews(path, func(line []byte) {
				if err := l.printLine(string(line)); err != nil {
					failed = err
				}
			}); err != nil {
				return err
			}
		}
	}
	return failed
}

func (l *serverLog) closeFiles() {
	for _, e := range l.read {
		_ = e.file.Close()
	}
}
