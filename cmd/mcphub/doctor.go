package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/doctor"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/progress"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

func doctorCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	var roots []string
	var timeout time.Duration
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "doctor [SERVER...]",
		Short: "Try everything, and say what is wrong and what mends it",
		Long: "Starts each server as serve does and asks it for its tools, then looks at hub.json, the\n" +
			"clients on this machine, the system and the hubs that run. Says for each finding what\n" +
			"mends it, as a command if there is one, and changes nothing. All that it starts has\n" +
			"ended when it returns. With names it tries those servers alone.\n\n" +
			"Prints one line if all is well. The exit status is 3 if hub.json has an error, 1\n" +
			"if there is another error, 0 if there are warnings at the most.",
		Example: "  mcphub doctor\n  mcphub doctor github -v\n  mcphub doctor --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := logs.newLogger(os.Stderr)
			if err != nil {
				return err
			}
			var w clientWork
			w.config = src.Config
			if err := w.findClients(cmd); err != nil {
				return err
			}
			given, err := existingFolders(roots)
			if err != nil {
				return err
			}
			useDisabled(src, cmd.ErrOrStderr(), args...)
			o := doctor.Options{Source: src, Servers: args, Roots: given, Timeout: timeout, Log: log, Clients: w.env, More: []string{"doctor", "--timeout", (2 * timeout).String()}}
			o.Watch = func(look func() status.Hub) func() {
				return watchHub(look, progress.Step{Name: "doctor", Phase: "asks what the servers offer"})
			}
			if o.Own, err = w.hubCommand(false); err != nil {
				return err
			}
			if w.store != nil {
				if o.Changed, err = w.store.Known(); err != nil {
					o.Changed = nil // what is recorded of no client was changed by none
				}
			}
			found, err := doctor.Examine(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := writeResult(cmd.OutOrStdout(), asJSON, found, func(out io.Writer) { diagnosis{out, verbose}.showReport(found) }); err != nil {
				return err
			}
			return diagnosisError(found)
		},
	}
	jsonFlag(cmd, &asJSON)
	flags := cmd.Flags()
	flags.BoolVarP(&verbose, "verbose", "v", false, "notes too, and what was looked at")
	flags.StringArrayVar(&roots, "root", nil, "a directory in scope while the servers run; may be repeated. Without one those of hub.json count, else the working directory")
	flags.DurationVar(&timeout, "timeout", 2*time.Minute, "for all servers together")
	configFlags(cmd, src)
	logs.registerFlags(cmd, "error")
	return cmd
}

// diagnosisError returns the exit status.
func diagnosisError(r *doctor.Report) error {
	errs := r.Count(config.SeverityError)
	if errs == 0 {
		return nil
	}
	text := pluralOf(errs, "error")
	if n := r.Count(config.SeverityWarning); n > 0 {
		text += ", " + pluralOf(n, "warning")
	}
	inFile := slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
		return f.Group == doctor.Configuration && f.Severity == config.SeverityError.String()
	})
	if inFile {
		return exit.ConfigErrorf("%s", text)
	}
	return fmt.Errorf("%s", text)
}

// diagnosis writes a report for people.
type diagnosis struct {
	w       io.Writer
	verbose bool
}

func (d diagnosis) showReport(r *doctor.Report) {
	if d.verbose {
		d.showExamined(r)
	}
	for _, group := range doctor.Groups {
		headed := false
		for i := range r.Findings {
			f := &r.Findings[i]
			if f.Group != group || f.Severity == config.SeverityNote.String() && !d.verbose {
				continue
			}
			if !headed {
				layout.Println(d.w, group)
				headed = true
			}
			d.showFinding(f)
		}
	}
	if r.Count(config.SeverityError) > 0 {
		return // the error reports how many
	}
	tools := 0
	for i := range r.Servers {
		tools += r.Servers[i].Tools
	}
	text := "ok"
	if n := r.Count(config.SeverityWarning); n > 0 {
		text = pluralOf(n, "warning")
	}
	text += fmt.Sprintf(": %s with %s", pluralOf(len(r.Servers), "server"), pluralOf(tools, "tool"))
	if r.System != nil {
		text += ", " + pluralOf(len(r.Clients), "client")
	}
	if n := r.Count(config.SeverityNote); n > 0 && !d.verbose {
		text += fmt.Sprintf("; %s, which -v shows", pluralOf(n, "note"))
	}
	layout.Println(d.w, text)
}

