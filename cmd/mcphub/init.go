package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
)

func initCommand() *cobra.Command {
	var w clientWork
	var roots []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Find the clients on this machine, and put the hub between them and their servers",
		Long: "Finds the clients on this machine and the servers that they have, and does after asking:\n" +
			"it copies the servers into hub.json, registers the hub in the clients, and switches off in\n" +
			"each client what the hub now serves, so that no tool is there twice, once past the hub.\n" +
			"Before that each server is started as the hub runs it, one at a time, and once more\n" +
			"without the kernel if that holds it. One line says of each whether it works, and what\n" +
			"it can open beside its client's folders; -v shows each entry whole, and all that its\n" +
			"server can open. One that does not work, or offers less, stays on\n" +
			"in its client with the reason, and is disabled in hub.json; the exit status is 1 then.\n" +
			"If clients can share one hub, it asks whether they shall (docs/sharing.md), and at the end\n" +
			"whether what the servers define is to be kept in hub.lock (docs/servers.md).\n" +
			"If a client has no switch for a server, the server is taken out of its configuration;\n" +
			"a copy is kept. `mcphub uninstall --all` gives every file back as it was.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := w.startWork(cmd); err != nil {
				return err
			}
			given, err := existingFolders(roots)
			if err != nil {
				return err
			}
			w.brief, w.again = !verbose, []string{"init"}
			return w.init(given)
		},
	}
	w.registerFlags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&roots, "roots", nil, "folders for clients that do not tell which are open, separated by commas")
	flags.DurationVar(&w.limit, "timeout", tryAllTime, "for trying all servers together")
	flags.BoolVarP(&verbose, "verbose", "v", false, "each entry whole, and all that each server can open")
	return cmd
}

// errNothingChosen ends init before it has changed anything.
var errNothingChosen = errors.New("nothing was changed")

func (w *clientWork) init(given []string) error {
	found := w.readAll()
	w.tellUnread(found)
	found = slices.DeleteFunc(found, func(f clients.Inventory) bool { return f.Err != nil })
	w.showOverview(found)
	if err := w.leaveProjects(found); err != nil {
		return err
	}
	m, err := w.chooseServers(found)
	if err != nil {
		return err
	}
	if m.hasRunning() {
		layout.Println(w.say)
		yes, err := w.askDefaultYes("Start each of these once, to see that it works through the hub? What is not tried stays on in its client.")
		if err != nil {
			return err
		}
		if yes {
			if err := w.tryMerged(m, given, false); err != nil {
				return err
			}
		}
	}
	chosen, off, err := w.chooseClients(found, m)
	if err != nil {
		return err
	}
	if err := m.setDisabled(func(im *clients.Import) bool {
		return off && slices.ContainsFunc(chosen, func(f clients.Inventory) bool { return f.Client == im.Server.Client })
	}); err != nil {
		return err
	}
	h, err := w.hubCommand(true)
	if err != nil {
		return err
	}
	var all []clientPlan
	for _, f := range chosen {
		p, err := w.planClient(f.Client, h, given)
		if err != nil {
			return err
		}
		if off {
			w.switchOff(&p, m)
		}
		w.showPlan(&p)
		all = append(all, p)
	}
	if len(chosen) > 0 {
		if err := w.offerSharing(m); err != nil {
			return err
		}
	}
	if m.hasChanged() || slices.ContainsFunc(all, func(p clientPlan) bool { return p.plan.HasChanges() }) {
		if yes, err := w.askDefaultYes("Write all of this?"); err != nil {
			return err
		} else if !yes {
			return errNothingChosen
		}
	}
	// hub.json first: what is switched off in a client must be somewhere.
	if m.hasChanged() {
		if err := w.writeMerge(m); err != nil {
			return err
		}
	} else if err := m.keepConfirmed(); err != nil {
		return err
	}
	failed := w.applyPlans(all)
	if err := w.offerLock(m); err != nil {
		return err
	}
	const next = "call get-roots and tell me which folders are in scope"
	if w.asJSON {
		err = layout.JSON(w.out, map[string]any{"config": m.path, "servers": m.importReports(found), "clients": reportsOf(all), "ask": next})
	} else {
		again := ""
		if n := len(m.imports) - m.countAdded(); n > 0 {
			again = fmt.Sprintf(", %d not again, since hub.json has it", n)
			if n > 1 {
				again = fmt.Sprintf(", %d not again, since hub.json has them", n)
			}
		}
		w.printResult("%s: %s imported%s\n", w.shortPath(m.path), pluralOf(m.countAdded(), "server"), again)
		w.reportPlans(all)
		if len(all) > 0 {
			w.printResult("\nRestart your client and ask its agent: %s.\n", next)
		} else {
			layout.Println(w.out, "No client has the hub yet: `mcphub install CLIENT` registers it.")
		}
	}
	if failed > 0 && err == nil {
		err = fmt.Errorf("%s could not be changed", pluralOf(failed, "client"))
	}
	if err == nil {
		err = errUnfinished(m.unfinishedNames())
	}
	return err
}

