package main

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/audit/trail"
)

// auditSource describes which folder is read.
type auditSource struct {
	src *setup.Source
	dir string
}

func (a *auditSource) auditFolder() (string, error) {
	if a.dir != "" {
		return a.dir, nil
	}
	file, err := a.src.Load(stderr)
	if err != nil {
		return "", err
	}
	dir := setup.AuditFolder(file)
	if dir == "" {
		return "", exit.ConfigErrorf(`no audit log is kept: audit.dir is "off", or this user has no state folder; --dir names another one`)
	}
	return dir, nil
}

// auditReadError returns why a folder could not be read; nil for nil.
func auditReadError(dir string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return exit.NotFoundErrorf("there is no audit log in %s yet: a hub makes it with its first start", dir)
	}
	return err
}

// pickDecisions returns which decisions are read, and from which folder.
func (a *auditSource) pickDecisions(f *auditFilter) (pick trail.Filter, dir string, err error) {
	debug.SetGCPercent(40) // reading a record makes much garbage and keeps little
	if pick, err = f.trailFilter(time.Now()); err == nil {
		dir, err = a.auditFolder()
	}
	return pick, dir, err
}

// auditFilter are the flags that pick decisions.
type auditFilter struct {
	trail.Filter
	since, until string
}

func (f *auditFilter) registerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Session, "session", "", "only this session; the beginning of its id will do")
	flags.StringVar(&f.Principal, "principal", "", "only this principal: the name of a token, NAME@ISSUER, local or nobody; * and ? stand for others")
	flags.StringVar(&f.Client, "client", "", "only this client, by the name that it gives itself; * and ? stand for others")
	flags.StringVar(&f.Address, "address", "", "only sessions that came from this address")
	flags.StringVar(&f.Child, "child", "", "only this server")
	flags.StringVar(&f.Tool, "tool", "", "only this tool, by the server's own name for it")
	flags.StringVar(&f.Path, "path", "", "only calls with this path or one below it; with * and ** what matches")
	flags.StringVar(&f.Rule, "rule", "", "only what this rule decided, by its name; * and ? stand for others")
	flags.StringVar(&f.Decision, "decision", "", "only this decision: allow, deny, escalate or refuse")
	flags.BoolVar(&f.Denied, "denied", false, "only what was not let through")
	flags.StringVar(&f.since, "since", "", "not before: 2h, 3d, 2026-01-31, or a time as in RFC 3339")
	flags.StringVar(&f.until, "until", "", "before, in the same forms")
}

// recordedDecisions are what a line of a decision may say.
var recordedDecisions = []string{"allow", "deny", "escalate", "refuse"}

func (f *auditFilter) trailFilter(now time.Time) (trail.Filter, error) {
	if d := f.Decision; d != "" && !slices.Contains(recordedDecisions, d) {
		return f.Filter, exit.UsageErrorf("--decision: %q is neither of %s", d, strings.Join(recordedDecisions, ", "))
	}
	var err error
	if f.Since, err = parseTime(f.since, now); err != nil {
		return f.Filter, exit.UsageErrorf("--since: %w", err)
	}
	if f.Until, err = parseTime(f.until, now); err != nil {
		return f.Filter, exit.UsageErrorf("--until: %w", err)
	}
	return f.Filter, nil
}

// parseTime reads a point in time: so long ago, a day, or RFC 3339.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); n == 1 && err == nil && fmt.Sprintf("%dd", days) == text && days >= 0 {
		return now.AddDate(0, 0, -days), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a duration (90m, 2h, 3d) nor a time (2026-01-31, 2026-01-31T15:04:05)", text)
}
