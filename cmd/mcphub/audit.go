package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"mcphub/internal/audit"
	"mcphub/internal/exit"
	"mcphub/internal/printable"
	"mcphub/internal/setup"
)

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read, check and export the record of every decision",
		Long: "Every hub records what it decided before it acts upon it, in a folder that all hubs of\n" +
			"a user share (audit.dir in hub.json). docs/audit-format.md describes the files.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	from := auditSource{src: newSource()}
	cmd.PersistentFlags().StringVarP(&from.src.Config, "config", "c", "", "hub.json that names the folder")
	cmd.PersistentFlags().StringVar(&from.dir, "dir", "", "the folder itself, be it a copy")
	cmd.AddCommand(auditTailCommand(&from), auditShowCommand(&from), auditVerifyCommand(&from), auditExportCommand(&from), auditReplayCommand(&from))
	return cmd
}

// auditSource says which folder is read.
type auditSource struct {
	src *setup.Source
	dir string
}

func (a *auditSource) folder() (string, error) {
	if a.dir != "" {
		return a.dir, nil
	}
	dir, err := a.src.AuditFolder(os.Stderr)
	if err != nil {
		return "", err
	}
	if dir == "" {
		return "", exit.Errorf(exit.Config, `no audit log is kept: audit.dir is "off", or this user has no state folder; --dir names another one`)
	}
	return dir, nil
}

// unread says why a folder could not be read.
func unread(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Errorf(exit.NotFound, "there is no audit log in %s yet: a hub makes it with its first start", dir)
	}
	return exit.Errorf(exit.Failure, "%w", err)
}

// auditFilter are the flags that pick decisions.
type auditFilter struct {
	audit.Filter
	since, until string
}

func (f *auditFilter) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Session, "session", "", "only this session; the beginning of its id will do")
	cmd.Flags().StringVar(&f.Child, "child", "", "only this server")
	cmd.Flags().StringVar(&f.Tool, "tool", "", "only this tool, by the server's own name for it")
	cmd.Flags().BoolVar(&f.Denied, "denied", false, "only what was not let through")
	cmd.Flags().StringVar(&f.since, "since", "", "not before: 2h, 3d, 2026-01-31, or a time as in RFC 3339")
	cmd.Flags().StringVar(&f.until, "until", "", "before, in the same forms")
}

func (f *auditFilter) filter(now time.Time) (audit.Filter, error) {
	var err error
	if f.Since, err = moment(f.since, now); err != nil {
		return f.Filter, exit.Errorf(exit.Usage, "--since: %w", err)
	}
	if f.Until, err = moment(f.until, now); err != nil {
		return f.Filter, exit.Errorf(exit.Usage, "--until: %w", err)
	}
	return f.Filter, nil
}

// moment reads a point in time: so long ago, a day, or RFC 3339.
func moment(text string, now time.Time) (time.Time, error) {
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

func auditShowCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var asJSON bool
	var last int
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Show recorded decisions and what became of them",
		Example: "  mcphub audit show --denied --since 1d\n  mcphub audit show --child files --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := from.decisions(&f)
			if err != nil {
				return err
			}
			if last > 0 {
				all = all[max(0, len(all)-last):]
			}
			out := auditPage{w: cmd.OutOrStdout(), json: asJSON}
			for i := range all {
				if err := out.decision(&all[i]); err != nil {
					return exit.Errorf(exit.Failure, "%w", err)
				}
			}
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().IntVarP(&last, "last", "n", 0, "only so many, the newest")
	return cmd
}

func (a *auditSource) decisions(f *auditFilter) ([]audit.Decision, error) {
	pick, err := f.filter(time.Now())
	if err != nil {
		return nil, err
	}
	dir, err := a.folder()
	if err != nil {
		return nil, err
	}
	all, err := audit.Decisions(dir, pick)
	if err != nil {
		return nil, unread(dir, err)
	}
	return all, nil
}

func auditTailCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var asJSON, follow bool
	var last int
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show the newest decisions, and with -f those that come",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := auditPage{w: cmd.OutOrStdout(), json: asJSON}
			return from.tail(cmd.Context(), &f, &out, last, follow)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is written, until interrupted; an outcome comes on a line of its own")
	cmd.Flags().IntVarP(&last, "last", "n", 10, "how many of those that there are")
	return cmd
}

