package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

func explainCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	f := callFlags{dry: true}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain TOOL [key=value]...",
		Short: "Say what would become of a call, and why, without making it",
		Long: "Judges a call as serve would, by the same code, and prints every path that was found in\n" +
			"its arguments: where, how it was recognised, each way to take it and where that leads,\n" +
			"the root that contains it, what decided, and the line of hub.json that would change it.\n" +
			"Without --root the roots are those of the session that runs in this folder, if one does.\n" +
			"With --as the call is that of another client, by the rules that are for it. With --toolset\n" +
			"it is that of a client that has it, and a tool that this hides is said to be hidden.\n" +
			"The exit code is 0 if the call would pass and 6 if it would be refused.",
		Example: "  mcphub explain files__read_text_file path=/etc/passwd --root .\n" +
			"  mcphub explain git__git_add --args '{\"repo_path\":\".\",\"files\":[\"../x\"]}' --root . --json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = f.takeObject(args)
			f.selectServers = serversOf(args[0], f.args, args[1:])
			if len(f.roots) == 0 {
				f.roots = rootsHere(cmd, src.Path())
			}
			return f.runAsClient(cmd, src, &logs, func(ctx context.Context, c *client.Session) error {
				arguments, err := callArguments(ctx, c, args[0], f.args, args[1:])
				if err != nil {
					return err
				}
				raw, err := c.ToolRequest(ctx, hub.MethodExplain, args[0], arguments)
				var refused *jsonrpc.Error
				if errors.As(err, &refused) && refused.Code == jsonrpc.CodeInvalidParams && strings.HasPrefix(refused.Message, "refused: ") {
					// The message itself has two readings: it came no further than the front.
					raw, err = json.Marshal(status.Explanation{
						Tool: args[0], Decision: "deny", Rule: "arguments", Refusal: refused.Message,
						Roots: []string{}, Findings: []status.Finding{},
					})
				}
				if err != nil {
					return err
				}
				return printExplanation(cmd.OutOrStdout(), src, raw, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "", "the arguments as one JSON object, which may also stand alone behind the tool")
	flags.StringVar(&f.as, "as", "", "whose call it is: the name of a token of http.tokens, NAME@ISSUER, local or nobody (default: local, the user of this machine)")
	flags.StringArrayVar(&f.asGroups, "as-group", nil, "a group that it is in; may be repeated. Without one: those that its token has in hub.json")
	toolsetFlag(cmd, &f.toolsets, "a toolset that it has; repeatable")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	f.registerFlags(cmd)
	configFlags(cmd, src)
	logs.registerFlags(cmd, "error")
	return cmd
}

// rootsHere returns the roots of the session that runs on a hub.json and has the
// working directory in one of its roots, the latest if there are several. It says whose
// they are.
func rootsHere(cmd *cobra.Command, config string) []string {
	dir, err := os.Getwd()
	if err != nil {
		return nil // which is said later
	}
	if abs, err := filepath.Abs(config); config != "" && err == nil {
		config = abs
	}
	var found *status.Session
	for _, r := range reportsOn(cmd.Context(), config) {
		for i := range r.Sessions {
			s := &r.Sessions[i]
			inside := slices.ContainsFunc(s.Roots, func(root string) bool { return sandbox.Contains(root, dir) })
			if inside && (found == nil || s.Since.After(found.Since)) {
				found = s
			}
		}
	}
	if found == nil {
		layout.Line(cmd.ErrOrStderr(), "", "no --root is given, and no session runs in this folder: the call is judged as that of a client without roots")
		return nil
	}
	layout.Line(cmd.ErrOrStderr(), "", "with the roots of the session "+shortID(found.ID)+layout.WithPrefix(" of ", printable.Escape(found.Client, 60))+", which runs in this folder; --root gives others")
	return found.Roots
}

func printExplanation(w io.Writer, src *setup.Source, raw []byte, asJSON bool) error {
	var e status.Explanation
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("the hub's explanation cannot be read: %w", err)
	}
	if err := writeResult(w, asJSON, e, func(w io.Writer) { printExplained(w, src, e) }); err != nil {
		return err
	}
	if e.Decision != "allow" || e.Closes() {
		return &exit.Error{Code: exit.ToolError}
	}
	return nil
}

