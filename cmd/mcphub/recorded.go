package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/children/consent"
	"mcphub/children/hints"
	"mcphub/children/learn"
	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/internal/printable"
)

// This file asks a person about what trials have seen servers use, and keeps the answers.

// A confirmFunc asks a person whether a server is to have what these lines say. Its error ends the command.
type confirmFunc func(server string, lines []string) (bool, error)

const recordedQuestion = "Is it to have that?"

// confirmFunc asks where the other questions are asked; it is nil if no person may answer. --yes is no
// answer.
func (w *clientWork) confirmFunc() confirmFunc {
	if w.yes || w.in == nil || checkPerson(consentStore()) != nil {
		return nil
	}
	return func(server string, lines []string) (bool, error) {
		showUse(w.say, server, lines)
		// A trial takes a while. An Enter that was typed meanwhile is no yes.
		return w.askYesNo("       "+recordedQuestion+" [y/N] ", false)
	}
}

// confirmAtTerminal asks at the terminal of a command that has no other question. Without one the answer is no.
func confirmAtTerminal(server string, lines []string) (bool, error) {
	t, err := openPersonTerminal(consentStore())
	if err != nil {
		return false, nil //nolint:nilerr // it is told with the command that asks
	}
	defer t.Close()
	showUse(t, server, lines)
	line, err := promptLine(t, bufio.NewReader(t), recordedQuestion+" [y/N]")
	yes, _ := yesOrNo(line)
	return yes && err == nil, err
}

func showUse(w io.Writer, server string, lines []string) {
	layout.Printf(w, "\n  %.100s uses what is closed to it:\n", server)
	for _, line := range lines {
		layout.Printf(w, "       it %.4000s\n", line)
	}
}

// chooseOpened chooses what of its use is opened to a server: what needs no question, and what a person confirms.
func (t *trier) chooseOpened(server string, closed learn.Recording) ([]sandbox.RecordedPath, error) {
	given := closed.Own
	if len(closed.Shown) == 0 || t.confirm == nil || t.declined[server] {
		return given, nil
	}
	running.End() // its lines would stand over the question
	yes, err := t.confirm(server, learn.Lines(closed.Shown, t.shortPath))
	running.Watch(t.look)
	if err != nil {
		return nil, err
	}
	if yes {
		return slices.Concat(given, closed.Shown), nil
	}
	if t.declined == nil {
		t.declined = map[string]bool{}
	}
	t.declined[server] = true
	return given, nil
}

func (t *trier) shortPath(path string) string { return tildePath(t.env.Home, path) }

// tellRecorded reports what a server is given of what it used, and what stays closed.
func (t *trier) tellRecorded(r *tryReport, name string, did *trial.Result) {
	for i := range t.found.Hub.Children {
		if s := &t.found.Hub.Children[i].Spec; s.Name == name && !s.Sandbox.Recorded.Equal(did.Recorded) {
			r.owner, r.profile = s.Sandbox.Owner, did.Recorded
		}
	}
	r.Recorded, r.Closed = learn.Lines(did.Recorded.Paths, t.shortPath), learn.Lines(did.Closed.Shown, t.shortPath)
	for _, n := range did.Run.Status.Sandbox.Recorded {
		if n.Why != "" {
			r.Closed = append(r.Closed, n.Key+" "+t.shortPath(n.Path)+", which is not open to it as you have confirmed: "+n.Why)
		}
	}
	for _, left := range did.Closed.Left {
		if sandbox.WhySecret(left.Path) == "" {
			continue
		}
		r.Closed = append(r.Closed, "opens "+t.shortPath(left.Path)+", which is given to no server: "+left.Why)
		// Who has made a call knows what it is for. A start may open any key without being asked for that.
		if len(t.calls) > 0 && left.Access&sandbox.Write == 0 && sandbox.ClientFile(left.Path) == "" && !sandbox.IsDir(left.Path) {
			r.Keys = append(r.Keys, t.doctor.Source.CommandLine(hints.Allow(name, sandbox.Read, left.Path)...))
		}
	}
	r.Failed = did.Run.Failed
	if len(did.Closed.Shown) > 0 {
		var calls []string
		for _, call := range t.calls {
			calls = append(calls, call.Tool+layout.When(string(call.Args) != "{}", " "+string(call.Args)))
		}
		r.Record = t.doctor.Source.CommandLine(hints.Record(name, t.roots, calls...)...)
	}
}

