package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/browser"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	webconsole "mcphub/cmd/mcphub/internal/console"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/approval"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/caller"
)

func consoleCommand() *cobra.Command {
	src := newSource()
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show the hubs, what they decided and why on a page of this machine",
		Long: "Serves a page on a free port of 127.0.0.1, for as long as it runs: the hubs of this user with\n" +
			"their servers and sessions, every decision with what changes it, what waits for a person,\n" +
			"hub.json with what validate and plan say, and the record. The page opens with a code that\n" +
			"is shown here and counts once. It answers a question, restarts a server and has hub.json read\n" +
			"again if you click that. A path that a call was refused is allowed there, a server added, and a\n" +
			"server or a tool switched on and off, after the change of hub.json is shown. It changes nothing\n" +
			"else. Ctrl-C ends it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := caller.Self(caller.Want{}); err != nil {
				return exit.Errorf(exit.Failure, "no console: %w", err)
			}
			return serveConsole(cmd, src, noBrowser)
		},
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "do not open the page, only print its address")
	configFlags(cmd, src)
	cmd.AddCommand(tryCommand())
	return cmd
}

func serveConsole(cmd *cobra.Command, src *setup.Source, noBrowser bool) error {
	c := consoleSource{src: src, key: []byte(rand.Text())}
	file, err := src.Load(stderr)
	if err == nil {
		c.record = setup.AuditFolder(file)
	} else { // the hubs that run go by what they have read before
		layout.Printf(cmd.ErrOrStderr(), "%s\nThe console shows the hubs that run all the same.\n", layout.Lines{Text: printableLines(err.Error())})
		reports, _ := c.listHubs(cmd.Context())
		for i := range reports {
			c.record = cmp.Or(c.record, reports[i].Audit.Dir)
		}
	}
	l, err := webconsole.Listen(cmd.Context())
	if err != nil {
		return err
	}
	server := webconsole.New(c.consoleConfig(), l)
	out := cmd.OutOrStdout()
	layout.Printf(out, "The console is at %s\nThe page asks for this code, once: %s\nCtrl-C ends it.\n", server.Address(), server.Code())
	if !noBrowser {
		// The address holds no secret: it stands in the arguments of the browser, and in its history.
		if err := browser.Open(server.Address()); err != nil {
			layout.Printf(cmd.ErrOrStderr(), "No browser was opened (%s): open the address yourself.\n", err.Error())
		}
	}
	return server.Run(cmd.Context(), l)
}

// consoleSource supplies what the console shows. It uses the code of the commands that print the same.
type consoleSource struct {
	src    *setup.Source
	record string
	key    []byte // of the digests of what is shown before it is written
}

func (c *consoleSource) consoleConfig() webconsole.Config {
	return webconsole.Config{
		Version: buildVersion(), Record: c.record,
		Hubs: c.listHubs, Command: commandOn, Restart: c.restartServer, Reload: c.reloadHub, Mends: c.findMends, MayEdit: c.mayEdit, Change: c.showChange, Try: c.tryChange, Write: c.writeChange, Servers: c.listEntries, Find: c.findServers,
		Exports: c.listExports(), File: c.describeFile, Questions: c.listQuestions, Answer: c.answerQuestion,
	}
}

func (c *consoleSource) listHubs(ctx context.Context) (reports []admin.Report, silent []string) {
	var said bytes.Buffer
	hubs, unheard := askHubs(ctx, &said, 0)
	for _, h := range hubs {
		reports = append(reports, h.report)
	}
	if said.Len() > 0 {
		silent = append(silent, said.String())
	}
	for _, u := range unheard {
		silent = append(silent, "no answer from "+u.Socket+": "+u.Error)
	}
	return reports, silent
}

// commandOn returns a command line of mcphub about this hub.json. One that is found without being named needs no name.
func commandOn(config string, words ...string) string {
	if config == (&setup.Source{}).Path() {
		config = ""
	}
	return (&setup.Source{Config: config}).CommandLine(words...)
}

// hubAt returns the hub with a socket, if it is one of this user's.
func (c *consoleSource) hubAt(socket string) (admin.Hub, error) {
	for _, h := range findHubs(io.Discard) {
		if h.Socket == socket {
			return h, nil
		}
	}
	return admin.Hub{}, fmt.Errorf("that hub runs no more")
}

