package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/progress"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/internal/stdio"
)

type callFlags struct {
	args    string
	roots   []string
	raw     bool
	timeout time.Duration
	dry     bool // nothing is called, so there is nothing to record
	anew    bool // servers are asked, whatever is known of them
	lists   bool // it is about what all servers offer, so that lists wait for the ones that start

	// selectServers returns the names of the servers that may be started. A nil function, or a nil
	// result, means all.
	selectServers func(cfg *hub.Config) ([]string, error)
	step          string   // what it waits for, once the servers are ready
	as            string   // whose call it is: see setup.As
	asGroups      []string // that it is in
	toolsets      []string // that it sees; nil: what it would see without --toolset
}

func callCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call TOOL [key=value]...",
		Short: "Call one tool through the hub, judged as in serve",
		Long: "Starts the hub, connects as a client whose roots are the --root directories, calls one\n" +
			"tool and prints its result. The server of the tool is started and no other. A value is\n" +
			"taken as the tool's schema says: text, or JSON for numbers, booleans, lists and objects.",
		Example: "  mcphub call files__read_text_file path=README.md --root .\n" +
			"  mcphub call get-roots --root . --root ../docs\n" +
			"  mcphub call git__git_log --args '{\"repo_path\":\".\",\"max_count\":3}' --root .",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = f.takeObject(args)
			useDisabled(src, cmd.ErrOrStderr(), src.ServersOf(args[0])...)
			f.selectServers, f.step = serversOf(args[0], f.args, args[1:]), args[0]
			return f.runAsClient(cmd, src, &logs, func(ctx context.Context, c *client.Session) error {
				arguments, err := callArguments(ctx, c, args[0], f.args, args[1:])
				if err != nil {
					return err
				}
				result, err := c.CallTool(ctx, args[0], arguments)
				running.End()
				said, _ := resultText(result)
				if err != nil {
					said = err.Error()
				}
				if strings.Contains(said, "mcphub: "+hints.TextPrefix) && sandbox.CurrentKernel().Asks() {
					f.offerRecording(cmd.ErrOrStderr(), src, c.Status(), args[0], arguments)
				}
				if err != nil {
					return err
				}
				return printResult(os.Stdout, result, f.raw)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "", "the arguments as one JSON object, which may also stand alone behind the tool")
	flags.StringVar(&f.args, "json", "", "the same as --args, under its first name")
	cmd.MarkFlagsMutuallyExclusive("args", "json") // everywhere else --json is how something is printed
	_ = cmd.Flags().MarkHidden("json")
	flags.BoolVar(&f.raw, "raw", false, "print the whole result as JSON, as it came")
	f.registerFlags(cmd)
	configFlags(cmd, src)
	logs.registerFlags(cmd, "warn")
	return cmd
}

// offerRecording prints the command that records what a call needs which was refused something, if no path is known whose opening
// would do.
func (f *callFlags) offerRecording(w io.Writer, src *setup.Source, now status.Hub, tool string, args []byte) {
	for i := range now.Children {
		c := &now.Children[i]
		if c.State != children.Ready.String() || c.Mend != nil && len(c.Mend.Run) > 0 && c.Mend.Run[0] == "allow" {
			continue
		}
		if string(args) != "{}" {
			tool += " " + string(args)
		}
		layout.Printf(w, "mcphub: this makes the call again, shows what it opens beyond its sandbox, and asks about that: %s\n", src.CommandLine(hints.Record(c.Server, f.roots, tool)...))
		return
	}
}

// registerFlags adds the flags that every command has which acts as a client.
func (f *callFlags) registerFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.roots, "root", nil, "a directory in scope, as a client's root; may be repeated. Without one the client declares no roots")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "for starting the servers and the call together")
}

// runAsClient does something as a client of a hub of its own.
func (f *callFlags) runAsClient(cmd *cobra.Command, src *setup.Source, logs *logFlags, do func(context.Context, *client.Session) error) error {
	log, err := logs.newLogger(os.Stderr)
	if err != nil {
		return err
	}
	roots, err := existingRoots(f.roots)
	if err != nil {
		return err
	}
	src.Toolsets = f.toolsets
	made, err := src.Read(stderr, log)
	if err != nil {
		return err
	}
	defer made.WaitForLogins()
	return f.runWith(cmd, &made, roots, log, do)
}

