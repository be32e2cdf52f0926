package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
)

func installCommand() *cobra.Command {
	var w clientWork
	var all, show bool
	var roots []string
	var address string
	cmd := &cobra.Command{
		Use:   "install [CLIENT...]",
		Short: "Register the hub in a client",
		Long: "Puts the hub into the configuration of a client, or of every client on this machine\n" +
			"(--all). Shows what it will change, asks, keeps a copy, and leaves comments, order and\n" +
			"line ends as they are; `mcphub uninstall` takes it back. With --print it changes nothing\n" +
			"and prints what to put where.\n\n" +
			"A client that does not tell which folders are open is registered with --roots: those\n" +
			"that are given, else the folder in which it starts servers, else the working directory.\n\n" +
			"With --http the client is given the address of a hub that serves HTTP, and its token:\n" +
			"by $MCPHUB_TOKEN or the token's file if the client takes such a reference, else the\n" +
			"token itself, in a file that only you can read then. The address is that of the hub that\n" +
			"runs with this hub.json, else http.listen, or the one given: --http=127.0.0.1:8080.\n\n" +
			"With --toolset the client sees that toolset of hub.json alone.\n\n" +
			"Clients: " + strings.Join(clientNames(), ", ") + ".",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.startWork(cmd); err != nil {
				return err
			}
			if err := w.checkToolsets(address != ""); err != nil {
				return err
			}
			given, err := existingFolders(roots)
			if err != nil {
				return err
			}
			chosen, err := w.chosenClients(args, all || show && len(args) == 0)
			if err != nil {
				return err
			}
			if address != "" {
				if err := w.overHTTP(address, given, show); err != nil {
					return err
				}
			}
			if show {
				return w.printClients(chosen, len(args) > 0 || all, given)
			}
			return w.installClients(chosen, given)
		},
	}
	w.registerFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "every client on this machine")
	flags.BoolVar(&show, "print", false, "print what to put into the configuration, and change nothing")
	flags.StringVar(&address, "http", "", "register the address of a hub that serves HTTP, and its token (default: of the one that runs, else http.listen)")
	flags.Lookup("http").NoOptDefVal = addressFound
	toolsetFlag(cmd, &w.toolsets, "show the client this toolset of hub.json alone; repeatable without --http")
	flags.StringSliceVar(&roots, "roots", nil, "folders for clients that do not tell which are open, separated by commas")
	return cmd
}

// checkToolsets returns why clients cannot be registered with the toolsets that were given.
func (w *clientWork) checkToolsets(overHTTP bool) error {
	if len(w.toolsets) == 0 {
		return nil
	}
	if overHTTP && len(w.toolsets) > 1 {
		return exit.UsageErrorf("a URL names one toolset, and --toolset names %d; make one of them in hub.json", len(w.toolsets))
	}
	file, err := (&setup.Source{Config: w.config}).Load(os.Stderr)
	if err != nil {
		return err
	}
	return setup.CheckToolsets(slices.Sorted(maps.Keys(file.Toolsets)), w.toolsets)
}