func (c *consoleSource) restartServer(ctx context.Context, socket, server string) (string, error) {
	h, err := c.hubAt(socket)
	if err != nil {
		return "", err
	}
	done, err := h.Restart(ctx, server)
	if err != nil {
		return "", err
	}
	report := restartReport{Server: server, Hubs: []restartHub{{RestartReport: done}}}
	if r, err := h.Status(ctx); err == nil {
		report.Hubs[0].PID = r.PID
	}
	var said bytes.Buffer
	report.showRestart(&said)
	return said.String(), nil
}

func (c *consoleSource) reloadHub(ctx context.Context, socket string) error {
	h, err := c.hubAt(socket)
	if err != nil {
		return err
	}
	return h.Reload(ctx)
}

func (c *consoleSource) answerQuestion(ctx context.Context, a webconsole.Answer) error {
	h, err := c.hubAt(a.Hub)
	if err != nil {
		return err
	}
	return h.AnswerApproval(ctx, approval.PendingAnswer{ID: a.ID, Digest: a.Digest, From: approval.AskedConsole, Decision: a.Decision})
}

// findMends returns what mends refusals, by hub.json as it reads now.
func (c *consoleSource) findMends() func(audit.Refusal) webconsole.Mend {
	file, err := c.src.Load(io.Discard)
	w := whyQuery{src: c.src}
	return func(refused audit.Refusal) webconsole.Mend {
		r := reason{Refusal: refused}
		w.mendReason(&r, err == nil && file.Server(refused.Server) != nil, &opened{})
		return webconsole.Mend{Text: strings.TrimPrefix(r.Named+"; "+r.Mend, "; "), Command: r.Command, Allows: allowanceOf(r.run)}
	}
}

func (c *consoleSource) listExports() (all []webconsole.Export) {
	for _, f := range exportFormats {
		all = append(all, webconsole.Export{Name: f.name, Title: f.title, Media: f.media, Write: func(w io.Writer, pick trail.Filter) error {
			return f.writeAll(w, c.record, pick)
		}})
	}
	return all
}

// describeFile returns hub.json without its secrets and, unless brief, the output of validate and plan for
// it.
func (c *consoleSource) describeFile(ctx context.Context, brief bool) webconsole.File {
	path, text, err := hubFile(c.src.Config)
	f := webconsole.File{Path: path, Brief: brief}
	switch {
	case err != nil:
		f.Error = err.Error()
	case text == nil:
		f.Path = ""
	case len(text) > hubfile.MaxSize:
		f.Error = hubfile.ErrTooLarge.Error()
	default:
		if f.Text, err = withoutSecrets(path, text); err != nil {
			f.Error = err.Error()
		}
	}
	if brief {
		return f
	}
	var said bytes.Buffer
	src := *c.src
	if err := validateConfig(&src, &said, &said, false); err != nil {
		layout.Println(&said, err.Error())
	}
	f.Validate = said.String()
	said.Reset()
	src = *c.src
	p := planWork{src: &src, say: &said}
	if err := p.buildHub(ctx); err != nil {
		layout.Println(&said, err.Error())
	} else {
		p.out.showPlan(&said)
		if err := p.out.outcomeError(); err != nil {
			layout.Println(&said, err.Error())
		}
	}
	f.Plan = said.String()
	return f
}

func (c *consoleSource) listQuestions(ctx context.Context) (all []webconsole.Question, silent []string) {
	var said bytes.Buffer
	calls, _ := waitingCalls(ctx, &said, false)
	for _, w := range calls {
		q := webconsole.Question{
			Title: "A call of session " + w.Session + layout.WithPrefix(" of ", w.Client) + layout.WithPrefix(" in ", w.Folder), Text: w.Text, Command: "mcphub approve", Since: w.Since, Until: w.Until,
		}
		if w.ID != "" { // else the hub takes no answer from this process
			q.Hub, q.ID, q.Digest = w.hub.Socket, w.ID, w.Digest
			if slices.Contains(w.From, approval.AskedConsole) {
				q.Choices = w.Choices
			}
		}
		all = append(all, q)
	}
	waiting, err := consentStore().Questions()
	if err != nil {
		layout.Println(&said, err.Error())
	}
	for _, q := range waiting {
		all = append(all, webconsole.Question{Title: q.Title, Text: strings.Join(q.Lines, "\n"), Command: "mcphub reload"})
	}
	for line := range strings.Lines(said.String()) {
		silent = append(silent, line)
	}
	return all, silent
}
