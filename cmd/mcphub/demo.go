package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
)

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See the hub at work on a temporary project: what passes, what is refused, and why",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), &screen{w: os.Stdout, colour: layout.Coloured(os.Stdout)})
		},
	}
}

// A screen prints the demo, in colour on a terminal.
type screen struct {
	w      io.Writer
	colour bool
}

func (s *screen) paintText(code, text string) string {
	return layout.Paint(layout.When(s.colour, code), text)
}

func (s *screen) sayLine(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

func (s *screen) indentText(text string) {
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		s.sayLine("      %s", s.paintText("2", line))
	}
}

// A demoCall is one step: what is asked for, and whether it must pass.
type demoCall struct {
	title, path, why string
	pass             bool
}

// runDemo runs every step and fails if one did not come out as promised.
func runDemo(ctx context.Context, s *screen) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "mcphub-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	project, err := demoProject(dir)
	if err != nil {
		return err
	}
	src := &setup.Source{Version: buildVersion(), BuiltinOnly: true} // it keeps nothing, nor is what is shown here on record
	made, err := src.Read(io.Discard, zerolog.Nop())
	if err != nil {
		return err
	}
	cfg := made.Hub
	cfg.Cache = "" // what is shown here leaves nothing behind
	s.sayLine("%s", s.paintText("1", "mcphub demo"))
	s.sayLine("A client connects and says which directory is in scope. Behind the hub runs the")
	s.sayLine("embedded filesystem server. Every path of every call is judged before it gets there.\n")
	s.sayLine("  the client's root   %s", project)
	s.sayLine("  beside it lies      %s\n", filepath.Join(dir, "secret.txt"))
	steps := []demoCall{
		{"a file of the project", filepath.Join(project, "README.md"), "it lies inside the root", true},
		{"the same by a relative path", "notes/todo.md", "relative paths start at the root", true},
		{"the system's passwords", "/etc/passwd", "an absolute path outside", false},
		{"a way out by dots", filepath.Join(project, "notes") + "/../../secret.txt", "the path climbs out of the root", false},
		{"a symlink inside that leads out", filepath.Join(project, "notes", "shortcut.txt"), "it is a link to ../../secret.txt", false},
	}
	failed := 0
	err = client.With(ctx, cfg, zerolog.Nop(), "mcphub-demo", []string{project}, func(ctx context.Context, c *client.Session) error {
		for i, step := range steps {
			ok, err := s.showStep(ctx, c, i+1, step)
			if err != nil {
				return err
			}
			if !ok {
				failed++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d steps did not come out as promised", failed, len(steps))
	}
	s.sayLine("%s Two calls passed, three never reached the server.", s.paintText("1;32", "All as promised."))
	s.sayLine("\nNext: `mcphub init` takes over the servers of your clients and registers the hub in them.")
	s.sayLine("Then ask your agent to call get-roots.")
	return nil
}

// showStep makes one call and shows it.
func (s *screen) showStep(ctx context.Context, c *client.Session, n int, step demoCall) (bool, error) {
	s.sayLine("%d. %s", n, s.paintText("1", step.title))
	s.sayLine("   files__read_text_file path=%s", step.path)
	result, err := c.CallTool(ctx, "files__read_text_file", pathArgument(step.path))
	if err != nil {
		return false, fmt.Errorf("step %d: %w", n, err)
	}
	text, _ := resultText(result)
	denied := strings.HasPrefix(text, "Access denied:")
	failure := resultIsError(result)
	switch {
	case step.pass && !failure:
		s.sayLine("   %s  %s", s.paintText("32", "ALLOWED"), step.why)
	case !step.pass && denied && failure:
		s.sayLine("   %s   %s", s.paintText("31", "DENIED"), step.why)
	default:
		s.sayLine("   %s", s.paintText("31", "NOT AS PROMISED"))
	}
	s.indentText(text)
	s.sayLine("")
	return step.pass == !failure && (step.pass || denied), nil
}

// demoProject builds the tree that the demo plays on.
func demoProject(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	project := filepath.Join(dir, "project")
	if err := os.MkdirAll(filepath.Join(project, "notes"), 0o700); err != nil {
		return "", err
	}
	for _, file := range []struct{ name, text string }{
		{"secret.txt", "the password is swordfish\n"},
		{"project/README.md", "# My project\nHello from inside the root.\n"},
		{"project/notes/todo.md", "- try mcphub\n"},
	} {
		if err := os.WriteFile(filepath.Join(dir, file.name), []byte(file.text), 0o600); err != nil {
			return "", err
		}
	}
	return project, os.Symlink("../../secret.txt", filepath.Join(project, "notes", "shortcut.txt"))
}