func (w *clientWork) chosenClients(args []string, all bool) ([]*clients.Profile, error) {
	switch {
	case all && len(args) > 0:
		return nil, exit.UsageErrorf("--all and the name of a client: which is meant?")
	case all:
		return w.installedClients(), nil
	case len(args) == 0:
		return nil, exit.UsageErrorf("which client? Name one, or --all; there are %s", strings.Join(clientNames(), ", "))
	}
	var out []*clients.Profile
	for _, name := range args {
		c, err := clientNamed(name)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// clientReport is one client of the result in JSON.
type clientReport struct {
	Client   string       `json:"client"`
	File     string       `json:"file,omitempty"`
	State    string       `json:"state"` // installed, present, failed
	Name     string       `json:"name,omitempty"`
	Roots    []string     `json:"roots,omitempty"` // that it was registered with
	Note     string       `json:"note,omitempty"`
	Disabled []string     `json:"disabled,omitempty"` // servers that are switched off in it
	Removed  []string     `json:"removed,omitempty"`  // servers that were taken out of it
	Stays    []stayReport `json:"stays,omitempty"`    // servers that stay on in it
	Error    string       `json:"error,omitempty"`
}

// stayReport is a server that stays on in its client, and why.
type stayReport struct {
	Server string `json:"server"`
	Why    string `json:"why"`
}

// A clientPlan is what is to be done to one client.
type clientPlan struct {
	plan   *clients.Plan // of one that failed nothing
	report clientReport
}

// planClient prepares one client. An error reports that no one answered what was
// asked; what fails otherwise stands in the report.
func (w *clientWork) planClient(c *clients.Profile, h clients.Hub, given []string) (clientPlan, error) {
	p := clientPlan{plan: &clients.Plan{Client: c}, report: clientReport{Client: c.Name, State: "installed", Name: clients.HubName}}
	roots, why := given, ""
	found, err := clients.Read(c, w.env)
	toolsets := w.toolsets
	if toolsets == nil && err == nil && w.web == nil {
		toolsets = found.Toolsets // as they were chosen
	}
	switch {
	case w.web != nil:
		if err == nil && found.Registered != "" && found.Registered != clients.HubName {
			break // under a name of the user's own: PlanInstall leaves it
		}
		why = w.webNote(c)
	case err != nil || found.Registered == "":
		if roots, why, err = w.rootsFor(c, given); err != nil {
			return p, err
		}
	case len(given) > 0 && c.Roots != clients.GivesRoots:
	case found.Registered == clients.HubName && w.toolsets != nil:
		roots = found.HubRoots
	case found.Registered == clients.HubName && c.Roots != clients.ListsRoots && w.isOurs(c):
		roots = found.HubRoots // as they were chosen; its path or that of hub.json may be another now
	default:
		p.report.State, p.report.Name, p.report.File = "present", found.Registered, found.Files[0]
		return p, nil
	}
	plan, already, err := clients.PlanInstall(c, w.env, c.WithRoots(h.WithToolsets(toolsets), roots))
	if err != nil {
		p.report.State, p.report.Error = "failed", err.Error()
		return p, nil
	}
	p.plan, p.report.Roots, p.report.Note = plan, roots, why
	if already != "" {
		p.report.State, p.report.Name = "present", already
	}
	if len(plan.Files) > 0 {
		p.report.File = plan.Files[0].Place.File
	}
	return p, nil
}

// isOurs reports whether this program has changed a client before.
func (w *clientWork) isOurs(c *clients.Profile) bool {
	known, err := w.store.Known()
	return err == nil && slices.Contains(known, c.Name)
}

// showPlan shows what a plan changes.
func (w *clientWork) showPlan(p *clientPlan) {
	for _, f := range p.plan.Files {
		if len(f.Changes) == 0 {
			continue
		}
		w.tellPerson("%s:\n", w.shortPath(f.Place.File))
		for _, line := range f.Diff() {
			w.tellPerson("  %s\n", line)
		}
	}
}

func (w *clientWork) installClients(chosen []*clients.Profile, given []string) error {
	h, err := w.registeredHub()
	if err != nil {
		return err
	}
	var all []clientPlan
	for _, c := range chosen {
		p, err := w.planClient(c, h, given)
		if err != nil {
			return err
		}
		w.showPlan(&p)
		all = append(all, p)
	}
	changes := 0
	for i := range all {
		if all[i].plan.HasChanges() {
			changes++
		}
	}
	if changes > 0 {
		if yes, err := w.askDefaultYes("Write " + pluralOf(changes, "file") + "?"); err != nil || !yes {
			return err
		}
	}
	return w.finishPlans(all)
}

// finishPlans writes what was planned and reports what became of it.
func (w *clientWork) finishPlans(all []clientPlan) error {
	failed := w.applyPlans(all)
	if err := writeResult(w.out, w.asJSON, map[string]any{"clients": reportsOf(all)}, func(io.Writer) {
		w.reportPlans(all)
		if len(all) == 0 {
			layout.Println(w.out, "No client was found on this machine.")
		}
	}); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be changed", pluralOf(failed, "client"))
	}
	return nil
}

func (w *clientWork) applyPlans(all []clientPlan) (failed int) {
	for i := range all {
		p := &all[i]
		if p.plan.HasChanges() {
			if err := w.store.Apply(p.plan); err != nil {
				p.report.State, p.report.Error = "failed", err.Error()
			}
		}
		if p.report.State == "failed" {
			failed++
		}
	}
	return failed
}

func reportsOf(all []clientPlan) []clientReport {
	out := []clientReport{}
	for i := range all {
		out = append(out, all[i].report)
	}
	return out
}

// reportPlans reports in one line for each client what became of it.
func (w *clientWork) reportPlans(all []clientPlan) {
	for i := range all {
		r := &all[i].report
		title := clients.Find(r.Client).Title
		switch r.State {
		case "failed":
			w.printResult("%s: not changed: %s\n", title, r.Error)
		case "present":
			w.printResult("%s: the hub is there already, as %s%s\n", title, r.Name, layout.WithPrefix("; ", r.Note))
		default:
			w.printResult("%s: installed in %s%s\n", title, w.shortPath(r.File), layout.WithPrefix("; ", r.Note))
		}
		if len(r.Disabled) > 0 {
			w.printResult("  switched off there: %s\n", strings.Join(r.Disabled, ", "))
		}
		if len(r.Removed) > 0 {
			w.printResult("  taken out there, kept in the backup: %s\n", strings.Join(r.Removed, ", "))
		}
		for _, s := range r.Stays {
			w.printResult("  stays on there: %s: %s\n", s.Server, s.Why)
		}
	}
}

// printClients shows what to put where, and changes nothing.
func (w *clientWork) printClients(chosen []*clients.Profile, named bool, given []string) error {
	h, err := w.registeredHub()
	if err != nil {
		return err
	}
	if !named {
		// As most clients have it.
		most := clients.Find("claude-desktop")
		if w.web != nil { // which knows no addresses
			most = clients.Find("lm-studio")
		}
		_, text, err := clients.Snippet(most, w.env, most.WithRoots(h.WithToolsets(w.toolsets), given))
		if err != nil {
			return err
		}
		w.printResult("%s", layout.Lines{Text: text})
		return nil
	}
	type snippet struct {
		Client string `json:"client"`
		File   string `json:"file"`
		Text   string `json:"text"`
	}
	out := []snippet{}
	for _, c := range chosen {
		roots := given
		switch {
		case c.Roots == clients.GivesRoots:
			roots = nil
		case w.web == nil && len(given) == 0 && c.Roots == clients.StartsIn:
			roots = []string{"."}
		}
		file, text, err := clients.Snippet(c, w.env, c.WithRoots(h.WithToolsets(w.toolsets), roots))
		if err != nil {
			return err
		}
		out = append(out, snippet{c.Name, file, text})
		if !w.asJSON {
			w.printResult("%s, in %s:\n\n%s\n", c.Title, w.shortPath(file), layout.Lines{Text: text})
		}
	}
	if w.asJSON {
		return layout.JSON(w.out, map[string]any{"clients": out})
	}
	return nil
}

func uninstallCommand() *cobra.Command {
	var w clientWork
	var all, restore bool
	cmd := &cobra.Command{
		Use:   "uninstall [CLIENT...]",
		Short: "Take the hub out of a client, and give back what it had",
		Long: "Takes back what install and init have changed in the configuration of a client, or of\n" +
			"every client (--all): the file is as it was, to the byte. If it was edited since, what was\n" +
			"put in is taken out, servers that were switched off are on again, and the edits stay.\n" +
			"With --restore a file that was there before is as it was: edits are lost, and one that\n" +
			"somebody deleted is there again. hub.json is not changed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.startWork(cmd); err != nil {
				return err
			}
			return w.uninstallClients(args, all, restore)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&w.asJSON, "json", false, "print JSON")
	flags.BoolVar(&all, "all", false, "every client that the hub is registered in")
	flags.StringVarP(&w.config, "config", "c", "", "hub.json that says where the key of the copies is kept (default: as for init)")
	flags.BoolVar(&restore, "restore", false, "give files back as they were, whatever became of them since")
	flags.BoolVarP(&w.yes, "yes", "y", false, "for scripts that say it everywhere; uninstall asks nothing")
	return cmd
}