// offerSharing asks a person whether the clients are to share one hub, where hub.json does not say.
func (w *clientWork) offerSharing(m *mergeResult) error {
	if w.yes || w.env.OS != "linux" { // elsewhere it has no effect
		return nil
	}
	after, said, err := clients.ShareInHub(m.path, m.after)
	if err != nil {
		return err
	}
	if said {
		return nil
	}
	yes, err := w.askDefaultNo("Have all windows and agents share one hub? A server that they may share then runs once for all of them, and not once for each.")
	if yes {
		m.after = after
	}
	return err
}

// offerLock asks a person whether what the servers define is to be kept in hub.lock. Everything else is done by then, so that no answer is a
// no, and a lock that fails is reported and fails nothing.
func (w *clientWork) offerLock(m *mergeResult) error {
	if w.in == nil || !m.hasRunning() {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(m.path), setup.LockName)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	yes, err := w.askDefaultNo("Keep what the servers define in hub.lock? A tool that gives more after that is withheld until you accept it. Each server is started twice for that.")
	switch {
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case err != nil || !yes:
		return nil
	}
	if err := w.lock(w.ctx, m.path); err != nil {
		w.tellPerson("%.500s; mcphub lock tries again\n", err.Error())
	}
	return w.ctx.Err()
}

// writeLock writes the hub.lock of a hub.json, and shows it.
func (w *clientWork) writeLock(ctx context.Context, path string) error {
	src := newSource()
	src.Config, src.WithoutLock = path, true
	work := lockWork{src: src, out: w.say, say: w.say}
	return work.run(ctx, nil, zerolog.Nop())
}

// leaveProjects leaves servers of single projects there, but for the ones that a person
// wants in every folder. --yes is no yes to that.
func (w *clientWork) leaveProjects(found []clients.Inventory) error {
	for i := range found {
		f := &found[i]
		var keep []clients.Server
		for _, s := range f.Servers {
			everywhere := s.Project == ""
			if !everywhere && w.in != nil {
				var err error
				if everywhere, err = w.askDefaultNo(fmt.Sprintf("%s of %s is for %s alone. Have it in every folder?", s.Name, sourceTitle(&s), s.Project)); err != nil {
					return err
				}
			}
			if everywhere {
				keep = append(keep, s)
				continue
			}
			why := "it is for " + s.Project + " alone; at a terminal, without --yes, this asks whether it is to be in every folder"
			w.tellPerson("%s of %s stays where it is: %s\n", s.Name, sourceTitle(&s), why)
			f.Skipped = append(f.Skipped, clients.Skipped{Name: s.Name, Why: why})
		}
		f.Servers = keep
	}
	return nil
}