// runWith works like runAsClient for a configuration that was read.
func (f *callFlags) runWith(cmd *cobra.Command, made *setup.Result, roots []string, log zerolog.Logger, do func(context.Context, *client.Session) error) error {
	cfg := &made.Hub
	cfg.Inspect = true
	if err := f.startOnly(cfg); err != nil {
		return err
	}
	as, err := setup.ViewAs(made.File, f.as, f.asGroups)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	folder := made.Audit
	if f.dry {
		folder = ""
	}
	late := ""
	watched := func(ctx context.Context, c *client.Session) error {
		defer watchHub(c.Status, progress.Step{Name: cmp.Or(f.step, cmd.Name()), Phase: "waits for the answer"})()
		defer func() { late = lateText(c.Status()) }()
		return do(ctx, c)
	}
	err = service.WithRecord(cfg, folder, func() error {
		return client.WithIn(ctx, *cfg, log, "mcphub-"+cmd.Name(), roots, hub.Surroundings{Impersonate: as, Toolsets: f.toolsets}, watched)
	})
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return exit.Errorf(exit.Timeout, "no answer within %s%s; --timeout %s gives more", f.timeout, layout.WithPrefix(": ", late), 2*f.timeout)
	case errors.As(err, &refused) && strings.HasPrefix(refused.Message, texts.UnknownToolStart):
		return exit.NotFoundErrorf("%s; 'mcphub call list-tools' shows them", refused.Message)
	}
	return err
}

// startOnly sets which servers start at once: only the selected ones, and of these only those whose
// offer is not cached (with again: all of them). Lists wait for them until the timeout, or a little
// less.
func (f *callFlags) startOnly(cfg *hub.Config) error {
	var names []string
	if f.selectServers != nil {
		var err error
		if names, err = f.selectServers(cfg); err != nil {
			return err
		}
	}
	switch {
	case names != nil:
		cfg.Limits.ListWait = f.timeout
	case f.lists:
		cfg.Limits.ListWait = f.timeout * 9 / 20 // twice, for tools/list and for list-tools; then there is time to show what is known
	}
	cfg.Children = slices.Clone(cfg.Children)
	for i := range cfg.Children {
		child := &cfg.Children[i].Spec
		switch {
		case names != nil && !slices.Contains(names, child.Name):
			child.Start = spec.StartCalled
		case f.anew:
			child.Start = spec.StartEager
		default:
			child.Start = spec.StartLazy
		}
	}
	return nil
}

// serversOf returns the servers that a call is about: the server of the longest prefix that the name
// of the tool has. nil is all of them: the tool may be any server's.
func serversOf(tool, asJSON string, pairs []string) func(cfg *hub.Config) ([]string, error) {
	return func(cfg *hub.Config) ([]string, error) {
		if tool == "get-roots" {
			return []string{}, nil
		}
		if slices.Contains(ownTools, tool) {
			if name := serverNamed(asJSON, pairs); name != "" {
				return []string{name}, nil
			}
			return nil, nil
		}
		var names []string
		longest := 0
		for i := range cfg.Children {
			c := &cfg.Children[i]
			if !strings.HasPrefix(tool, c.Prefix) || len(c.Prefix) < longest {
				continue
			}
			if len(c.Prefix) > longest {
				longest, names = len(c.Prefix), nil
			}
			names = append(names, c.Spec.Name)
		}
		return names, nil
	}
}

// serverNamed returns the argument serverName of one of the hub's own tools; "" if it has none.
func serverNamed(asJSON string, pairs []string) string {
	for _, pair := range pairs {
		if name, ok := strings.CutPrefix(pair, "serverName="); ok {
			return name
		}
	}
	name, _ := jsonrpc.GetString([]byte(asJSON), "serverName")
	return name
}

// takeObject takes a JSON object that stands alone behind the tool for --args, and returns the other arguments.
func (f *callFlags) takeObject(args []string) []string {
	if f.args == "" && len(args) == 2 && strings.HasPrefix(strings.TrimSpace(args[1]), "{") {
		f.args, args = args[1], args[:1]
	}
	return args
}