type uninstallReport struct {
	Client string               `json:"client"`
	Files  []clients.UndoResult `json:"files"`
	Error  string               `json:"error,omitempty"`
}

func (w *clientWork) uninstallClients(args []string, all, restore bool) error {
	known, err := w.store.Known()
	if err != nil {
		return err
	}
	var chosen []*clients.Profile
	switch {
	case all && len(args) == 0:
		for i := range clients.All {
			c := &clients.All[i]
			found, err := clients.Read(c, w.env)
			if slices.Contains(known, c.Name) || err == nil && found.Registered != "" {
				chosen = append(chosen, c)
			}
		}
	case !all && len(args) == 0:
		if len(known) == 0 {
			return exit.UsageErrorf("which client? Nothing was installed by this program; name one, or --all")
		}
		return exit.UsageErrorf("which client? Name one, or --all; the hub was installed in %s", strings.Join(known, ", "))
	default:
		if chosen, err = w.chosenClients(args, all); err != nil {
			return err
		}
	}
	reports := []uninstallReport{}
	failed := 0
	for _, c := range chosen {
		r := uninstallReport{Client: c.Name, Files: []clients.UndoResult{}}
		if r.Files, err = w.takeOut(c, restore); err != nil {
			r.Error = err.Error()
			failed++
		}
		reports = append(reports, r)
	}
	if err := writeResult(w.out, w.asJSON, map[string]any{"clients": reports}, func(io.Writer) { w.tellUndone(reports) }); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be given back", pluralOf(failed, "client"))
	}
	return nil
}

