package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/caller"
	"mcphub/internal/printable"
	"mcphub/internal/stdio"
)

func reloadCommand() *cobra.Command {
	var pid int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Answer what waits for a person, and have the hubs read hub.json again",
		Long: "Has every hub that this user runs read its hub.json again and says what came of it. A\n" +
			"hub does so by itself when the file changes. If a server could have written the\n" +
			"change, it counts only once a person has accepted it: reload shows what waits, whole,\n" +
			"and asks. It asks at a terminal only, and not in one that a client has opened. If a\n" +
			"file cannot be used, or waits, what was accepted stays in force and the exit status is\n" +
			"3; it is 9 if no hub runs. SIGHUP has one hub look again, and answers nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			answered, err := answerQuestions(cmd.Context(), consentStore(), newSource(), printable.Writer(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			done := reloadHubs(cmd.Context(), pid)
			done.answered = answered
			if err := writeResult(cmd.OutOrStdout(), asJSON, done, done.showReload); err != nil {
				return err
			}
			return done.outcomeError(pid)
		},
	}
	cmd.Flags().IntVar(&pid, "pid", 0, "only the hub with this process id")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// reloadReport is the result of reload; the shape of --json.
type reloadReport struct {
	Hubs        []reloadedHub    `json:"hubs"`
	Unreachable []unreachableHub `json:"unreachable"`

	answered int // questions that were accepted
}

type reloadedHub struct {
	PID    int    `json:"pid"`
	Config string `json:"config"`           // "" if there is no hub.json
	Shared int    `json:"shared,omitempty"` // how many clients share it
	Error  string `json:"error,omitempty"`  // why the former configuration stays in force
}

// reloadHubs asks every hub, or the one with this process id.
func reloadHubs(ctx context.Context, pid int) reloadReport {
	hubs, silent := askHubs(ctx, stderr, pid)
	done := reloadReport{Hubs: []reloadedHub{}, Unreachable: silent}
	for _, h := range hubs {
		one := reloadedHub{PID: h.report.PID, Config: h.report.Config.Path}
		if h.report.Shared {
			one.Shared = len(h.report.Sessions)
		}
		if err := h.Reload(ctx); err != nil {
			one.Error = err.Error()
		}
		done.Hubs = append(done.Hubs, one)
	}
	return done
}

func (d reloadReport) showReload(out io.Writer) {
	for _, u := range d.Unreachable {
		u.showHub(out)
	}
	for _, h := range d.Hubs {
		shared := layout.When(h.Shared > 0, ", which "+pluralOf(h.Shared, "client")+layout.When(h.Shared == 1, " shares")+layout.When(h.Shared > 1, " share"))
		if h.Error == "" {
			layout.Printf(out, "hub %d%s: %.200s read again\n", h.PID, shared, cmp.Or(h.Config, "hub.json"))
			continue
		}
		layout.Printf(out, "hub %d%s: the former configuration stays in force:\n", h.PID, shared)
		for line := range strings.SplitSeq(h.Error, "\n") {
			layout.Printf(out, "  %.500s\n", line)
		}
	}
}

func (d reloadReport) outcomeError(pid int) error {
	silent := len(d.Unreachable)
	switch {
	case slices.ContainsFunc(d.Hubs, func(h reloadedHub) bool { return h.Error != "" }):
		return &exit.Error{Code: exit.Config}
	case silent > 0:
		return fmt.Errorf("%d of %d hubs did not answer", silent, silent+len(d.Hubs))
	case len(d.Hubs) == 0 && d.answered == 0:
		return noHubError(pid)
	}
	return nil
}

// answerQuestions shows a person what waits, whole, and takes the answers. If no one
// may answer it says so: the hubs then report what waits.
func answerQuestions(ctx context.Context, store *consent.Store, src *setup.Source, say io.Writer) (accepted int, err error) {
	if path := src.Path(); path != "" {
		_, _ = src.Accepted(io.Discard, nil) // if no hub runs, no one has looked
	}
	questions, err := store.Questions()
	if err != nil {
		layout.Println(say, "mcphub: "+err.Error())
	}
	if len(questions) == 0 {
		return 0, nil
	}
	t, err := openPersonTerminal(store)
	if err != nil {
		layout.Printf(say, "mcphub: %s for a person: %v\n", pluralOf(len(questions), "question")+" wait"+layout.When(len(questions) == 1, "s"), err)
		for _, q := range questions {
			layout.Println(say, "  "+printable.Escape(q.Title, 500))
		}
		return 0, nil
	}
	defer t.Close()
	in := bufio.NewReader(t)
	for i, q := range questions {
		if err := ctx.Err(); err != nil {
			return accepted, err
		}
		layout.Printf(t, "\n%d of %d: %.500s\n\n", i+1, len(questions), q.Title)
		for _, line := range q.Lines {
			layout.Println(t, "  "+escapeText(line))
		}
		line, err := promptLine(t, in, "Type yes to accept this for all hubs, or nothing to leave it")
		if err != nil {
			return accepted, err
		}
		if !strings.EqualFold(line, "yes") {
			layout.Println(t, "It goes on waiting.")
			continue
		}
		if err := store.Accept(q.ID, q.Digest); err != nil {
			layout.Printf(t, "It is not accepted: %.300s\n", err.Error())
			continue
		}
		accepted++
		layout.Println(t, "It is accepted.")
	}
	return accepted, nil
}

// checkPerson returns an error unless the caller can be a person: no server and no client of a hub
// may have started it.
func checkPerson(store *consent.Store) error { return checkNoClient(store, true) }

// checkNoClient returns an error if a server or a client of a hub has started the caller, or if it must be
// a person and is not at a terminal.
func checkNoClient(store *consent.Store, person bool) error {
	want := caller.Want{Person: person}
	clients, err := store.Clients()
	if err != nil {
		if refused := caller.Self(want); refused != nil { // a server that the kernel holds reads no record
			return refused
		}
		return fmt.Errorf("which clients the hubs serve cannot be told: %w", err)
	}
	for _, c := range clients {
		want.Clients = append(want.Clients, caller.Process{PID: c.PID, Start: c.Start})
	}
	return caller.Self(want)
}

// openPersonTerminal returns the terminal of who has called, if that may be a person.
func openPersonTerminal(store *consent.Store) (terminalCloser, error) {
	if err := checkPerson(store); err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" && stdio.IsTerminal(os.Stdin) && stdio.IsTerminal(os.Stdout) {
		return standardConsole{os.Stdin, os.Stdout}, nil
	}
	return stdio.OpenConsole()
}

type terminalCloser interface {
	terminal
	Close() error
}

// standardConsole is a terminal if there is no other way to it.
type standardConsole struct {
	io.Reader
	io.Writer
}

func (standardConsole) Forget() error { return nil }
func (standardConsole) Close() error  { return nil }