// toolsetPlace returns the file and the line at which hub.json has a toolset; "" if that cannot be told.
func toolsetPlace(src *setup.Source, name string) string {
	file, err := src.Load(io.Discard)
	if err != nil {
		return ""
	}
	at := file.At("toolsets", name)
	if at.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// printExplained prints an explanation for people.
func printExplained(w io.Writer, src *setup.Source, e status.Explanation) {
	layout.Printf(w, "%s: %s (%s)%s\n", e.Tool, strings.ToUpper(e.Decision), e.Rule, layout.When(e.Decision == "allow" && e.Closes(), ", AND THE KERNEL REFUSES IT"))
	if p := e.Policy; p != nil {
		layout.Printf(w, "  rule        %s: %s %s%s\n", p.Name, p.Then, p.If, layout.WithPrefix("  ", p.At))
	}
	for _, hides := range e.Toolsets {
		layout.Printf(w, "  toolset     %s%s: %s\n", hides.Toolset, layout.WithPrefix(", ", toolsetPlace(src, hides.Toolset)), hides.Why)
	}
	if e.Server != "" && len(e.Toolsets) == 0 {
		layout.Printf(w, "  server      %s, tool %s, mode %s%s\n", e.Server, e.ToolName, e.Mode, layout.WithPrefix(", profile ", e.Profile))
	}
	if e.Lenient > 0 {
		layout.Printf(w, "  arguments   values that fit the tool's schema by a lenient reading alone, as hub.json allows: %d\n", e.Lenient)
	}
	if e.Kernel != "" {
		layout.Printf(w, "  kernel      %s\n", kernelText(e.Kernel, e.Lacks))
	}
	for _, closed := range e.Closed {
		layout.Printf(w, "  closed      %.2000s\n", closed)
	}
	if e.Opens != nil {
		layout.Printf(w, "  opens       %.4000s\n", e.Opens.Text())
	}
	if e.Refused > 0 {
		layout.Printf(w, "  refused     by the kernel, as far as what it says tells: %s%s\n", refusedText(e.Refused, e.LastRefused), layout.When(e.Mend != nil, "; "+e.Mend.Told()))
		if e.Mend != nil && e.Mend.Run != nil {
			layout.Printf(w, "  run         %s\n", src.CommandLine(e.Mend.Run...))
		}
	}
	if e.Cwd != "" {
		layout.Printf(w, "  runs in     %s\n", e.Cwd)
	}
	if e.Share != "" && e.Share != spec.ShareSession.String() {
		layout.Printf(w, "  shared by   %s; it works with %s\n", e.Share, cmp.Or(strings.Join(e.Served, " "), "no directories"))
	}
	if e.Case != "" {
		layout.Printf(w, "  roots       %s (%s; %s)\n", strings.Join(e.Roots, " "), e.Case, e.Origin)
	}
	if len(e.Findings) == 0 && e.Refusal == "" {
		layout.Println(w, "  no path was found in the arguments")
	}
	for _, f := range e.Findings {
		layout.Printf(w, "  %s %s %q\n", f.Decision, f.Pointer, f.Value)
		layout.Printf(w, "    role %s, recognised as %s, %s%s%s\n", f.Role, f.How, f.Code, layout.WithPrefix(" by ", f.Rule), layout.WithPrefix(", starts from ", f.Base))
		for _, r := range f.Readings {
			where := "in no root"
			if r.Root != "" {
				where = "in " + r.Root
			}
			layout.Printf(w, "    read as %q leads to %q: %s (%s)%s\n", r.Path, r.Leads, where, r.Code, layout.WithPrefix(" ", r.Error))
		}
		if c := f.Closed; c != nil {
			layout.Printf(w, "    closed to the server by the kernel: %s\n", c.Text)
			if c.Run != nil {
				layout.Printf(w, "    run: %s\n", src.CommandLine(c.Run...))
			}
		}
		if f.Sent != "" {
			layout.Printf(w, "    sent to the server as %q, which takes no other spelling\n", f.Sent)
		}
		if m := f.Mend; m != nil {
			layout.Printf(w, "    %s\n    run: %s\n", m.Told(), src.CommandLine(m.Run...))
		}
		if f.Hint != "" {
			layout.Printf(w, "    hub.json: %s\n", f.Hint)
		}
	}
	for _, g := range e.Grants {
		layout.Printf(w, "  granted     %.400s%s, to %s, for this %s\n", g.URI, layout.When(g.File, " alone"), strings.Join(g.Roles, " and "), g.Lifetime)
	}
	if e.Question != "" {
		layout.Printf(w, "  a person would be asked:\n    %s\n", layout.Lines{Text: e.Question, Indent: "    "})
	}
	if e.Unasked != "" {
		layout.Printf(w, "  nobody could be asked: %s\n", e.Unasked)
	}
	if e.Refusal != "" {
		when := ""
		if e.Question != "" {
			when = "if they say no, "
		}
		layout.Printf(w, "  %sthe client would read:\n    %s\n", when, layout.Lines{Text: e.Refusal, Indent: "    "})
	}
}
