package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/pin"
	"mcphub/internal/printable"
)

func lockCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	src.WithoutLock = true
	w := lockWork{src: src}
	cmd := &cobra.Command{
		Use:   "lock [NAME...]",
		Short: "Accept what servers define now, and keep it in hub.lock",
		Long: "Starts every server of hub.json, or those that are named, and writes what they define into\n" +
			"hub.lock beside hub.json: tools, prompts, resources and instructions, whole, with the package\n" +
			"that runs. From then on a hub withholds a tool that has grown until you accept it, as the key\n" +
			"changes of hub.json has it. A tool grows if it gets a new argument for a path, a URL or a\n" +
			"command, accepts more, promises more by its hints, or has text that is hidden or tells a model\n" +
			"what to do. With --check nothing is written: the exit status is 6 if something has grown, and\n" +
			"10 if something only reads differently.",
		Example: "  mcphub lock\n" +
			"  mcphub lock --check --sarif > changes.sarif",
		RunE: func(cmd *cobra.Command, args []string) error {
			if w.asJSON && w.asSARIF {
				return errTwoForms
			}
			log, err := logs.newLogger(os.Stderr)
			if err != nil {
				return err
			}
			w.out, w.say = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return w.run(cmd.Context(), args, log)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&w.roots, "root", nil, "a directory in scope while they start; may be repeated. Without one the fallbacks count")
	flags.BoolVar(&w.check, "check", false, "compare with hub.lock, and write nothing")
	flags.BoolVar(&w.asSARIF, "sarif", false, "print the differences as SARIF 2.1.0")
	jsonFlag(cmd, &w.asJSON)
	configFlags(cmd, src)
	logs.registerFlags(cmd, "error")
	return cmd
}

// lockWork is one run of lock.
type lockWork struct {
	src                    *setup.Source
	roots                  []string
	check, asJSON, asSARIF bool
	out, say               io.Writer
}

// run locks the servers of hub.json, or the servers that are named.
func (w *lockWork) run(ctx context.Context, names []string, log zerolog.Logger) error {
	if !w.check {
		if err := checkNoClient(w.src.Consent, false); err != nil {
			return exit.Errorf(exit.Failure, "hub.lock is not written: %w", err)
		}
	}
	useDisabled(w.src, w.say, names...)
	made, err := w.src.Read(stderr, log)
	if err != nil {
		return err
	}
	defer made.WaitForLogins()
	if err := keepNamed(&made.Hub, names); err != nil {
		return err
	}
	return w.lockServers(ctx, &made, len(names) == 0)
}

// lockReport is the result of lock; the shape of --json.
type lockReport struct {
	File    string         `json:"file"`
	Written bool           `json:"written"`
	Servers []lockedServer `json:"servers"` // in the order of their names
}

type lockedServer struct {
	Name    string       `json:"name"`
	Tools   int          `json:"tools"`
	Package string       `json:"package,omitempty"`
	New     bool         `json:"new,omitempty"` // hub.lock did not have it
	Gone    bool         `json:"gone,omitempty"`
	Changes []pin.Change `json:"changes"`          // against hub.lock as it was
	Left    []string     `json:"left,omitempty"`   // what cannot be locked: it, or a member of its definition, stands twice
	Varies  []string     `json:"varies,omitempty"` // texts that are others with other roots, and are not compared
	Error   string       `json:"error,omitempty"`  // why it did not start; what hub.lock has of it stays
}