func (a *auditSource) tail(ctx context.Context, f *auditFilter, out *auditPage, last int, follow bool) error {
	pick, err := f.filter(time.Now())
	if err != nil {
		return err
	}
	dir, err := a.folder()
	if err != nil {
		return err
	}
	var wrong error
	keep := func(err error) { wrong = errors.Join(wrong, err) }
	begin := func() {
		all, err := audit.Decisions(dir, pick)
		if err != nil && (!follow || !errors.Is(err, fs.ErrNotExist)) {
			keep(unread(dir, err))
			return
		}
		for i := max(0, len(all)-last); i < len(all); i++ {
			keep(out.decision(&all[i]))
		}
	}
	if !follow {
		begin()
		return wrong
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shown := map[string]map[audit.Place]audit.Event{}
	err = audit.Follow(ctx, dir, begin, func(e audit.Event) {
		for _, one := range e.Each() {
			if !pick.Matches(&one) {
				continue
			}
			if shown[e.LogID] == nil {
				shown[e.LogID] = map[audit.Place]audit.Event{}
			}
			if one.Decision == "allow" {
				shown[e.LogID][one.Place()] = one
			}
			keep(out.decision(&audit.Decision{Event: one}))
		}
		for _, r := range e.Results() {
			if of, ok := shown[e.LogID][r.Place()]; ok {
				delete(shown[e.LogID], r.Place())
				keep(out.decision(&audit.Decision{Event: of, Outcome: &r}))
			}
		}
		if wrong != nil {
			stop() // whoever read this is gone
		}
	})
	if err = errors.Join(wrong, err); err != nil {
		return exit.Failed(err)
	}
	return nil
}

func auditVerifyCommand(from *auditSource) *cobra.Command {
	var heads []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that no line was changed, removed, inserted or moved",
		Long: "Follows the chain of every log in the folder and names the first line of each that is\n" +
			"not as it was written, or not where it was. The last line printed is the head of the\n" +
			"folder: keep it elsewhere, and --head FILE proves later that nothing before it was\n" +
			"rewritten, the whole folder included.",
		Example: "  mcphub audit verify | tee ~/elsewhere/head.txt\n  mcphub audit verify --head ~/elsewhere/head.txt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := from.folder()
			if err != nil {
				return err
			}
			kept, err := keptHeads(heads)
			if err != nil {
				return err
			}
			report, err := audit.Verify(dir, kept...)
			if err != nil {
				return unread(dir, err)
			}
			out := cmd.OutOrStdout()
			if asJSON {
				if err := json.NewEncoder(out).Encode(verified(dir, report)); err != nil {
					return exit.Errorf(exit.Failure, "%w", err)
				}
			} else {
				for _, p := range report.Problems {
					p.File = filepath.Join(dir, p.File)
					fmt.Fprintln(out, printable.Escape(p.String(), 2000))
				}
				fmt.Fprintf(out, "%d lines in %d logs, %d of them open, %d lines cut off by a crash and recognised\n", report.Lines, report.Logs, report.Open, report.Torn)
				if report.OK() {
					fmt.Fprintf(out, "whole; head %s\n", report.Head)
				}
			}
			if !report.OK() {
				return exit.Errorf(exit.Failure, "the record in %s is not whole", dir)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a file that holds what verify printed earlier; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// verified is the shape of verify --json.
func verified(dir string, r *audit.Report) any {
	type problem struct {
		File string `json:"file"`
		Line int    `json:"line,omitempty"`
		Text string `json:"text"`
	}
	all := []problem{}
	for _, p := range r.Problems {
		all = append(all, problem{filepath.Join(dir, p.File), p.Line, p.Text})
	}
	return map[string]any{"whole": r.OK(), "logs": r.Logs, "lines": r.Lines, "open": r.Open, "torn": r.Torn, "head": r.Head, "problems": all}
}

var headPattern = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// keptHeads reads the heads out of files; one without any proves nothing.
func keptHeads(files []string) ([]string, error) {
	var all []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, exit.Errorf(exit.Usage, "--head: %w", err)
		}
		found := headPattern.FindAllString(string(text), -1)
		if len(found) == 0 {
			return nil, exit.Errorf(exit.Usage, "--head: %s holds no head (64 hexadecimal digits), so it proves nothing", name)
		}
		all = append(all, found...)
	}
	return all, nil
}