// callArguments makes the arguments from --args or from key=value pairs. It
// waits for the list of tools in any case: by then the roots are known and the
// servers that it is about have had their time, so that get-roots and list-tools tell all.
func callArguments(ctx context.Context, c *client.Session, tool, asJSON string, pairs []string) ([]byte, error) {
	if asJSON != "" && len(pairs) > 0 {
		return nil, exit.UsageErrorf("give the arguments either as one JSON object or as key=value, not both")
	}
	types, err := argumentTypes(ctx, c, tool)
	if err != nil {
		return nil, err
	}
	if asJSON != "" {
		if !json.Valid([]byte(asJSON)) || !strings.HasPrefix(strings.TrimSpace(asJSON), "{") {
			return nil, exit.UsageErrorf("%q is no JSON object", asJSON)
		}
		return []byte(asJSON), nil
	}
	b := []byte{'{'}
	seen := map[string]bool{}
	for i, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, exit.UsageErrorf("%q is not key=value; --args takes all arguments as one JSON object", pair)
		}
		if seen[key] {
			return nil, exit.UsageErrorf("%q is given twice; a list is written %s='[\"a\",\"b\"]'", key, key)
		}
		seen[key] = true
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonrpc.AppendString(b, key), ':')
		if types[key] != "" && types[key] != "string" && json.Valid([]byte(value)) {
			b = append(b, value...)
		} else {
			b = jsonrpc.AppendString(b, value)
		}
	}
	return append(b, '}'), nil
}

// argumentTypes returns the JSON type of each argument of a tool where its
// schema names exactly one.
func argumentTypes(ctx context.Context, c *client.Session, tool string) (map[string]string, error) {
	list, err := c.Request(ctx, "tools/list")
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	err = jsonrpc.Elements(jsonrpc.Get(list, "tools"), func(def []byte) bool {
		if name, _ := jsonrpc.GetString(def, "name"); name != tool {
			return true
		}
		_ = jsonrpc.Members(jsonrpc.Get(jsonrpc.Get(def, "inputSchema"), "properties"), func(key string, schema []byte) bool {
			types[key] = schemaType(jsonrpc.Get(schema, "type"))
			return true
		})
		return false
	})
	return types, err
}

// schemaType reads a schema's type: one, or a list that names one beside null.
// With a choice that includes text, a value is text.
func schemaType(raw []byte) string {
	one, ok := jsonrpc.String(raw)
	if ok {
		return one
	}
	_ = jsonrpc.Elements(raw, func(v []byte) bool {
		if t, _ := jsonrpc.String(v); t != "null" && one != "string" {
			one = t
		}
		return true
	})
	return one
}

// printResult prints what a person wants to see of a tool result: its text, or
// all of it as JSON.
func printResult(w io.Writer, result []byte, raw bool) error {
	if f, ok := w.(*os.File); ok && stdio.IsTerminal(f) {
		w = printable.Writer(w) // elsewhere it is what the server sent
	}
	text, plain := resultText(result)
	if raw || !plain {
		var b bytes.Buffer
		if json.Indent(&b, result, "", "  ") != nil {
			b.Reset()
			b.Write(result)
		}
		text = b.String()
	}
	if _, err := io.WriteString(w, strings.TrimSuffix(text, "\n")+"\n"); err != nil {
		return err
	}
	if resultIsError(result) {
		return &exit.Error{Code: exit.ToolError}
	}
	return nil
}

// resultText joins the texts of a result; plain is false if it holds
// anything else.
func resultText(result []byte) (text string, plain bool) {
	var parts []string
	plain = true
	err := jsonrpc.Elements(jsonrpc.Get(result, "content"), func(item []byte) bool {
		kind, _ := jsonrpc.GetString(item, "type")
		t, ok := jsonrpc.GetString(item, "text")
		plain = plain && kind == "text" && ok
		parts = append(parts, t)
		return plain
	})
	return strings.Join(parts, "\n"), plain && err == nil && len(parts) > 0
}

func resultIsError(result []byte) bool { return string(jsonrpc.Get(result, "isError")) == "true" }

// pathArgument is {"path": path} as JSON.
func pathArgument(path string) []byte {
	return append(jsonrpc.AppendString([]byte(`{"path":`), path), '}')
}