// lockServers starts the servers, compares what they define with hub.lock, and writes that. all: servers that hub.json does not have go.
func (w *lockWork) lockServers(ctx context.Context, made *setup.Result, all bool) error {
	path := setup.LockPath(made.File)
	if path == "" {
		return exit.ConfigErrorf("there is no hub.json beside which hub.lock could lie; mcphub init writes one")
	}
	was, err := w.src.ReadLock(made.File)
	if err != nil && w.check {
		return err
	}
	if was == nil { // a lock that cannot be read is written again
		was = &pin.Lock{}
	}
	now := &pin.Lock{Servers: map[string]*pin.Server{}}
	maps.Copy(now.Servers, was.Servers)
	report := lockReport{File: path}
	if err := w.readServers(ctx, made, was, now, &report); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(was.Servers)) {
		if all && !slices.ContainsFunc(made.File.Servers, func(s config.Server) bool { return s.Name == name }) {
			delete(now.Servers, name)
			report.Servers = append(report.Servers, lockedServer{Name: name, Gone: true, Changes: []pin.Change{}})
		}
	}
	if !w.check {
		if err := w.src.WriteLock(made.File, now); err != nil {
			return err
		}
		report.Written = true
	}
	if err := w.printReport(&report); err != nil {
		return err
	}
	return report.outcomeError(w.check)
}

// readServers starts the servers with two sets of roots, and puts what they define into now.
func (w *lockWork) readServers(ctx context.Context, made *setup.Result, was, now *pin.Lock, report *lockReport) error {
	roots, err := warmRoots(made.Hub, w.roots)
	if err != nil {
		return err
	}
	became, started, err := startOnce(ctx, &made.Hub, roots)
	if err != nil {
		return err
	}
	other, err := os.MkdirTemp("", "project-") // a name that does not tell a server which start it is
	if err != nil {
		return err
	}
	defer os.RemoveAll(other)
	_, elsewhere, err := startOnce(ctx, &made.Hub, askedRoots([]string{other}).Roots())
	if err != nil {
		return err
	}
	for i := range made.Hub.Children {
		name := made.Hub.Children[i].Spec.Name
		s := lockedServer{Name: name, Changes: []pin.Change{}}
		if offer := started.lastOffer(name); offer == nil {
			s.Error = warmReason(became[name])
			if now.Servers[name] == nil { // all that it defines later is new
				now.Servers[name] = &pin.Server{Tools: pin.Definitions{}}
			}
		} else {
			var defined *pin.Server
			var odd []pin.Thing
			defined, odd = pin.Of(offer, made.Hub.Home)
			for _, thing := range odd {
				s.Left = append(s.Left, thing.String())
			}
			if second := elsewhere.lastOffer(name); second != nil {
				varied, _ := pin.Of(second, made.Hub.Home)
				defined.NoteVarying(varied)
			}
			defined.Package = packageText(became[name])
			defined.Digest = programDigest(made.Hub.Children[i].Spec.Command, became[name])
			s.Varies = slices.Sorted(maps.Keys(defined.Varies))
			s.Tools, s.Package, s.New = len(defined.Tools), defined.Package, was.Servers[name] == nil
			if !s.New {
				s.Changes = append(s.Changes, pin.Compare(was.Servers[name], defined)...)
			}
			now.Servers[name] = defined
		}
		report.Servers = append(report.Servers, s)
	}
	for _, b := range made.Hub.Broken {
		report.Servers = append(report.Servers, lockedServer{Name: b.Name, Changes: []pin.Change{}, Error: oneLine(b.Reason)})
	}
	return nil
}

// packageText returns the package that runs, with its version; "" if the hub keeps no copy of one.
func packageText(st children.Status) string {
	if st.Package.Name == "" {
		return ""
	}
	return st.Package.Name + layout.WithPrefix("@", st.Package.Version)
}

func (w *lockWork) printReport(r *lockReport) error {
	if w.asSARIF {
		return layout.JSON(w.out, sarifOf(r.File, r.changes()))
	}
	return writeResult(w.out, w.asJSON, r, r.showLock)
}

func (r *lockReport) changes() (all []serverChanges) {
	for _, s := range r.Servers {
		all = append(all, serverChanges{s.Name, s.Changes})
	}
	return all
}