// showOverview shows the clients and what they have.
func (w *clientWork) showOverview(found []clients.Inventory) {
	var rows [][]string
	for _, f := range found {
		names := []string{}
		for i := range f.Servers {
			names = append(names, f.Servers[i].Name)
		}
		what := cmp.Or(strings.Join(names, ", "), "no servers")
		if f.Registered != "" {
			what += "; the hub, as " + f.Registered
		}
		rows = append(rows, []string{f.Client.Title, what})
	}
	if len(rows) == 0 {
		layout.Println(w.say, "No client was found on this machine.")
		return
	}
	layout.Println(w.say, "On this machine:")
	w.writeTable(rows)
	for _, f := range found {
		for _, s := range f.Skipped {
			w.tellPerson("%s of %s stays where it is: %s\n", s.Name, f.Client.Title, s.Why)
		}
	}
}

// chooseServers asks which servers the hub is to have.
func (w *clientWork) chooseServers(found []clients.Inventory) (*mergeResult, error) {
	m, err := w.mergeFound(found)
	if err != nil || m.countAdded() == 0 {
		return m, err
	}
	if !w.yes {
		w.tellPerson("\nTo import into %s%s:\n", w.shortPath(m.path), layout.When(w.brief, " (-v shows the entries whole)"))
	}
	m.showImports(w)
	picked, err := w.askNumbers("Import which?", m.countAdded())
	if err != nil {
		return m, err
	}
	// Without the ones that are not wanted, and what is the same as they are.
	unwanted := map[string]bool{}
	n := 0
	for i := range m.imports {
		if m.imports[i].Same == "" {
			unwanted[m.imports[i].Name] = !picked[n]
			n++
		}
	}
	wanted := slices.Clone(found)
	for i := range wanted {
		wanted[i].Servers = nil
	}
	for i := range m.imports {
		im := &m.imports[i]
		if unwanted[im.Name] {
			continue
		}
		for j := range wanted {
			if wanted[j].Client == im.Server.Client {
				wanted[j].Servers = append(wanted[j].Servers, im.Server)
			}
		}
	}
	if slices.Contains(picked, false) {
		if m, err = w.mergeFound(wanted); err != nil {
			return nil, err
		}
	} else {
		wanted = found
	}
	if changed, err := w.askHeld(m, wanted); err != nil || !changed {
		return m, err
	}
	return w.mergeFound(wanted)
}

// chooseClients asks which clients get the hub, and whether what it serves is
// switched off in them.
func (w *clientWork) chooseClients(found []clients.Inventory, m *mergeResult) (chosen []clients.Inventory, off bool, err error) {
	if len(found) > 0 && !w.yes {
		var rows [][]string
		for i, f := range found {
			rows = append(rows, []string{strconv.Itoa(i + 1), f.Client.Title, w.shortPath(f.Client.Target(w.env).File)})
		}
		layout.Println(w.say)
		w.writeTable(rows)
	}
	picked, err := w.askNumbers("Register the hub in which?", len(found))
	if err != nil {
		return nil, false, err
	}
	for i, f := range found {
		if picked[i] {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 || !slices.ContainsFunc(m.imports, func(im clients.Import) bool { return !im.Server.Disabled && m.stayReason(&im) == "" }) {
		return chosen, true, nil // there is nothing to ask about
	}
	off, err = w.askDefaultYes("Switch off in these clients what the hub serves from now on?")
	return chosen, off, err
}

// switchOff plans that a client no longer runs what the hub serves. What the hub
// cannot serve, and what is off already, stays as it is.
func (w *clientWork) switchOff(p *clientPlan, m *mergeResult) {
	if p.report.State == "failed" {
		return
	}
	for i := range m.imports {
		im := &m.imports[i]
		s := im.Server
		if s.Client != p.plan.Client || s.Disabled {
			continue
		}
		if why := m.stayReason(im); why != "" {
			p.report.Stays = append(p.report.Stays, stayReport{s.Name, why})
			continue
		}
		how, err := p.plan.SwitchOff(s)
		switch {
		case err != nil:
			p.report.Stays = append(p.report.Stays, stayReport{s.Name, err.Error()})
		case how == "removed":
			p.report.Removed = append(p.report.Removed, s.Name)
		default:
			p.report.Disabled = append(p.report.Disabled, s.Name)
		}
	}
}