// showFinding writes one: what, where, what was said, what to do.
func (d diagnosis) showFinding(f *doctor.Finding) {
	line := func(mark, text string) {
		if text != "" {
			layout.Line(d.w, "           "+mark, printable.Escape(text, 1000))
		}
	}
	layout.Line(d.w, fmt.Sprintf("  %-7s  ", f.Severity), printable.Escape(layout.When(f.Subject != "" && f.Group != doctor.Hubs, f.Subject+": ")+f.Text, 1000)+layout.When(f.At != "", " ("+printable.Escape(f.At, 300)+")"))
	for _, said := range f.Details {
		line("| ", said)
	}
	line("cure: ", f.Cure)
	if f.Command != "" { // whole, to be copied
		layout.Printf(d.w, "           run:  %.1000s\n", f.Command)
	}
}

// showExamined writes what was looked at.
func (d diagnosis) showExamined(r *doctor.Report) {
	t := layout.NewTable(d.w)
	t.Head("SERVER", "STATE", "TOOLS", "TOKENS", "KERNEL", "RUNS ON", "COMMAND")
	for i := range r.Servers {
		s := &r.Servers[i]
		on := "-"
		if s.Interpreter != nil {
			on = s.Interpreter.Name + " " + cmp.Or(s.Interpreter.Version, "?") + layout.WithPrefix(", wants ", s.Interpreter.Wants)
		}
		t.Row(printable.Escape(s.Name, 30), s.State, numberOrDash(s.Tools), numberOrDash(s.Tokens), cmp.Or(s.Kernel, "-"), printable.Escape(on, 60), printable.Escape(cmp.Or(s.URL, s.Command), 80))
	}
	_ = t.Flush()
	for i := range r.Servers {
		if s := &r.Servers[i]; len(s.Environment) > 0 {
			layout.Printf(d.w, "%.30s gets the variables %.2000s\n", s.Name, strings.Join(s.Environment, " "))
		}
		if s := &r.Servers[i]; len(s.Lacks) > 0 {
			layout.Printf(d.w, "%.30s is not held by the kernel to all of its boundary: %.2000s\n", s.Name, strings.Join(s.Lacks, "; "))
		}
	}
	if r.System == nil {
		return
	}
	layout.Println(d.w)
	t = layout.NewTable(d.w)
	t.Head("CLIENT", "HUB", "ROOTS", "FILE")
	for i := range r.Clients {
		c := &r.Clients[i]
		roots := "none"
		if c.GivesRoots {
			roots = "it gives them"
		} else if len(c.Roots) > 0 {
			roots = strings.Join(c.Roots, ", ")
		}
		t.Row(c.Title, cmp.Or(printable.Escape(c.Registered, 30), "-"), printable.Escape(roots, 100), printable.Escape(cmp.Or(c.File, "-"), 200))
	}
	_ = t.Flush()
	m := r.System
	layout.Println(d.w)
	t = layout.NewTable(d.w)
	t.Row("hub.json", cmp.Or(r.Config, "none: the embedded filesystem server is served"))
	t.Row("workspace roots", cmp.Or(strings.Join(m.Roots, ", "), "none: they come from the client"))
	t.Row("secrets", m.Secrets+layout.WithPrefix(": ", m.Why))
	if m.Seatbelt != "" {
		t.Row("Seatbelt", printable.Escape(m.Seatbelt, 200))
	} else {
		t.Row("Landlock", layout.When(m.Landlock > 0, fmt.Sprintf("ABI %d", m.Landlock))+layout.When(m.Landlock == 0, "not there"))
	}
	t.Row("runs in", cmp.Or(m.Inside, "no container that is known"))
	t.Row("guardian", layout.When(m.Guardian, "yes")+layout.When(!m.Guardian, "no"))
	if m.Shares {
		t.Row("clients", "share a hub")
	}
	for _, f := range [][2]string{{"state", m.State}, {"audit", m.Audit}, {"logs", m.Logs}, {"cache", m.Cache}} {
		t.Row(f[0], cmp.Or(printable.Escape(f[1], 200), "-"))
	}
	for _, h := range r.Hubs {
		t.Row("hub", fmt.Sprintf("%d, version %s, %s", h.PID, printable.Escape(h.Version, 40), cmp.Or(printable.Escape(h.Config, 200), "no hub.json")))
	}
	_ = t.Flush()
	layout.Println(d.w)
}