func (r *lockReport) showLock(out io.Writer) {
	for _, s := range r.Servers {
		name := printable.Escape(s.Name, 100)
		switch {
		case s.Error != "":
			layout.Printf(out, "%s: it did not start: %.500s\n", name, s.Error)
		case s.Gone:
			layout.Printf(out, "%s: hub.json does not have it any more\n", name)
		default:
			layout.Printf(out, "%s: %s%s%s\n", name, pluralOf(s.Tools, "tool"), layout.WithPrefix(", ", printable.Escape(s.Package, 200)), layout.When(s.New, ", new in hub.lock"))
		}
		for _, c := range s.Changes {
			layout.Printf(out, "  %s\n", changeText(c))
		}
		for _, thing := range s.Left {
			layout.Printf(out, "  %s is not locked: it, or a member of its definition, stands twice\n", thing)
		}
		if len(s.Varies) > 0 {
			layout.Printf(out, "  with other roots other texts: %.500s\n", strings.Join(s.Varies, ", "))
		}
	}
	if r.Written {
		layout.Printf(out, "%.300s is written\n", r.File)
	}
}

// outcomeError returns the exit status: that a server did not start, or that something has grown or reads differently.
func (r *lockReport) outcomeError(check bool) error {
	failed, grown, differ := 0, 0, 0
	for _, s := range r.Servers {
		if s.Error != "" {
			failed++
		}
		if s.New || s.Gone {
			differ++
		}
		g, d := countChanges(s.Changes)
		grown, differ = grown+g, differ+d
	}
	switch {
	case check && grown > 0:
		return grownError(grown)
	case failed > 0:
		return fmt.Errorf("%d of %d servers did not start", failed, len(r.Servers))
	case check && differ > 0:
		return errDiffers
	}
	return nil
}

// changeText returns a difference from hub.lock on a line, with a mark that tells growth from other differences.
func changeText(c pin.Change) string {
	return layout.When(c.Grows, "! ") + layout.When(!c.Grows, "~ ") + c.Text()
}

// countChanges counts the differences that grow, and the other ones.
func countChanges(all []pin.Change) (grown, differ int) {
	for _, c := range all {
		if c.Grows {
			grown++
		}
	}
	return grown, len(all) - grown
}

var errTwoForms = exit.UsageErrorf("--json and --sarif are two forms of one output; choose one")

// errDiffers is the outcome if definitions read differently from hub.lock, and none has grown.
var errDiffers = exit.Errorf(exit.Differs, "hub.lock is not up to date; run mcphub lock to accept what servers define now")

// grownError returns the outcome if definitions have grown.
func grownError(n int) error {
	return exit.Errorf(exit.ToolError, "%s since hub.lock was written; look at them, then run mcphub lock to accept them", layout.When(n == 1, "one definition has grown")+layout.When(n > 1, fmt.Sprintf("%d changes give more", n)))
}

// serverChanges are the differences of one server.
type serverChanges struct {
	server  string
	changes []pin.Change
}

// sarifOf returns differences from a hub.lock in the form that code hosts show (SARIF 2.1.0, OASIS).
func sarifOf(lock string, all []serverChanges) any {
	type object = map[string]any
	results := []object{}
	for _, s := range all {
		for _, c := range s.changes {
			rule, level := "reads-differently", "note"
			if c.Grows {
				rule, level = "grows", "error"
			}
			results = append(results, object{
				"ruleId": rule, "level": level, "message": object{"text": "server " + printable.Quote(s.server) + ", " + c.Text()},
				"locations": []object{{"physicalLocation": object{"artifactLocation": object{"uri": filepath.Base(lock)}}}},
			})
		}
	}
	rules := []object{
		{"id": "grows", "shortDescription": object{"text": "A server defines more than what was accepted."}},
		{"id": "reads-differently", "shortDescription": object{"text": "A definition reads differently from what was accepted."}},
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": object{"name": "mcphub", "rules": rules}}, "results": results}},
	}
}