func (r *tryReport) showRecorded(w io.Writer) {
	for _, line := range r.Recorded {
		layout.Printf(w, "       also:   it %.4000s (recorded)\n", line)
	}
	for _, line := range r.Closed {
		layout.Printf(w, "       closed: it %.4000s\n", line)
	}
	if r.Record != "" && r.State == tryWorks {
		layout.Printf(w, "       to be asked about what is closed: %s\n", r.Record)
	}
	for _, command := range r.Keys {
		layout.Printf(w, "       if it is to read that key, in each of its calls: %s\n", command)
	}
	for _, failed := range r.Failed {
		layout.Line(w, "       ", "the call failed: "+printable.Escape(failed, 4000))
	}
}

// keepConfirmed keeps what was confirmed during a trial.
func (r *tryReport) keepConfirmed() error {
	if r == nil || r.owner == "" {
		return nil
	}
	return consentStore().Confirm(r.owner, r.profile)
}

// recordedOf returns what was confirmed for an entry.
func recordedOf(hub, name string) ([]sandbox.RecordedPath, error) {
	owner, err := recordedOwner(hub, name)
	if err != nil {
		return nil, err
	}
	r, err := consentStore().Recorded(owner)
	return r.Paths, err
}

// forgetRecorded forgets what was confirmed for an entry that is taken out.
func forgetRecorded(hub, name string) error {
	owner, err := recordedOwner(hub, name)
	if err != nil {
		return err
	}
	return consentStore().Confirm(owner, sandbox.Recorded{})
}

// recordedOwner is by what the profile of an entry of a hub.json is kept.
func recordedOwner(hub, name string) (string, error) {
	path, err := filepath.Abs(hub)
	return consent.RecordedOwner(path, name), err
}

// revokeRecorded plans to take the path out of what was recorded, if it is there.
func (w *allowWork) revokeRecorded(t *target) (done []string) {
	for _, p := range w.current.spec.Sandbox.Recorded.Paths {
		if t.isOpen(p.Path) {
			w.revoked, done = append(w.revoked, p.Path), []string{"what was recorded"}
		}
	}
	return done
}

// putRevoked keeps what was recorded without the paths that are revoked. Hubs take that at once.
func (w *allowWork) putRevoked() error {
	if len(w.revoked) == 0 {
		return nil
	}
	s := &w.current.spec.Sandbox
	r := s.Recorded
	r.Paths = slices.DeleteFunc(slices.Clone(r.Paths), func(p sandbox.RecordedPath) bool { return slices.Contains(w.revoked, p.Path) })
	if err := consentStore().Confirm(s.Owner, r); err != nil {
		return err
	}
	return reloadHubs(w.ctx, 0).keptError()
}

// confirmRecorded records what a server uses, asks about it, and keeps what is confirmed.
func confirmRecorded(cmd *cobra.Command, src *setup.Source, name string, roots []string, calls []trial.Call) error {
	if err := checkPerson(consentStore()); err != nil {
		return exit.Errorf(exit.Failure, "nobody can be asked here: %w", err)
	}
	path, text, file, err := hubConfig(src.Config)
	if err != nil {
		return err
	}
	if err := checkServerName(path, name, fileServerNames(file)); err != nil {
		return err
	}
	env, err := clientEnv()
	if err != nil {
		return err
	}
	if text, err = clients.DisableInHub(path, text, name, false); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	t := trier{config: src.Config, path: path, text: text, env: env, roots: roots, confined: true, limit: tryAllTime, say: out, try: trial.Try, confirm: confirmAtTerminal, calls: calls}
	tried, err := t.tryServers(cmd.Context(), []string{name})
	if err != nil {
		return err
	}
	r := tried[name]
	switch err := r.keepConfirmed(); {
	case err != nil:
		return err
	case r.owner != "":
		layout.Printf(out, "it is kept; `%s` shows it\n", commandText("allow --list", name))
		return reloadHubs(cmd.Context(), 0).keptError()
	case r.State == tryUntried, r.State == tryFails && len(r.Closed) == 0:
		return fmt.Errorf("%s was not recorded: %s", name, r.Why)
	case len(r.Closed) == 0:
		layout.Println(out, "it uses nothing that is closed to it")
	}
	return nil
}

// keptError returns an error if a hub did not take what was kept.
func (d reloadReport) keptError() error {
	for _, h := range d.Hubs {
		if h.Error != "" {
			return fmt.Errorf("hub %d has not taken it: %s", h.PID, strings.TrimSpace(h.Error))
		}
	}
	return nil
}