// takeOut undoes what is recorded, and takes out what someone put in by hand.
func (w *clientWork) takeOut(c *clients.Profile, restore bool) ([]clients.UndoResult, error) {
	undo := w.store.Undo
	if restore {
		undo = w.store.Restore
	}
	undone, err := undo(c.Name)
	if err != nil || len(undone) > 0 { // what was there before init is there again, the hub included
		return undone, err
	}
	p, err := clients.PlanRemoval(c, w.env)
	if err != nil || !p.HasChanges() {
		return undone, err
	}
	for _, f := range p.Files {
		if err := clients.WriteHub(f.Place.File, f.Before, f.After, false); err != nil {
			return undone, err
		}
		undone = append(undone, clients.UndoResult{File: f.Place.File, State: clients.Edited})
	}
	return undone, nil
}

func (w *clientWork) tellUndone(reports []uninstallReport) {
	if len(reports) == 0 {
		layout.Println(w.out, "Nothing to take out: the hub is in no client.")
	}
	for _, r := range reports {
		title := clients.Find(r.Client).Title
		if r.Error != "" {
			w.printResult("%s: %s\n", title, r.Error)
		} else if len(r.Files) == 0 {
			w.printResult("%s: the hub is not in it\n", title)
		}
		for _, u := range r.Files {
			kept := ""
			if u.Kept {
				kept = "; mcphub uninstall " + r.Client + " --restore gives it back as it was before that"
			}
			w.printResult("%s: %s %s%s\n", title, w.shortPath(u.File), map[string]string{
				clients.Restored: "is as it was", clients.Edited: "was edited since: the hub is out, the edits are kept",
				clients.Deleted: "was made for the hub and is gone", clients.Gone: "had been deleted", clients.Unchanged: "had been changed back already",
			}[u.State], kept)
		}
	}
}
