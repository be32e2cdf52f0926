package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
)

// allowReport is the result of allow and revoke in JSON; its shape is stable.
type allowReport struct {
	entryReport               // State: allowed or revoked
	DryRun      bool          `json:"dryRun,omitempty"` // nothing was written
	Paths       []allowedPath `json:"paths"`
	Lines       []string      `json:"lines"` // of hub.json that change: - as it was, + as it is
}

// allowedPath is what became of one path.
type allowedPath struct {
	Path   string   `json:"path"`            // absolute, without links
	Access string   `json:"access"`          // read or write
	Done   []string `json:"done,omitempty"`  // what is new: sandbox.read, sandbox.write, policy.rules, folder
	Rule   string   `json:"rule,omitempty"`  // the rule that was added or taken out
	Notes  []string `json:"notes,omitempty"` // why, and what is not
}

func allowCommand() *cobra.Command {
	var w allowWork
	var list bool
	cmd := &cobra.Command{
		Use:   "allow NAME PATH... | allow --list [NAME]",
		Short: "Let a server read a path beside the roots, or write it",
		Long: "Adds paths to sandbox.read of a server in hub.json, or to sandbox.write, and leaves every\n" +
			"other byte as it is. If calls that name the path were refused by mcphub's own check, it\n" +
			"adds a rule for that server to policy.rules as well. A folder that is missing is made, if\n" +
			"its parent is your own. Hubs that run take the change at once. `mcphub revoke` takes it\n" +
			"back. A path counts from the working directory, and one that ends in / is a folder.",
		Example: "  mcphub allow notes ~/vault\n" +
			"  mcphub allow mongodb ~/.mongodb --write\n" +
			"  mcphub allow files ~/Documents --calls --dry-run\n" +
			"  mcphub allow --list",
		RunE: func(cmd *cobra.Command, args []string) error {
			w.startWork(cmd)
			w.callsSaid = cmd.Flags().Changed("calls")
			switch {
			case list && (len(args) > 1 || w.write || w.dryRun || w.callsSaid):
				return exit.UsageErrorf("--list takes at most the name of a server, and --json")
			case list:
				return w.listAllowed(args)
			case len(args) == 0:
				return exit.UsageErrorf("name the server and a path: mcphub allow NAME PATH; mcphub allow --list shows what is allowed")
			case len(args) == 1:
				return exit.UsageErrorf("name the path as well: %s", commandText("allow", args[0], "PATH"))
			}
			return w.runChange("allowed", args[0], args[1:], w.allowTarget)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&w.write, "write", false, "to read and write")
	flags.BoolVar(&w.calls, "calls", false, "let calls name the path, by a rule of the policy; without it a rule is added if such a call was refused in the last days, and with --calls=false none is")
	flags.BoolVar(&w.dryRun, "dry-run", false, "show the change and write nothing")
	flags.BoolVar(&list, "list", false, "list what is allowed beyond the default")
	w.registerFlags(cmd)
	return cmd
}

func revokeCommand() *cobra.Command {
	var w allowWork
	cmd := &cobra.Command{
		Use:   "revoke NAME PATH...",
		Short: "Take back what mcphub allow has given a server",
		Long: "Takes paths out of sandbox.read and sandbox.write of a server in hub.json, the rule that\n" +
			"mcphub allow has made for them, and what was recorded and you have confirmed. Every other\n" +
			"byte stays as it is. Hubs that run take the change at once. The exit status is 5 if a\n" +
			"path was not there.",
		Example: "  mcphub revoke notes ~/vault",
		RunE: func(cmd *cobra.Command, args []string) error {
			w.startWork(cmd)
			if len(args) < 2 {
				return exit.UsageErrorf("name the server and the path: mcphub revoke NAME PATH; mcphub allow --list shows what is allowed")
			}
			return w.runChange("revoked", args[0], args[1:], w.revokeTarget)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return completeServer(cmd, args, word)
			}
			w.say = io.Discard
			if err := w.openConfig(args[0]); err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return slices.Concat(w.current.server.Sandbox.Read, w.current.server.Sandbox.Write), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "show the change and write nothing")
	w.registerFlags(cmd)
	return cmd
}

// An allowPlan is what allow or revoke would do.
type allowPlan struct {
	report  allowReport
	before  []byte // hub.json as it was read; nil: there is none
	targets []*target
}

// planChange makes a change for each path, and writes nothing. w.text is the changed hub.json.
func (w *allowWork) planChange(state, name string, paths []string, change func(t *target) error) (*allowPlan, error) {
	if err := w.openConfig(name); err != nil {
		return nil, err
	}
	p := &allowPlan{before: w.text}
	for _, path := range paths {
		t, err := w.readTarget(path, state == "allowed")
		if err != nil {
			return nil, err
		}
		p.targets = append(p.targets, t)
	}
	for _, t := range p.targets {
		if err := change(t); err != nil {
			return nil, err
		}
	}
	changed := string(p.before) != string(w.text)
	p.report = allowReport{entryReport: entryReport{Config: w.path, Server: w.current.server.Name, State: state, Changed: changed, Warnings: newProblems(w.path, p.before, w.text)}, Lines: changedLines(p.before, w.text)}
	for _, t := range p.targets {
		p.report.Paths = append(p.report.Paths, t.allowedPath)
	}
	return p, nil
}

// runChange makes a change for each path and writes hub.json, or shows what it would be.
func (w *allowWork) runChange(state, name string, paths []string, change func(t *target) error) error {
	if !w.dryRun {
		if err := checkNoClient(consentStore(), false); err != nil {
			return exit.Errorf(exit.Failure, "hub.json is not changed: %w", err)
		}
	}
	p, err := w.planChange(state, name, paths, change)
	if err != nil {
		return err
	}
	if p.report.DryRun = w.dryRun; !w.dryRun {
		if err := w.putPlan(p); err != nil {
			return err
		}
	}
	if err := w.printReport(&p.report); err != nil {
		return err
	}
	if slices.ContainsFunc(p.targets, func(t *target) bool { return t.absent }) {
		return exit.NotFoundErrorf("not all of that was allowed; mcphub allow --list shows what is")
	}
	return nil
}

// putPlan makes the folders that are missing, and writes hub.json. It does nothing where hub.json has changed since
// it was read.
func (w *allowWork) putPlan(p *allowPlan) error {
	if err := w.putRevoked(); err != nil {
		return err
	}
	if !p.report.Changed {
		return nil
	}
	var made []string
	for _, t := range p.targets {
		if t.missing && len(t.Done) > 0 {
			if err := w.makeFolder(t.Path); err != nil {
				return err
			}
			made = append(made, t.Path)
		}
	}
	err := writeHub(w.path, p.before, w.text, false)
	for _, path := range made {
		if err != nil {
			_ = os.Remove(path) // empty as it is
		}
	}
	return err
}

func (w *allowWork) printReport(r *allowReport) error {
	if w.asJSON {
		return layout.JSON(w.out, r)
	}
	for _, text := range r.Warnings {
		layout.Println(w.say, "warning: "+text)
	}
	for _, p := range r.Paths {
		layout.Printf(w.out, "%s: %s\n", p.Path, p.describePath(r))
		for _, note := range p.Notes {
			layout.Line(w.out, "  ", note)
		}
	}
	if len(r.Lines) > 0 {
		layout.Printf(w.out, "\n%s:\n", r.Config)
	}
	for _, line := range r.Lines {
		layout.Printf(w.out, "  %s\n", line)
	}
	if r.DryRun {
		layout.Println(w.out, "nothing was written (--dry-run)")
	}
	return nil
}

// describePath say in a line what became of a path.
func (p *allowedPath) describePath(r *allowReport) string {
	verb, where := "is", "added to"
	if r.DryRun {
		verb = "would be"
	}
	if r.State == "revoked" {
		where = "taken out of"
	}
	made, done := "", slices.DeleteFunc(slices.Clone(p.Done), func(done string) bool { return done == doneFolder })
	if len(done) < len(p.Done) {
		made = "made, and "
	}
	if len(done) == 0 {
		return "nothing changes"
	}
	return fmt.Sprintf("%s %s%s %s of %s", verb, made, where, strings.Join(done, " and "), r.Server)
}

// serverAllowances is what is allowed to one server beyond the default.
type serverAllowances struct {
	Server string        `json:"server"`
	Read   []allowedAt   `json:"read"`
	Write  []allowedAt   `json:"write"`
	Rules  []allowedRule `json:"rules"` // that name the server

	Recorded []sandbox.RecordedPath `json:"recorded,omitempty"` // what a person has confirmed
}

type allowedAt struct {
	Path string `json:"path"` // as it is written
	At   string `json:"at"`   // file:line
}

type allowedRule struct {
	Name   string   `json:"name"`
	Then   string   `json:"then"`
	Roles  []string `json:"roles,omitempty"` // none: any
	Within string   `json:"within,omitempty"`
	At     string   `json:"at"`
}

// listAllowed prints what is allowed, to all servers or to one.
func (w *allowWork) listAllowed(names []string) error {
	path, _, file, err := hubConfig(w.config)
	if err != nil {
		return err
	}
	out := struct {
		Config  string             `json:"config"`
		Servers []serverAllowances `json:"servers"`
	}{path, []serverAllowances{}}
	if len(names) > 0 {
		if err := checkServerName(path, names[0], fileServerNames(file)); err != nil {
			return err
		}
	}
	if file == nil {
		file = config.Default()
	}
	for i := range file.Servers {
		s := &file.Servers[i]
		if len(names) > 0 && s.Name != names[0] && s.Key != names[0] {
			continue
		}
		a := allowedOf(file, s)
		if a.Recorded, err = recordedOf(path, s.Key); err != nil {
			return err
		}
		if len(a.Read)+len(a.Write)+len(a.Rules)+len(a.Recorded) > 0 {
			out.Servers = append(out.Servers, a)
		}
	}
	if w.asJSON {
		return layout.JSON(w.out, out)
	}
	if len(out.Servers) == 0 {
		layout.Println(w.out, "nothing is allowed beyond the default")
		return nil
	}
	home, _ := os.UserHomeDir() // without one, paths are shown whole
	t := layout.NewTable(w.out)
	t.Head("SERVER", "BY", "MAY", "PATH", "AT")
	for _, s := range out.Servers {
		for _, p := range s.Read {
			t.Row(s.Server, "sandbox.read", "read", p.Path, p.At)
		}
		for _, p := range s.Write {
			t.Row(s.Server, "sandbox.write", "read, write", p.Path, p.At)
		}
		for _, p := range s.Recorded {
			t.Row(s.Server, "recorded", string(p.Use)+layout.When(p.Beside, ", and beside it")+layout.WithPrefix(" as ", p.Temporary), tildePath(home, p.Path), "-")
		}
		for _, r := range s.Rules {
			roles := cmp.Or(strings.Join(r.Roles, ", "), "any")
			t.Row(s.Server, "rule "+r.Name, r.Then+" "+roles, cmp.Or(r.Within, "-"), r.At)
		}
	}
	return t.Flush()
}

func allowedOf(file *config.File, s *config.Server) serverAllowances {
	a := serverAllowances{Server: s.Name, Read: []allowedAt{}, Write: []allowedAt{}, Rules: []allowedRule{}}
	at := func(path ...string) string {
		p := file.At(path...)
		return filepath.Base(p.File) + ":" + strconv.Itoa(p.Line)
	}
	for i, path := range s.Sandbox.Read {
		a.Read = append(a.Read, allowedAt{path, at("mcpServers", s.Name, "sandbox", clients.MayRead, strconv.Itoa(i))})
	}
	for i, path := range s.Sandbox.Write {
		a.Write = append(a.Write, allowedAt{path, at("mcpServers", s.Name, "sandbox", clients.MayWrite, strconv.Itoa(i))})
	}
	for i := range file.Policy.Rules {
		r := &file.Policy.Rules[i]
		if !slices.Contains(r.If.Servers, s.Name) {
			continue
		}
		rule := allowedRule{Name: r.Name, Then: r.Then, At: at("policy", "rules", strconv.Itoa(i))}
		if r.If.Paths != nil {
			rule.Roles, rule.Within = r.If.Paths.Roles, r.If.Paths.Within
		}
		a.Rules = append(a.Rules, rule)
	}
	return a
}
